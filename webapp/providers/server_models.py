"""The models a server lists: which can chat, which is the most capable, and which of many to offer first; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webapp.providers.providers import CANNOT_CHAT, MAKES_VECTORS

FEW = 12
"""All of so many models are offered; of more, the MOST_OFFERED most capable."""
MOST_OFFERED = 8
_BILLIONS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)b(?![a-z])")
_DATED = re.compile(r"(.+?)[-@](?:20\d\d-?\d\d-?\d\d|\d{4})")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in a server's list, with its context window and the Unix time it was made, where the server tells."""

    name: str
    window: int | None = None
    created: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A chat model that can be offered, and whether it is to begin with."""

    name: str
    is_offered: bool
    is_default: bool = False


def can_chat(name: str) -> bool:
    """Return whether a model chats, as far as its name tells."""
    return not any(part in name.lower() for part in (*CANNOT_CHAT, *MAKES_VECTORS))


def makes_vectors(name: str) -> bool:
    """Return whether a model makes vectors, as far as its name tells."""
    return any(part in name.lower() for part in MAKES_VECTORS)


def choices_of(rows: Iterable[ListedModel], prefers: Sequence[str] = ()) -> list[Choice]:
    """Return the chat models of a list, the most capable first, which is the default.

    `prefers` are the beginnings of the best names; then the larger, the newer and the wider counts. The dated copy of
    a model that is listed without a date is not offered.
    """
    found = sorted((row for row in rows if can_chat(row.name)), key=lambda row: _rank(row, prefers))
    names = {row.name for row in found}
    plain = [row.name for row in found if not _is_copy(row.name, names)]
    offered = set(plain if len(plain) <= FEW else plain[:MOST_OFFERED])
    ordered = sorted((row.name for row in found), key=lambda name: name not in offered)
    return [Choice(name, name in offered, place == 0) for place, name in enumerate(ordered)]


def _rank(row: ListedModel, prefers: Sequence[str]) -> tuple[int, bool, float, int, int, str]:
    name = row.name.lower()
    place = next((number for number, start in enumerate(prefers) if name.startswith(start)), len(prefers))
    size = _BILLIONS.search(name)
    billions = float(size[1]) if size else 0.0
    return (place, _DATED.fullmatch(name) is not None, -billions, -row.created, -(row.window or 0), name)


def _is_copy(name: str, names: set[str]) -> bool:
    dated = _DATED.fullmatch(name)
    return dated is not None and bool({dated[1], f"{dated[1]}-latest"} & names)
