"""Extraction of memories: read, ask the model with nothing held, decide and write in one transaction."""

import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from webapp.conversations import titles
from webapp.conversations.current_messages import earlier_versions
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, reads_only, write_transaction
from webapp.db.conflicts import repeat_on_conflict
from webapp.llm.errors import CutOffAnswer, MalformedOutput, ModelError
from webapp.memories.learning import inputs
from webapp.memories.learning.inputs import ExtractionInput
from webapp.memories.learning.journey_points import ground_assessments
from webapp.memories.learning.later_domains import COUNTS, Reader, Result, guide, reader_of
from webapp.memories.learning.model_call import Answer, ask
from webapp.memories.models import MemoryChangeSet
from webapp.memories.prompt.conversation_memory import is_extraction_on
from webapp.memories.rules.decide import decide
from webapp.memories.rules.state import Effect, SourceMessage, State
from webapp.memories.rules.statements import Extraction
from webapp.memories.showing import texts
from webapp.memories.store import versions, writing
from webapp.memories.store.journal import Journal
from webapp.memories.store.tombstones import read_again, tombstone_set, watch
from webapp.prompts import service as prompts

log = logging.getLogger(__name__)

MAX_CALLS = 4
"""The most model calls in one run; a longer backlog continues in the next one."""
NO_ANSWER = Answer(Extraction(()), None, "", None, None)
"""The answer about messages that say nothing; what their authors took out of them is seen without a model."""


def extract(
    conversation_id: int, from_start: bool = False, after: int = 0, *, on_start: Callable[[], None] | None = None
) -> Result:
    """Read what the user said since the last time, or `from_start` (after a message), for memories.

    Of a long backlog a part: `has_more`, up to `last_id`. Does nothing for a conversation that is gone, temporary or
    without memory. Raises ModelError with nothing stored.
    """
    with reads_only():
        conversation = db.session.get(Conversation, conversation_id) if from_start else None
        about_somebody = reader_of()(conversation) if conversation is not None else None
        db.session.remove()
        total = Result()
        place = after if from_start else None
        for _ in range(MAX_CALLS):
            step = _next_step(about_somebody or ABOUT_USER, conversation_id, place, on_start)
            on_start = None
            if step is None:
                return total
            total = total.plus(step)
            if not step.has_more:
                return total
            place = step.last_id if from_start else None
        return total


def _next_step(
    reader: Reader, conversation_id: int, place: int | None, on_start: Callable[[], None] | None
) -> Result | None:
    """Read on and ask; with fewer messages if an answer about more was cut off before it said anything."""
    batch = None
    for batch in reader.batches(conversation_id, place):
        if on_start is not None:
            on_start()
            on_start = None
        with suppress(CutOffAnswer):
            return reader.read(batch)
    if batch is not None:
        return replace(reader.skip(batch), unreadable=1)
    _withdraw_request(conversation_id)
    return None


def _withdraw_request(conversation_id: int) -> None:
    """Let a conversation without memory, or with none any more, wait for nothing: its next reply asks again."""
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id, with_for_update=True)
        if conversation is not None and not is_extraction_on(conversation):
            conversation.extraction_due = False


def _step(batch: ExtractionInput) -> Result:
    """Return one model call, if one is needed, and its effects."""
    answer = None
    if batch.call.is_needed and batch.has_substance:
        try:
            answer = ask(batch)
        except ModelError as error:
            if batch.wants_title and (not error.retryable or isinstance(error, MalformedOutput)):
                _title(batch, None)  # a conversation must get a title even if its memories cannot be read
            raise
    nearby = find_similar(batch, answer) if answer is not None else None
    db.session.remove()
    result = repeat_on_conflict(partial(_write, batch, answer, nearby))  # without asking the model again
    if not batch.wants_title:
        return result
    if answer is not None:
        return replace(result, title=_title(batch, answer.title))
    return replace(result, title=titles.title_conversation(batch.conversation_id, prompts.active("titles").text, watch))


def _title(batch: ExtractionInput, suggestion: str | None) -> str | None:
    title = titles.clean_model_title(
        suggestion, " ".join(source.content for source in batch.call.sources), " ".join(batch.call.context)
    ) or titles.title_from_words(batch.first_words)
    if not title:
        return None
    with write_transaction():
        db.session.get(Conversation, batch.conversation_id, with_for_update=True)
        if not batch.still_holds():
            return None  # it is made again in the next turn
        return title if titles.set_automatic_title(batch.conversation_id, title) else None


ABOUT_USER = Reader(inputs.batches, _step, lambda batch: _write(batch, None))

SimilarMemories = tuple[int, Collection[int]]
"""A version of a user's memory, and the ids of memories near some vectors at that version."""


def find_similar(batch: ExtractionInput, answer: Answer) -> SimilarMemories:
    """Return memories similar to the extracted statements; call it before the transaction."""
    version = versions.current_version(batch.user_id)
    return version, writing.find_similar(batch.user_id, batch.space_id, answer.vectors)


def _write(batch: ExtractionInput, answer: Answer | None, nearby: SimilarMemories | None = None) -> Result:
    """Decide and store, unless another run has meanwhile read the same messages."""
    with write_transaction():
        conversation = db.session.get(Conversation, batch.conversation_id, with_for_update=True, populate_existing=True)
        if conversation is None or conversation.extracted_through != batch.watermark:
            return Result()
        if conversation.space_id != batch.space_id or not is_extraction_on(conversation):
            return Result()
        result = Result()
        if answer is not None or earlier_versions({source.message_id for source in batch.call.sources}):
            versions.begin_change(conversation.user_id)
            still_holds = batch.still_holds()
            result = _apply(batch, answer or NO_ANSWER, nearby)
            # Points hold the model's own words; memories are checked against the tombstones one by one.
            if answer is not None and still_holds:
                result = replace(result, summary_due=_store_points(conversation, batch, answer))
        place = last_message_read(batch, answer)
        watermark = max(batch.watermark or 0, place or 0)
        partial = batch.call.is_partial or place != batch.call.covers_through
        conversation.extracted_through = watermark or None
        conversation.extraction_due = partial or inputs.has_newer(conversation, watermark)
        return replace(result, has_more=partial, last_id=place or 0)


def last_message_read(batch: ExtractionInput, answer: Answer | None) -> int | None:
    """Return the message a call has read to: all it covers or, cut off, the one before, but at least the first."""
    if answer is None or answer.cut_at is None:
        return batch.call.covers_through
    ids = {source.number: source.message_id for source in batch.call.sources}
    return max((i for i in ids.values() if i < ids[answer.cut_at]), default=ids[answer.cut_at])


def _store_points(conversation: Conversation, batch: ExtractionInput, answer: Answer) -> bool:
    """Store the answers about open points with the domain that asked; return whether a summary is due."""
    if not batch.points:
        return False
    tombstones = tombstone_set(batch.user_id)
    user_sources = [source for source in read_again(batch.call.sources, tombstones) if source.role == "user"]
    grounded, rejected = ground_assessments(
        answer.points, user_sources, len(batch.points), lambda text: tombstones.forbids(text, quote=text)
    )
    if rejected:
        log.info("points rejected", extra={"conversation_id": batch.conversation_id, "rejected": rejected})
    return guide().store(conversation, batch.points, grounded, len({source.message_id for source in user_sources}))


def _apply(batch: ExtractionInput, answer: Answer, nearby: SimilarMemories | None) -> Result:
    operations = answer.extraction.operations
    plan = decide(operations, state_of(batch, answer, nearby))
    counts = plan.counts | {"malformed": answer.extraction.malformed}
    counts["rejected"] += answer.extraction.capped
    reasons = plan.reasons | ({"too_many": answer.extraction.capped} if answer.extraction.capped else {})
    # Refusals are reported along with other changes; on their own, only those worth a line of their own.
    is_reported = bool(plan.effects) or not texts.NOTABLE_REASONS.isdisjoint(reasons)
    change_set = store(batch, answer, plan.effects, counts, reasons) if is_reported else None
    if change_set is not None:
        change_set.through_message_id = batch.call.covers_through
    log.info(
        "memories extracted",
        extra={"conversation_id": batch.conversation_id, "operations": len(operations), **counts, "reasons": reasons},
    )
    return Result(
        change_set.change_set_id if change_set else None,
        {name: counts.get(name, 0) for name in COUNTS},
        reasons,
    )


def state_of(batch: ExtractionInput, answer: Answer, nearby: SimilarMemories | None = None) -> State:
    """Return what a decision rests on; the caller holds the user's memory and may have looked up `nearby`."""
    operations = answer.extraction.operations
    tombstones = tombstone_set(batch.user_id)
    if nearby is None or nearby[0] + 1 != versions.current_version(batch.user_id):  # holding it raised it by one
        nearby = find_similar(batch, answer)
    return writing.load_state(
        batch.user_id,
        batch.space_id,
        read_again(batch.call.sources, tombstones),
        operations,
        nearby[1],
        numbered=batch.call.numbered,
        embeddings=answer.vectors.by_text,
        context=batch.call.context,
        foreign=batch.call.foreign,
        secrets=answer.extraction.secrets,
        is_trusted=answer.is_trusted,
        is_forgotten=tombstones.forbids,
    )


def store(
    batch: ExtractionInput,
    answer: Answer,
    effects: Iterable[Effect],
    counts: dict[str, int],
    reasons: dict[str, int] | None = None,
    *,
    cause: str = "extraction",
) -> MemoryChangeSet:
    """Write what was decided about an answer; returns its change set."""
    journal = Journal(batch.user_id, cause, conversation_id=batch.conversation_id)
    writing.apply_plan(effects, journal, space_id=batch.space_id, vectors=answer.vectors)
    change_set = journal.close(counts, reasons)
    change_set.model = answer.model or None
    change_set.prompt_tokens = answer.prompt_tokens
    change_set.completion_tokens = answer.completion_tokens
    return change_set


def follow_version(conversation: Conversation, version: Message) -> None:
    """Bring back what a message said that is a current version again, in place of what only the others say. No model
    is asked: what was said while memory was off stays unread. The caller has locked the conversation."""
    if version.role != "user" or not is_extraction_on(conversation):
        return
    user_id, space_id = conversation.user_id, conversation.space_id
    versions.begin_change(user_id)
    others = tuple((row.message_id, row.content) for row in earlier_versions([version.message_id])[version.message_id])
    source = SourceMessage(1, version.message_id, "user", version.content, version.said_at, previous=others)
    plan = decide([], writing.load_state(user_id, space_id, [source]))
    if plan.effects:
        journal = Journal(user_id, "restored", conversation_id=conversation.conversation_id)
        writing.apply_plan(plan.effects, journal, space_id=space_id)
        journal.close(plan.counts).through_message_id = version.message_id
