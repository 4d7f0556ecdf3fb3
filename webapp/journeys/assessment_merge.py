"""Combination of assessments of a point, with confidences in 0..1; pure.

The weights are the documented ones: high confidence moves little, low confidence follows the new assessment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from webapp.memories.rules.policy import at_least
from webapp.text.canonical import canonical_statement
from webapp.text.words import terms_of

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
