"""The one structured call of an extraction, and the vectors of what it proposes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from webapp.llm.errors import MalformedOutput, ModelError
from webapp.memories.engine.operations import (
    SCHEMA_NAME,
    Extraction,
    ExtractionUnreadable,
    MemoryOperation,
    parse_extraction,
    response_schema,
)
from webapp.memories.learning.reading import Reading
from webapp.model_clients import completions, embedder

log = logging.getLogger(__name__)

ANSWER_TOKENS = 4_000


class ExtractionAnswer(BaseModel):
    """The answer as a whole; its operations are read one by one later, so that a malformed one costs only itself."""

    model_config = ConfigDict(extra="allow")

    operations: list[Any]

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema that the model is shown."""
        return response_schema()


class TitledAnswer(ExtractionAnswer):
    """The answer for a conversation without a title, which saves a call of its own for it."""

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema that the model is shown."""
        return _titled(response_schema())


class GuidedAnswer(ExtractionAnswer):
    """The answer for a guided conversation: all its open points in the same call."""

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema that the model is shown."""
        return response_schema(with_points=True)


class GuidedTitledAnswer(ExtractionAnswer):
    """The answer for a guided conversation without a title."""

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema that the model is shown."""
        return _titled(response_schema(with_points=True))


def _titled(schema: dict[str, Any]) -> dict[str, Any]:
    schema["properties"]["title"] = {"type": "string"}
    schema["required"] = [*schema["required"], "title"]
    return schema


_ANSWERS: dict[tuple[bool, bool], type[ExtractionAnswer]] = {
    (False, False): ExtractionAnswer,
    (True, False): TitledAnswer,
    (False, True): GuidedAnswer,
    (True, True): GuidedTitledAnswer,
}


@dataclass(frozen=True)
class Answer:
    """A readable answer, the vectors of its statements by text, and what it cost."""

    extraction: Extraction
    title: str | None
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    embedding_model: str | None = None
    vectors: Mapping[str, np.ndarray] = field(default_factory=dict)


def ask(reading: Reading) -> Answer:
    """Make the call, with no connection held. Raises ModelError; without an embedder there are no vectors."""
    schema = _ANSWERS[reading.wants_title, reading.call.points > 0]
    parsed, completion = completions().complete_structured(
        reading.call.messages, schema, SCHEMA_NAME, max_tokens=ANSWER_TOKENS
    )
    data = parsed.model_dump()
    try:
        extraction = parse_extraction(data)
    except ExtractionUnreadable:
        raise MalformedOutput from None
    title = data.get("title")
    vectors, model = _vectors(extraction.operations)
    return Answer(
        extraction,
        title if isinstance(title, str) else None,
        completion.model,
        completion.usage.prompt_tokens,
        completion.usage.completion_tokens,
        model,
        vectors,
    )


def _vectors(operations: tuple[MemoryOperation, ...]) -> tuple[dict[str, np.ndarray], str | None]:
    texts = sorted({operation.content for operation in operations if operation.content})
    if not texts:
        return {}, None
    try:
        rows = embedder().embed_passages(texts)
    except ModelError as error:
        log.warning("extraction goes on without vectors", extra={"code": error.code})
        return {}, None
    return dict(zip(texts, rows, strict=True)), embedder().model
