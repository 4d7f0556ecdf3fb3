"""Which earlier answers a new one replaces, and which it only disagrees with; pure.

"Actually it is not my lower back, it is my neck" replaces what was said about the lower back. Without such a
correction two different answers are left side by side for the person to settle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.text.words import stems, words

_TURNS = re.compile(
    r"\b(actually|correction|i meant|i mean|i was wrong|i lied|that was a lie|not true|that s wrong|that is wrong|"
    r"was wrong|"
    r"mistaken|no longer|not any ?more|anymore|instead|rather than|in fact|in truth|to be honest|take (?:that|it) back|"
    r"changed my mind|sorry,|made (?:that|it) up|eigentlich|doch nicht|nicht mehr|sondern|stimmt nicht|gelogen|"
    r"en realidad|ya no|sino|en fait|ne\b.{0,100}?\bplus|mais plutôt|in realtà)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:\bnot|n['’]t|\bnever|\bnicht|\bkeine?n?|\bno longer|\brather than|\binstead of)\s+([^.,;:!?\n]+)",
    re.IGNORECASE,
)
_CUT = re.compile(r"\b(?:but|it is|it's|it was|rather|sondern|anymore|any more)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Known:
    """An earlier piece of evidence: what was understood from it."""

    evidence_id: int
    statements: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Replaced:
    """What of an earlier piece is no longer true."""

    statements: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.statements or self.names)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two pieces of evidence that give one name different values, the earlier first."""

    name: str
    one: int
    other: int
    one_says: str
    other_says: str


def is_correction(message: str) -> bool:
    """Return whether a message withdraws or corrects something."""
    text = message.replace("’", "'").replace("'", " ")
    return bool(_TURNS.search(text)) or bool(_denied(message))


def replaced_by(
    message: str,
    values: Mapping[str, Any],
    statements: Sequence[str],
    known: Sequence[Known],
    named: Sequence[str] = (),
) -> dict[int, Replaced]:
    """Return what a new message replaces in what is known, by evidence id.

    `values` and `statements` were understood from the message; `named` are the statements that the assessment says it
    replaces. What is only repeated is not replaced.
    """
    repeated = {_form(text) for text in statements}
    wanted = {_form(text) for text in named} - repeated
    corrects = is_correction(message)
    denied = _denied(message) if corrects else []
    found: dict[int, Replaced] = {}
    for item in known:
        gone = Replaced()
        for name, value in item.values.items():
            is_other = name in values and _form(values[name]) != _form(value)
            if (corrects and is_other) or any(_says(part, str(value)) for part in denied):
                gone.names.append(name)
        lost = [str(item.values[name]) for name in gone.names]
        for text in item.statements:
            if _form(text) in repeated:
                continue
            if (
                _form(text) in wanted
                or any(_says(part, text) for part in denied)
                or any(_says(value, text) for value in lost)
            ):
                gone.statements.append(text)
        named_here = [text for text in gone.statements if _form(text) in wanted]
        for name, value in item.values.items():
            if name not in gone.names and any(_says(str(value), text) for text in named_here):
                gone.names.append(name)
        if gone:
            found[item.evidence_id] = gone
    return found


def disagreements(known: Sequence[Known], settled: Sequence[Sequence[int]] = ()) -> list[Disagreement]:
    """Each value of a name with the next different one, from another piece, unless the person said both are right."""
    both = {frozenset(pair) for pair in settled}
    latest: dict[str, list[tuple[int, Any]]] = {}
    for item in known:
        for name, value in item.values.items():
            held = latest.setdefault(name, [])
            if _form(value) and all(not _agree(value, other) for _, other in held):
                held.append((item.evidence_id, value))
    return [
        Disagreement(name, one, other, str(one_says), str(other_says))
        for name, held in latest.items()
        for (one, one_says), (other, other_says) in zip(held, held[1:], strict=False)
        if one != other and frozenset((one, other)) not in both
    ]


def _agree(one: Any, other: Any) -> bool:
    """Return whether two values say the same, or one says the other in more detail."""
    first, second = set(_terms(str(one))), set(_terms(str(other)))
    return first <= second or second <= first


def _denied(message: str) -> list[str]:
    """The things that a message denies."""
    return [part for found in _DENIED.finditer(message) if (part := _CUT.split(found[1])[0].strip()) and _terms(part)]


def _says(part: str, statement: str) -> bool:
    """Return whether a statement is about what a few words name: it contains all their significant words."""
    wanted = set(_terms(part))
    return bool(wanted) and wanted <= set(_terms(statement))


def _terms(text: str) -> list[str]:
    return stems([word for word in words(text) if word not in _PLAIN])


_PLAIN = frozenset(
    re.findall(
        r"\S+",
        "a an the my your our his her its their in on at of to for from with by is are was were be been it that this "
        "very really just so and or i you he she we they me him them have has had do does did der die das ein eine "
        "mein meine el la los las un una mi le les mon ma",
    )
)


def _form(value: Any) -> str:
    return " ".join(words(str(value)))
