"""Learning from past conversations: one call at a time, and everything found waits in review."""

from dataclasses import dataclass, field, replace

from sqlalchemy import select

from webapp.conversations.models import Conversation
from webapp.db.base import db, reads_only
from webapp.llm.errors import CutOffAnswer
from webapp.memories.learning import extraction, inputs
from webapp.memories.learning.inputs import ExtractionInput
from webapp.memories.learning.model_call import Answer, ask
from webapp.memories.prompt.conversation_memory import extracts
from webapp.memories.rules.decide import decide
from webapp.memories.rules.policy import for_review
from webapp.memories.rules.state import Insert
from webapp.memories.store import versions, writing
from webapp.memories.store.journal import Journal

CAUSE = "import"


@dataclass(frozen=True)
class LearningCall:
    """The result of one call: proposals, its change set, tokens in and out; `last_id` is how far it has read."""

    last_id: int
    has_more: bool
    proposed: int = 0
    change_set_id: int | None = None
    asked: bool = False
    tokens: tuple[int, int] = (0, 0)
    model: str | None = None


@dataclass
class Step:
    """A call that was answered but is not yet stored."""

    batch: ExtractionInput
    answer: Answer | None
    tokens: tuple[int, int] = field(default=(0, 0))
    nearby: writing.Nearby | None = None


def ask_about(conversation_id: int, after: int) -> Step | None:
    """Ask about what follows a message, with nothing held; None if there is nothing to learn from.

    Raises ModelError.
    """
    with reads_only():
        return _ask_about(conversation_id, after)


def _ask_about(conversation_id: int, after: int) -> Step | None:
    limit = None
    while True:
        batch = inputs.read(conversation_id, after, limit)
        db.session.remove()
        if batch is None or not batch.call.sources:
            return None
        batch = replace(batch, wants_title=False)
        if not (batch.call.is_needed and batch.has_substance):
            return Step(batch, None)
        try:
            answer = ask(batch)
        except CutOffAnswer:
            count = len({source.message_id for source in batch.call.sources})
            if count == 1:
                return Step(batch, None)
            limit = count // 2
            continue
        sent = sum(len(str(message)) for message in batch.call.messages) // 3
        tokens = (answer.prompt_tokens or sent, answer.completion_tokens or 0)
        return Step(batch, answer, tokens, extraction.find_similar(batch, answer))


def write(step: Step) -> LearningCall:
    """Put the extracted memories into review, in the current transaction."""
    batch, answer = step.batch, step.answer
    last_id = extraction.last_message_read(batch, answer) or batch.call.covers_through or 0
    has_more = batch.call.is_partial or last_id != batch.call.covers_through
    result = LearningCall(
        last_id, has_more, asked=answer is not None, tokens=step.tokens, model=answer.model if answer else None
    )
    conversation = db.session.scalar(
        select(Conversation).where(Conversation.conversation_id == batch.conversation_id).with_for_update()
    )
    if answer is None or conversation is None or not extracts(conversation):
        return result
    versions.hold(batch.user_id)
    state = extraction.state_of(batch, answer, step.nearby)
    plan = decide(answer.extraction.operations, state)
    waiting_refs = {memory.ref for memory in state.memories if memory.needs_review and memory.origin == "import"}
    effects = for_review(plan.effects, waiting_refs)
    if not effects:
        return result
    journal = Journal(batch.user_id, CAUSE, actor="import", conversation_id=batch.conversation_id)
    writing.apply_plan(
        effects,
        journal,
        space_id=batch.space_id,
        embedding_model=answer.embedding_model,
        embeddings=answer.vectors,
    )
    count = sum(isinstance(effect, Insert) for effect in effects)
    change_set = journal.close({"added": count, "in_review": count})
    change_set.model = answer.model
    change_set.prompt_tokens, change_set.completion_tokens = step.tokens
    return replace(result, proposed=count, change_set_id=journal.id)
