"""Points of a journey in the call after a turn: its shape, and its grounding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from webapp.llm.structured import object_schema, readable_items
from webapp.memories.rules.evidence import find_quote, has_substance
from webapp.memories.rules.operations import Number, Unit, one_line
from webapp.memories.rules.secrets import find_secret
from webapp.memories.rules.state import Evidence, SourceMessage

FIELD = "points"
MAX_POINTS = 40
Request = Literal["skip", "later", "stop", "resume"]
"""What somebody asks of the guide about a point: leave it out, leave it for later; or of all: stop asking, go on."""


def _request(value: object) -> object:
    return value if value in get_args(Request) else None


class PointAssessment(BaseModel):
    """A conversation's findings about one open point of a journey."""

    model_config = ConfigDict(frozen=True)

    point_number: Number
    is_addressed: bool
    confidence_score: Unit
    extracted_points: list[Annotated[str, BeforeValidator(one_line)]] = Field(default_factory=list, max_length=50)
    relevant_quotes: list[str] = Field(default_factory=list, max_length=50)
    structured_data: dict[str, Any] = Field(default_factory=dict)
    criteria_met: list[Number] | None = Field(None, max_length=50)
    corrects: list[Number] = Field(default_factory=list, max_length=50)
    request: Annotated[Request | None, BeforeValidator(_request)] = None

    @model_validator(mode="before")
    @classmethod
    def _pairs_to_object(cls, data: Any) -> Any:
        """Strict schemas have no free-form objects, so `structured_data` comes as a list of names and values."""
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if value is not None}
        if isinstance(data, Mapping) and isinstance(pairs := data.get("structured_data"), list):
            values = {str(p["name"]): p.get("value") for p in pairs if isinstance(p, Mapping) and p.get("name")}
            return {**data, "structured_data": values}
        return data


def points_schema() -> dict[str, Any]:
    """Return the JSON schema of the list, within the subset that strict structured output accepts."""
    texts = {"type": "array", "items": {"type": "string"}}
    numbers = {"type": "array", "items": {"type": "integer"}}
    point = object_schema(
        point_number={"type": "integer"},
        is_addressed={"type": "boolean"},
        confidence_score={"type": "number"},
        extracted_points=texts,
        relevant_quotes=texts,
        structured_data={"type": "array", "items": object_schema(name={"type": "string"}, value={"type": "string"})},
        criteria_met=numbers,
        corrects=numbers,
        request={"type": "string", "enum": ["none", *get_args(Request)]},
    )
    return {"type": "array", "items": point}


def read_points(items: object) -> tuple[PointAssessment, ...]:
    """Return the well-formed assessments of an answer; a malformed one costs only itself."""
    return tuple(readable_items(PointAssessment, items[:MAX_POINTS] if isinstance(items, list) else ()))


@dataclass(frozen=True)
class GroundedAssessment:
    """An assessment with the user's words behind it; `evidence` is never empty."""

    assessment: PointAssessment
    evidence: tuple[Evidence, ...]


def ground_assessments(
    assessments: Sequence[PointAssessment],
    sources: Sequence[SourceMessage],
    open_points: int,
    is_forgotten: Callable[[str], bool] = lambda _: False,
) -> tuple[list[GroundedAssessment], int]:
    """Return the assessments with verbatim quotes, one per point in order, the surest, and how many were rejected.

    Rejected are unknown points, those without a quote of what the user typed, secrets, and what was forgotten.
    """
    best: dict[int, GroundedAssessment] = {}
    for assessment in assessments:
        evidence = tuple(passage for quote in assessment.relevant_quotes if (passage := _ground(quote, sources)))
        statements = [*assessment.extracted_points, *map(str, assessment.structured_data.values())]
        previous = best.get(assessment.point_number)
        if (
            assessment.point_number > open_points
            or not evidence
            or find_secret(*statements, *(e.quote for e in evidence))
            or any(map(is_forgotten, statements))
        ):
            continue
        if previous is None or previous.assessment.confidence_score < assessment.confidence_score:
            grounded = assessment.model_copy(update={"relevant_quotes": [item.quote for item in evidence]})
            best[assessment.point_number] = GroundedAssessment(grounded, evidence)
    return [best[number] for number in sorted(best)], len(assessments) - len(best)


def _ground(quote: str, sources: Sequence[SourceMessage]) -> Evidence | None:
    """Return the latest user message that contains the quote."""
    for source in reversed(sources):
        if source.role == "user" and (span := find_quote(quote, source.content, source.others)):
            words = source.content[span.start : span.end]
            # A bare "no" is evidence when it is the whole answer: it is quoted with the question.
            if has_substance(words, source.content):
                return Evidence(source.message_id, words, span.start, span.end, source.said_at)
    return None
