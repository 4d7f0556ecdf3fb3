"""The one structured call after a turn, the vectors of what it proposes, and the trust in the model that answers."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from webapp.db.base import db
from webapp.llm.errors import CutOffAnswer, MalformedOutput, ModelError
from webapp.llm.structured import Part, complete_items, none_is_empty, schema_of
from webapp.memories.learning.inputs import ExtractionInput
from webapp.memories.learning.journey_points import FIELD as POINTS, PointAssessment, read_points
from webapp.memories.learning.prompt import ExtractionCall
from webapp.memories.rules.check import as_stored
from webapp.memories.rules.state import State
from webapp.memories.rules.statements import FIELD, Extraction, read_statements
from webapp.memories.store.writing import Vectors
from webapp.providers.clients import completions, embedder
from webapp.providers.grades import background_model, grade_of, grade_of_reply

log = logging.getLogger(__name__)

SCHEMA_NAME = "memory_operations"
TEMPERATURE = 0.0
MIN_TOKENS, MAX_TOKENS = 600, 6_000
TOKENS_EACH = 4
"""Tokens allowed in the answer for every token read: a statement quotes it, rewords it and says what it is."""


class TurnAnswer(BaseModel):
    """The answer as a whole; its statements are read one by one later, so that a malformed one costs only itself."""

    model_config = ConfigDict(extra="allow")

    statements: Annotated[list[Any], BeforeValidator(none_is_empty)]


@dataclass(frozen=True)
class Answer:
    """A readable answer, its statements' vectors by text, and cost; `cut_at`: the message where it was cut off."""

    extraction: Extraction
    title: str | None
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    vectors: Vectors = Vectors()
    points: tuple[PointAssessment, ...] = ()
    cut_at: int | None = None
    is_trusted: bool = False


def call_options(call: ExtractionCall, parts: Sequence[Part]) -> dict[str, Any]:
    """Return how the call is to be answered: within how many tokens, how freely, and in which form."""
    return {
        "max_tokens": min(MAX_TOKENS, MIN_TOKENS + TOKENS_EACH * call.evidence_tokens),
        "temperature": TEMPERATURE,
        "shown": schema_of(parts),
    }


def ask(batch: ExtractionInput) -> Answer:
    """Make the call, with no connection held. Raises ModelError, also if cut off before a whole statement."""
    is_trusted = background_model_is_trusted()
    db.session.remove()
    cut_at = None
    model = ""
    usage: tuple[int | None, int | None] = (None, None)
    try:
        parsed, completion = completions().complete_structured(
            batch.call.messages,
            TurnAnswer,
            SCHEMA_NAME,
            **call_options(batch.call, batch.parts),
        )
        data = parsed.model_dump()
        model, usage = completion.model, (completion.usage.prompt_tokens, completion.usage.completion_tokens)
    except CutOffAnswer as cut:
        data = {FIELD: complete_items(cut.text, FIELD)}
        cut_at = _last_number(data[FIELD], batch)
        if cut_at is None:
            raise
    extraction = read_statements(data[FIELD])
    state = State(batch.call.sources, context=batch.call.context, foreign=batch.call.foreign, is_trusted=is_trusted)
    operations = tuple(as_stored(operation, state) for operation in extraction.operations)
    if data[FIELD] and not extraction.operations and not extraction.passed_over:
        raise MalformedOutput
    title = data.get("title")
    try:
        vectors = vectors_of(operation.content for operation in operations)
    except ModelError as error:
        log.warning("extraction goes on without vectors", extra={"code": error.code})
        vectors = Vectors()
    return Answer(
        replace(extraction, operations=operations),
        title if isinstance(title, str) else None,
        model,
        *usage,
        vectors,
        read_points(data.get(POINTS)),
        cut_at,
        is_trusted,
    )


def _last_number(items: Sequence[Any], batch: ExtractionInput) -> int | None:
    """Return the number of the last message that a cut-off answer reached; None if it contains nothing of any."""
    numbers = [item.get("message") for item in items if isinstance(item, Mapping)]
    message_numbers = {source.number for source in batch.call.sources}
    return max((n for n in numbers if isinstance(n, int) and n in message_numbers), default=None)


def vectors_of(statements: Iterable[str | None]) -> Vectors:
    """Embed the proposed statements; no connection may be held. Raises ModelError."""
    texts = sorted({text for text in statements if text})
    if not texts:
        return Vectors()
    client = embedder()
    return Vectors(dict(zip(texts, client.embed_passages(texts), strict=True)), client.model)


def background_model_is_trusted() -> bool:
    """Return whether the model that does background work now has passed the exam."""
    grade = grade_of(background_model())
    return grade is not None and grade.is_trusted


def reply_is_trusted(model_id: str | None) -> bool:
    """Return whether a model that replies has passed the exam; None is the environment's chat model."""
    grade = grade_of_reply(model_id)
    return grade is not None and grade.is_trusted
