"""The changes that a new assessment of a point makes in what is known, with confidences in 0..1; pure.

The weights are the documented ones: high confidence moves little, low confidence follows the new assessment. Earlier
answers that a new one replaces go; others stand beside it for the person to settle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from webapp.memories.rules.policy import at_least
from webapp.text.canonical import canonical_statement
from webapp.text.words import terms_of, words

HIGH, LOW = 0.8, 0.2


@dataclass(frozen=True, slots=True)
class PointState:
    """The stored state of a point for a user: `analyzed` once assessed, by `rests_on` pieces of evidence."""

    is_addressed: bool = False
    confidence: float = 0.0
    rests_on: int = 0
    first_addressed_at: datetime | None = None
    last_analyzed_at: datetime | None = None
    messages_analyzed: int = 0
    analyzed: bool = False


@dataclass(frozen=True, slots=True)
class Assessment:
    """One assessment of a point by a conversation."""

    is_addressed: bool
    confidence: float
    at: datetime
    messages: int = 0


def merge_confidence(existing: float, new: float) -> float:
    """Return the weighted average of the known and the new confidence; always between the two."""
    existing, new = _unit(existing), _unit(new)
    if existing >= HIGH:
        merged = 0.7 * existing + 0.3 * new
    elif existing <= LOW:
        merged = 0.3 * existing + 0.7 * new
    else:
        merged = 0.5 * existing + 0.5 * new
    return min(max(merged, min(existing, new)), max(existing, new))


def merge(state: PointState, assessment: Assessment, threshold: float, *, rests_on: int) -> PointState:
    """Return the state after an assessment; one that says so addresses a point from the point's confidence on."""
    confidence = (
        merge_confidence(state.confidence, assessment.confidence) if state.analyzed else _unit(assessment.confidence)
    )
    addressed = (state.is_addressed or assessment.is_addressed) and at_least(confidence, threshold)
    first = state.first_addressed_at or (assessment.at if addressed else None)
    return PointState(
        is_addressed=addressed,
        confidence=confidence,
        rests_on=rests_on,
        first_addressed_at=first,
        last_analyzed_at=assessment.at,
        messages_analyzed=state.messages_analyzed + assessment.messages,
        analyzed=True,
    )


def after_lost_evidence(state: PointState, evidence_left: int) -> PointState:
    """Return the state after evidence was lost: open, with the confidence times the share of evidence left."""
    if evidence_left >= state.rests_on:
        return state
    share = evidence_left / state.rests_on
    return replace(
        state,
        is_addressed=False,
        confidence=state.confidence * share,
        first_addressed_at=None,
        rests_on=evidence_left,
        analyzed=state.analyzed and evidence_left > 0,
    )


def keep_settled(state: PointState, threshold: float) -> PointState:
    """Return the state of a point that was settled and stays settled."""
    return replace(state, is_addressed=True, confidence=max(state.confidence, threshold))


def is_settled(state: PointState, threshold: float) -> bool:
    """Return whether a point is addressed, with enough confidence not to need another look."""
    return state.is_addressed and at_least(state.confidence, threshold)


def merge_texts(earlier: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return both lists, the known one first, each statement once, ignoring case, spaces and the full stop."""
    texts: dict[str, str] = {}
    for text in (*earlier, *new):
        if form := canonical_statement(text):
            texts.setdefault(form, text.strip())
    return list(texts.values())


def merge_data(data: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return both objects merged; a name's newer value counts, unless it is empty."""
    return {**data, **{name: value for name, value in new.items() if value not in (None, "", [], {})}}


def _unit(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


def assign(statements: Sequence[str], quotes: Sequence[str]) -> list[list[str]]:
    """Return each quote's statements: a statement is the quote's that shares most words, else the first's."""
    matches: list[list[str]] = [[] for _ in quotes]
    quote_terms = [set(terms_of(quote)) for quote in quotes]
    for statement in statements if quotes else ():
        terms = set(terms_of(statement))
        best = max(range(len(quotes)), key=lambda place: (len(terms & quote_terms[place]), -place))
        matches[best].append(statement)
    return matches


def assign_data(data: Mapping[str, Any], quotes: Sequence[str]) -> list[dict[str, Any]]:
    """Return the named values for each quote; a value belongs to the quote that shares most of its words."""
    result: list[dict[str, Any]] = [{} for _ in quotes]
    for name, value in data.items():
        for place, statements in enumerate(assign([f"{value} {name.replace('_', ' ')}"], quotes)):
            if statements:
                result[place][name] = value
    return result


def keyword_count(statement: str, keywords: Iterable[str]) -> int:
    """Return how many keywords a statement contains, in any form; the words of one must be there together, in order."""
    text = f" {' '.join(terms_of(statement))} "
    phrases = [" ".join(terms_of(keyword)) for keyword in keywords]
    return sum(f" {phrase} " in text for phrase in phrases if phrase)


def shares_words(first: str, other: str) -> bool:
    """Return whether two texts have a significant word in common."""
    return not set(terms_of(first)).isdisjoint(terms_of(other))


@dataclass(frozen=True, slots=True)
class Quote:
    """The user's words in a message, or a memory they confirmed (`message_id` is None without a message).

    `question` is the assistant's question, for a short answer; `retired` are statements and values that have been
    replaced since; with `retired_at`, all of it has.
    """

    evidence_id: int
    message_id: int | None
    conversation_id: int | None
    memory_id: int | None
    quote: str
    said_at: datetime
    from_other_conversation: bool
    start: int | None = None
    end: int | None = None
    extracted_points: Sequence[str] = ()
    structured_data: dict[str, Any] = field(default_factory=dict)
    question: str | None = None
    criteria: Sequence[str] = ()
    retired: Sequence[dict[str, Any]] = ()
    retired_at: datetime | None = None
    retired_why: str | None = None

    @property
    def findings(self) -> list[str]:
        """Return the answer's named values, or its statements if it has none."""
        values = [f"{name.replace('_', ' ')}: {value}" for name, value in self.structured_data.items()]
        return values or list(self.extracted_points)


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
    corrected: Sequence[str], statements: Sequence[str], values: Mapping[str, Any], items: Sequence[Quote]
) -> dict[int, Replacement]:
    """Return what an assessment replaces in what is known, by evidence id.

    `corrected` are known statements that it takes back, with the values they hold; `statements` and `values` its own:
    another value of a name takes the statements with it.
    """
    repeated = {_form(text) for text in statements}
    forms = {_form(text) for text in corrected} - repeated
    replaced: dict[int, Replacement] = {}
    for item in items:
        withdrawn = [text for text in item.extracted_points if _form(text) in forms]
        if not withdrawn:
            continue
        names = [
            name
            for name, value in item.structured_data.items()
            if (name in values and _form(values[name]) != _form(value))
            or any(_contains_words(str(value), text) for text in withdrawn)
        ]
        old_values = [str(item.structured_data[name]) for name in names]
        obsolete = [
            text
            for text in item.extracted_points
            if text in withdrawn
            or (_form(text) not in repeated and any(_contains_words(value, text) for value in old_values))
        ]
        replaced[item.evidence_id] = Replacement(obsolete, names)
    return replaced


def disagreements(items: Sequence[Quote], settled_pairs: Sequence[Sequence[int]] = ()) -> list[Disagreement]:
    """Return each value of a name with the next one that differs, unless the person said that both are right."""
    pairs = {frozenset(pair) for pair in settled_pairs}
    latest: dict[str, list[tuple[int, Any]]] = {}
    for item in items:
        for name, value in item.structured_data.items():
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
