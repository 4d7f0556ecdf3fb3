"""The one structured model call of an extraction: its JSON schema, and reading its answer operation by operation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from webapp.memories.engine.keys import CONTENT_MAX, KEY_MAX, VALUE_MAX
from webapp.memories.engine.kinds import MemoryType
from webapp.text.canonical import plain_text

SCHEMA_NAME = "memory_operations"
QUOTE_MAX = 2000
MAX_OPERATIONS = 40


class Action(StrEnum):
    """What an operation asks for. Code decides what becomes of it."""

    ADD = "add"
    UPDATE = "update"
    SUPERSEDE = "supersede"
    RETRACT = "retract"


class ExtractionUnreadable(ValueError):
    """The answer as a whole is not an extraction; nothing may be stored and the call may be tried again."""


def _text(value: object) -> object:
    return plain_text(value) if isinstance(value, str) else value


def _optional_text(value: object) -> object:
    text = _text(value)
    return None if isinstance(text, str) and text.casefold() in {"", "null", "none", "n/a"} else text


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a number is expected")
    return value


Unit = Annotated[float, BeforeValidator(_no_bool), Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Model = TypeVar("Model", bound=BaseModel)
Number = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=1_000_000)]


class MemoryOperation(BaseModel):
    """One proposed change to memory, with the number of a message and a verbatim quote from it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    action: Annotated[Action, BeforeValidator(_lower)]
    memory_number: Number | None = None
    message_number: Number
    quote: str = Field(min_length=1, max_length=QUOTE_MAX)
    memory_type: Annotated[MemoryType, BeforeValidator(_lower)] = MemoryType.FACT
    category: Annotated[Annotated[str, Field(max_length=KEY_MAX)] | None, BeforeValidator(_optional_text)] = None
    content: Annotated[str, BeforeValidator(_text), Field(max_length=CONTENT_MAX)] = ""
    fact_key: Annotated[Annotated[str, Field(max_length=KEY_MAX)] | None, BeforeValidator(_optional_text)] = None
    fact_value: Annotated[Annotated[str, Field(max_length=VALUE_MAX)] | None, BeforeValidator(_optional_text)] = None
    confidence: Unit
    importance: Unit
    explicit_correction: bool = False

    @model_validator(mode="before")
    @classmethod
    def _default_missing(cls, data: Any) -> Any:
        """A null where a default exists means the default: models fill every field of a strict schema."""
        if not isinstance(data, Mapping):
            raise ValueError("an operation is an object")
        dropped = {"memory_type", "content", "explicit_correction"}
        return {key: value for key, value in data.items() if value is not None or key not in dropped}

    @model_validator(mode="after")
    def _complete(self) -> MemoryOperation:
        if self.action is not Action.RETRACT and not self.content:
            raise ValueError("only a retraction may come without content")
        return self


class PointAssessment(BaseModel):
    """What a conversation established about one open point of a journey."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    point_number: Number
    is_addressed: bool
    confidence_score: Unit
    extracted_points: list[Annotated[str, BeforeValidator(_text)]] = Field(default_factory=list, max_length=50)
    relevant_quotes: list[str] = Field(default_factory=list, max_length=50)
    structured_data: dict[str, Any] = Field(default_factory=dict)
    criteria_met: list[Number] | None = Field(None, max_length=50)
    corrects: list[Number] = Field(default_factory=list, max_length=50)

    @model_validator(mode="before")
    @classmethod
    def _pairs_to_object(cls, data: Any) -> Any:
        """Strict schemas know no free objects, so `structured_data` comes as a list of name and value."""
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if value is not None}
        if isinstance(data, Mapping) and isinstance(pairs := data.get("structured_data"), list):
            named = {str(p["name"]): p.get("value") for p in pairs if isinstance(p, Mapping) and p.get("name")}
            return {**data, "structured_data": named}
        return data


@dataclass(frozen=True)
class Extraction:
    """A parsed answer: what could be read, and how much could not."""

    operations: tuple[MemoryOperation, ...]
    points: tuple[PointAssessment, ...] = ()
    malformed: int = 0
    capped: int = 0
    reasoning: str = ""


def parse_extraction(answer: str | Mapping[str, Any] | list[Any], max_operations: int = MAX_OPERATIONS) -> Extraction:
    """Read a model's answer, keeping every operation that is well formed.

    A malformed operation is counted and costs only itself; those past `max_operations` are counted, not read.
    Raises ExtractionUnreadable when there is no extraction in the answer at all (prose, a refusal, cut-off JSON).
    """
    data = _first_object(answer) if isinstance(answer, str) else answer
    if isinstance(data, list):
        data = {"operations": data}
    if not isinstance(data, Mapping) or not isinstance(data.get("operations"), list):
        raise ExtractionUnreadable("the answer holds no list of operations")
    proposed = data["operations"]
    operations, bad_operations = _read_each(MemoryOperation, proposed[:max_operations])
    points = data.get("points")
    assessments, bad_points = _read_each(PointAssessment, points[:max_operations] if isinstance(points, list) else [])
    reasoning = data.get("reasoning")
    return Extraction(
        operations=tuple(operations),
        points=tuple(assessments),
        malformed=bad_operations + bad_points,
        capped=max(0, len(proposed) - max_operations),
        reasoning=reasoning if isinstance(reasoning, str) else "",
    )


def response_schema(with_points: bool = False) -> dict[str, Any]:
    """The JSON schema of the answer, within the subset that strict structured output accepts."""
    nullable_text = {"type": ["string", "null"]}
    operation = _object(
        action={"type": "string", "enum": [action.value for action in Action]},
        memory_number={"type": ["integer", "null"]},
        message_number={"type": "integer"},
        quote={"type": "string"},
        memory_type={"type": "string", "enum": [kind.value for kind in MemoryType]},
        category=nullable_text,
        content={"type": "string"},
        fact_key=nullable_text,
        fact_value=nullable_text,
        confidence={"type": "number"},
        importance={"type": "number"},
        explicit_correction={"type": "boolean"},
    )
    # Reasoning stands first: a judgement written before its grounds is the worse one.
    fields: dict[str, Any] = {"reasoning": {"type": "string"}, "operations": {"type": "array", "items": operation}}
    if with_points:
        texts = {"type": "array", "items": {"type": "string"}}
        numbers = {"type": "array", "items": {"type": "integer"}}
        pair = _object(name={"type": "string"}, value={"type": "string"})
        fields["points"] = {
            "type": "array",
            "items": _object(
                point_number={"type": "integer"},
                is_addressed={"type": "boolean"},
                confidence_score={"type": "number"},
                extracted_points=texts,
                relevant_quotes=texts,
                structured_data={"type": "array", "items": pair},
                criteria_met=numbers,
                corrects=numbers,
            ),
        }
    return _object(**fields)


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _read_each(model: type[Model], items: list[Any]) -> tuple[list[Model], int]:
    read: list[Model] = []
    for item in items:
        try:
            read.append(model.model_validate(item))
        except (ValidationError, RecursionError):
            continue
    return read, len(items) - len(read)


def _first_object(text: str) -> Any:
    """The first JSON object or list in `text`: models wrap them in prose and code fences."""
    decoder = json.JSONDecoder(parse_constant=lambda _: math.nan)
    at = 0
    while (at := min((i for i in (text.find("{", at), text.find("[", at)) if i >= 0), default=-1)) >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(found, list) and found and all(isinstance(item, Mapping) for item in found):
            return found
        if isinstance(found, Mapping) and "operations" in found:
            return found
        at = end
    raise ExtractionUnreadable("the answer holds no JSON of an extraction")
