"""Earlier answers that a new one replaces; others stand beside it for the person to settle. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.text.words import terms_of, words


@dataclass(frozen=True, slots=True)
class Interpretation:
    """An earlier piece of evidence: what was understood from it."""

    evidence_id: int
    statements: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Replacement:
    """The part of an earlier piece that is no longer true."""

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


def find_replaced(
    corrected: Sequence[str], statements: Sequence[str], values: Mapping[str, Any], items: Sequence[Interpretation]
) -> dict[int, Replacement]:
    """Return what an assessment replaces in what is known, by evidence id.

    `corrected` are known statements that it takes back, with the values they hold; `statements` and `values` its own:
    another value of a name takes the statements with it.
    """
    repeated = {_form(text) for text in statements}
    forms = {_form(text) for text in corrected} - repeated
    replaced: dict[int, Replacement] = {}
    for item in items:
        withdrawn = [text for text in item.statements if _form(text) in forms]
        if not withdrawn:
            continue
        names = [
            name
            for name, value in item.values.items()
            if (name in values and _form(values[name]) != _form(value))
            or any(_contains_words(str(value), text) for text in withdrawn)
        ]
        old_values = [str(item.values[name]) for name in names]
        obsolete = [
            text
            for text in item.statements
            if text in withdrawn
            or (_form(text) not in repeated and any(_contains_words(value, text) for value in old_values))
        ]
        replaced[item.evidence_id] = Replacement(obsolete, names)
    return replaced


def disagreements(items: Sequence[Interpretation], settled_pairs: Sequence[Sequence[int]] = ()) -> list[Disagreement]:
    """Return each value of a name with the next one that differs, unless the person said that both are right."""
    pairs = {frozenset(pair) for pair in settled_pairs}
    latest: dict[str, list[tuple[int, Any]]] = {}
    for item in items:
        for name, value in item.values.items():
            entries = latest.setdefault(name, [])
            if _form(value) and all(not _have_same_value(value, other) for _, other in entries):
                entries.append((item.evidence_id, value))
    return [
        Disagreement(name, first, other, str(first_value), str(other_value))
        for name, entries in latest.items()
        for (first, first_value), (other, other_value) in zip(entries, entries[1:], strict=False)
        if first != other and frozenset((first, other)) not in pairs
    ]


def _have_same_value(left: Any, other: Any) -> bool:
    """Return whether two values say the same, or one says the other in more detail."""
    first, second = set(terms_of(str(left))), set(terms_of(str(other)))
    return first <= second or second <= first


def _contains_words(part: str, statement: str) -> bool:
    """Return whether a statement holds all the significant words of a few words."""
    terms = set(terms_of(part))
    return bool(terms) and terms <= set(terms_of(statement))


def _form(value: Any) -> str:
    return " ".join(words(str(value)))
