"""The most telling part of a piece for a question: it stands for the piece if there is little room."""

from __future__ import annotations

from collections.abc import Collection

from webapp.retrieval.weights import CORE
from webapp.text.message_pieces import pieces_of


def core_of(text: str, terms: Collection[str], size: int = CORE) -> tuple[int, int] | None:
    """The range of characters with most of a question's terms (stemmed), in whole sentences; None for a short text."""
    parts = pieces_of(text, size, 0)
    if len(parts) < 2:
        return None
    # In most languages a stem is how a word begins: searching for it is an order of magnitude cheaper than stemming.
    folded = text.casefold()
    whole = folded if len(folded) == len(text) else text
    held = [sum(term in whole[part.start : part.end] for term in terms) for part in parts]
    best = max(range(len(parts)), key=lambda place: (held[place], -place))
    return parts[best].start, parts[best].end
