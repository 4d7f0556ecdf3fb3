"""Grounding of what the extraction call says about the points of a journey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webapp.memories.engine.grounding import find_quote, has_substance, is_whole
from webapp.memories.engine.operations import PointAssessment
from webapp.memories.engine.screening import find_secret
from webapp.memories.engine.state import Evidence, SourceMessage


@dataclass(frozen=True)
class GroundedAssessment:
    """An assessment with the user's words behind it; `evidence` is never empty."""

    assessment: PointAssessment
    evidence: tuple[Evidence, ...]


def ground_assessments(
    assessments: Iterable[PointAssessment], sources: Sequence[SourceMessage], open_points: int
) -> tuple[list[GroundedAssessment], int]:
    """The assessments that rest on verbatim quotes, one a point in order of number, and how many were rejected.

    Quotes that no user message holds are left out; an assessment of an unknown point, without any quote, or with a
    secret in it is rejected. Of two about one point the surer one counts.
    """
    kept: dict[int, GroundedAssessment] = {}
    rejected = 0
    for assessment in assessments:
        evidence = tuple(found for quote in assessment.relevant_quotes if (found := _ground(quote, sources)))
        said = [*assessment.extracted_points, *map(str, assessment.structured_data.values())]
        known = kept.get(assessment.point_number)
        if assessment.point_number > open_points or not evidence or find_secret(*said, *(e.quote for e in evidence)):
            rejected += 1
        elif known is None or known.assessment.confidence_score < assessment.confidence_score:
            rejected += known is not None
            grounded = assessment.model_copy(update={"relevant_quotes": [item.quote for item in evidence]})
            kept[assessment.point_number] = GroundedAssessment(grounded, evidence)
        else:
            rejected += 1
    return [kept[number] for number in sorted(kept)], rejected


def _ground(quote: str, sources: Sequence[SourceMessage]) -> Evidence | None:
    """The latest user message that holds the quote."""
    for source in reversed(sources):
        if source.role == "user" and (span := find_quote(quote, source.content)):
            words = source.content[span.start : span.end]
            # Here a bare "no" is evidence when it is the whole answer: it is quoted with the question.
            if has_substance(words, source.content) or is_whole(words, source.content):
                return Evidence(source.message_id, words, span.start, span.end, source.said_at)
    return None
