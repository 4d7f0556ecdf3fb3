"""Learning from past conversations: one call at a time, and everything found waits in review."""

from contextlib import suppress
from dataclasses import dataclass, replace

from webapp.conversations.models import Conversation
from webapp.db.base import db, reads_only
from webapp.llm.errors import CutOffAnswer
from webapp.memories.learning import extraction, inputs
from webapp.memories.learning.inputs import ExtractionInput
from webapp.memories.learning.later_domains import Result
from webapp.memories.learning.model_call import Answer, ask
from webapp.memories.prompt.conversation_memory import is_extraction_on
from webapp.memories.rules.decide import decide
from webapp.memories.rules.policy import for_review
from webapp.memories.rules.state import Insert
from webapp.memories.store import versions

CAUSE = "import"


@dataclass(frozen=True)
class Step:
    """Messages read, and the answer about them, if they were asked about; nothing is stored yet."""

    batch: ExtractionInput
    answer: Answer | None = None
    nearby: extraction.SimilarMemories | None = None

    @property
    def tokens(self) -> tuple[int, int]:
        """Return the tokens sent, estimated if the server does not count them, and answered."""
        if self.answer is None:
            return 0, 0
        sent = sum(len(str(message)) for message in self.batch.call.messages) // 3
        return self.answer.prompt_tokens or sent, self.answer.completion_tokens or 0


def ask_about(conversation_id: int, after: int) -> Step | None:
    """Ask about what follows a message; None if there is nothing to learn from. Raises ModelError."""
    step = None
    with reads_only():
        for batch in inputs.batches(conversation_id, after):
            if not batch.call.sources:
                return None
            step = Step(replace(batch, wants_title=False))
            if not (batch.call.is_needed and batch.has_substance):
                return step
            with suppress(CutOffAnswer):
                answer = ask(step.batch)
                return Step(step.batch, answer, extraction.find_similar(batch, answer))
    return step


def write(step: Step) -> Result:
    """Put the extracted memories into review, in the current transaction; `in_review` counts them."""
    batch, answer = step.batch, step.answer
    last_id = extraction.last_message_read(batch, answer) or 0
    has_more = batch.call.is_partial or last_id != batch.call.covers_through
    result = Result(has_more=has_more, last_id=last_id)
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
    counts = dict.fromkeys(("added", "in_review"), sum(isinstance(effect, Insert) for effect in effects))
    change_set = extraction.store(batch, answer, effects, counts, cause=CAUSE)
    change_set.prompt_tokens, change_set.completion_tokens = step.tokens
    return replace(result, counts=result.counts | counts, change_set_id=change_set.change_set_id)
