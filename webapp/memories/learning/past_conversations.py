"""Learning from past conversations: one call at a time, and everything found waits in review."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from webapp.conversations.models import Conversation
from webapp.db.base import db, reads_only
from webapp.llm.errors import CutOffAnswer
from webapp.memories.learning import extraction, inputs
from webapp.memories.learning.inputs import ExtractionInput
from webapp.memories.learning.model_call import Answer, ask
from webapp.memories.prompt.conversation_memory import is_extraction_on
from webapp.memories.rules.decide import decide
from webapp.memories.rules.policy import for_review
from webapp.memories.rules.state import Insert
from webapp.memories.store import versions

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
    nearby: extraction.Nearby | None = None


def ask_about(conversation_id: int, after: int) -> Step | None:
    """Ask about what follows a message; None if there is nothing to learn from. Raises ModelError."""
    step = None
    with reads_only():
        for batch in inputs.batches(conversation_id, after):
            if not batch.call.sources:
                return None
            step = Step(replace(batch, wants_title=False), None)
            if not (batch.call.is_needed and batch.has_substance):
                return step
            with suppress(CutOffAnswer):
                answer = ask(step.batch)
                sent = sum(len(str(message)) for message in batch.call.messages) // 3
                tokens = (answer.prompt_tokens or sent, answer.completion_tokens or 0)
                return Step(step.batch, answer, tokens, extraction.find_similar(batch, answer))
    return step


def write(step: Step) -> LearningCall:
    """Put the extracted memories into review, in the current transaction."""
    batch, answer = step.batch, step.answer
    last_id = extraction.last_message_read(batch, answer) or batch.call.covers_through or 0
    has_more = batch.call.is_partial or last_id != batch.call.covers_through
    result = LearningCall(
        last_id, has_more, asked=answer is not None, tokens=step.tokens, model=answer.model if answer else None
    )
    conversation = db.session.get(Conversation, batch.conversation_id, with_for_update=True, populate_existing=True)
    if answer is None or conversation is None or not is_extraction_on(conversation):
        return result
    versions.begin_change(batch.user_id)
    state = extraction.state_of(batch, answer, step.nearby)
    plan = decide(answer.extraction.operations, state)
    waiting_refs = {memory.ref for memory in state.memories if memory.needs_review and memory.origin == "import"}
    effects = for_review(plan.effects, waiting_refs)
    if not effects:
        return result
    count = sum(isinstance(effect, Insert) for effect in effects)
    change_set = extraction.store(batch, answer, effects, {"added": count, "in_review": count}, cause=CAUSE)
    change_set.prompt_tokens, change_set.completion_tokens = step.tokens
    return replace(result, proposed=count, change_set_id=change_set.change_set_id)
