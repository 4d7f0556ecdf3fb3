"""Admission: from a proposed operation to a claim that may be weighed, or the reason why it may not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from webapp.memories.engine.grounding import find_quote, has_substance, injected_spans, is_borrowed
from webapp.memories.engine.keys import canonical_fact_key, category_of
from webapp.memories.engine.operations import Action, MemoryOperation
from webapp.memories.engine.policy import Policy
from webapp.memories.engine.screening import find_secret
from webapp.memories.engine.state import Draft, Evidence, KnownMemory, MemoryRef, Origin, SourceMessage, State
from webapp.text.canonical import canonical_statement, plain_text


class Refusal(StrEnum):
    """Why an operation had no effect."""

    UNKNOWN_MESSAGE = "unknown_message"
    NOT_THE_USER = "not_the_user"
    NOT_VERBATIM = "quote_not_verbatim"
    TOO_SLIGHT = "quote_too_slight"
    BORROWED = "words_of_others"
    SECRET = "secret"
    UNSURE = "low_confidence"
    UNIMPORTANT = "low_importance"
    FORGOTTEN = "forgotten"
    UNKNOWN_MEMORY = "unknown_memory"
    OLDER = "older_than_known"
    WEAKER = "weaker_than_known"
    KNOWN = "already_known"


@dataclass(frozen=True)
class Claim:
    """A grounded, credible statement (or retraction) of the user's, with the memory it was aimed at.

    `may_be_quoted`: the user's words themselves may stand as a memory, being none that was forgotten.
    """

    index: int
    action: Action
    draft: Draft
    evidence: Evidence
    explicit: bool
    target: MemoryRef | None
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)
    may_be_quoted: bool = True

    @property
    def order(self) -> tuple[Any, ...]:
        """A total order by what is claimed and when it was said, so that the order of operations decides nothing."""
        draft = self.draft
        return (
            self.evidence.moment,
            list(Action).index(self.action),
            draft.slot or "",
            draft.value,
            canonical_statement(draft.content),
            -draft.confidence,
            not self.explicit,
            -draft.importance,
            self.target or 0,
            draft.memory_type,
            draft.content,
            draft.fact_value or "",
            draft.category or "",
            self.evidence.end,
        )


def admit(
    index: int, operation: MemoryOperation, state: State, policy: Policy, origin: Origin = "extraction"
) -> Claim | Refusal:
    """Check one operation by itself: the quote, its substance, confidence, importance, secrets and tombstones."""
    message = _message(operation.message_number, state)
    if message is None:
        return Refusal.UNKNOWN_MESSAGE
    if message.role != "user":
        return Refusal.NOT_THE_USER
    span = find_quote(operation.quote, message.content)
    if span is None:
        return Refusal.NOT_VERBATIM
    quote = message.content[span.start : span.end]
    if not has_substance(quote, message.content):
        return Refusal.TOO_SLIGHT
    if not policy.is_credible(operation.confidence):
        return Refusal.UNSURE
    retracts = operation.action is Action.RETRACT
    if not retracts and not policy.is_worthwhile(operation.importance):
        return Refusal.UNIMPORTANT

    target = _target(operation, state)
    if operation.memory_number is not None and target is None and operation.action is not Action.ADD:
        return Refusal.UNKNOWN_MEMORY
    draft = _draft(operation, quote, target, origin)
    if find_secret(draft.content, draft.fact_value, draft.fact_key, draft.category, quote):
        return Refusal.SECRET
    if not retracts and is_borrowed(draft.content, message.content, _words_of_others(state, message)):
        return Refusal.BORROWED
    if state.is_forgotten(draft.content, draft.fact_key, draft.fact_value, quote):
        return Refusal.FORGOTTEN
    return Claim(
        index=index,
        action=operation.action,
        draft=draft,
        evidence=Evidence(message.message_id, quote, span.start, span.end, message.said_at),
        explicit=operation.explicit_correction,
        target=target.ref if target else None,
        embedding=state.embeddings.get(operation.content),
        may_be_quoted=not state.is_forgotten(quote, None, None, None),
    )


def _message(number: int, state: State) -> SourceMessage | None:
    return next((message for message in state.messages if message.number == number), None)


def _target(operation: MemoryOperation, state: State) -> KnownMemory | None:
    if operation.memory_number is None or operation.action is Action.ADD:
        return None
    ref = state.numbered.get(operation.memory_number)
    return next((memory for memory in state.memories if memory.ref == ref), None) if ref is not None else None


def _draft(operation: MemoryOperation, quote: str, target: KnownMemory | None, origin: Origin) -> Draft:
    key = canonical_fact_key(operation.fact_key, operation.category)
    if key is None and target is not None and operation.action is not Action.RETRACT:
        # An update of a keyed fact is about that fact, whether or not the model repeats the key.
        key = target.slot
    return Draft(
        memory_type=operation.memory_type.value,
        content=operation.content or plain_text(quote),
        category=category_of(key, operation.category),
        fact_key=key,
        fact_value=operation.fact_value if key else None,
        confidence=operation.confidence,
        importance=operation.importance,
        origin=origin,
    )


def _words_of_others(state: State, message: SourceMessage) -> list[str]:
    """Everything the model read that is not evidence, blocks injected into the user's message included."""
    injected = [message.content[span.start : span.end] for span in injected_spans(message.content)]
    spoken = [other.content for other in state.messages if other.role != "user"]
    return [*state.context, *spoken, *injected, *(memory.content for memory in state.memories)]
