"""Admission: from a proposed operation to a claim to be weighed, or to the reason it is not admitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from webapp.memories.rules.grounding import find_quote, has_substance, injected_spans, is_borrowed
from webapp.memories.rules.keyed import reworded
from webapp.memories.rules.keys import canonical_fact_key, category_of
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.likeness import cosine
from webapp.memories.rules.operations import Action, MemoryOperation
from webapp.memories.rules.policy import Policy
from webapp.memories.rules.screening import find_secret
from webapp.memories.rules.soundness import Fit, fit, is_said, names_unsaid, narrowed, telling
from webapp.memories.rules.speech import Speech, is_one_off, names_language, sentence_around, speech_of, with_whom
from webapp.memories.rules.state import Draft, Evidence, KnownMemory, MemoryRef, Origin, SourceMessage, State
from webapp.memories.rules.turning import governed, is_longing
from webapp.text.canonical import canonical_statement, plain_text
from webapp.text.quotes import Span
from webapp.text.words import stems, words


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
    QUESTION = "question"
    SUPPOSED = "supposed"
    JOKE = "joke"
    OF_OTHERS = "about_somebody_else"
    PASTED = "pasted_text"
    PASSING = "passing"
    UNKNOWN_MEMORY = "unknown_memory"
    OLDER = "older_than_known"
    WEAKER = "weaker_than_known"
    KNOWN = "already_known"


@dataclass(frozen=True)
class Claim:
    """A grounded, credible statement (or retraction) of the user's, with the memory it was aimed at.

    `may_be_quoted`: the user's own words may become a memory, since they were not forgotten. `is_doubtful`: as far as
    words can tell, it does not say what its quote says, and waits for the user. `sentence` is the one that contains the
    quote.
    """

    index: int
    action: Action
    draft: Draft
    evidence: Evidence
    target: MemoryRef | None
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)
    may_be_quoted: bool = True
    is_doubtful: bool = False
    sentence: str = ""

    @property
    def order(self) -> tuple[Any, ...]:
        """A total order by what is claimed and when it was said, so that the order of operations does not matter."""
        draft = self.draft
        return (
            self.evidence.moment,
            draft.memory_type != MemoryType.INSTRUCTION,
            list(Action).index(self.action),
            draft.slot or "",
            draft.value,
            canonical_statement(draft.content),
            -draft.confidence,
            -draft.importance,
            self.target or 0,
            draft.memory_type,
            draft.content,
            draft.fact_value or "",
            draft.category or "",
            self.evidence.end,
        )


_NO_EVIDENCE = {
    Speech.ASKED: Refusal.QUESTION,
    Speech.SUPPOSED: Refusal.SUPPOSED,
    Speech.JOKED: Refusal.JOKE,
    Speech.REPORTED: Refusal.OF_OTHERS,
    Speech.OF_OTHERS: Refusal.OF_OTHERS,
    Speech.PASTED: Refusal.PASTED,
    Speech.PASSING: Refusal.PASSING,
}


def admit(
    index: int, operation: MemoryOperation, state: State, policy: Policy, origin: Origin = "extraction"
) -> Claim | Refusal:
    """Check one operation on its own: the quote and how it is meant, confidence, importance, secrets and tombstones.

    Errors of form are forgiven: a quote from another message than the one named, a number without a memory, a key that
    does not match its value. A statement that shares no telling word with its quote waits for the user.
    """
    retracts = operation.action is Action.RETRACT
    place = place_of(operation, state.messages, origin)
    if isinstance(place, Refusal):
        return place
    message, span = place
    quote = message.content[span.start : span.end]
    if not has_substance(quote, message.content):
        return Refusal.TOO_SLIGHT
    if not policy.is_credible(operation.confidence):
        return Refusal.UNSURE
    if not retracts and not policy.is_worthwhile(operation.importance):
        return Refusal.UNIMPORTANT
    if origin == "extraction" and (refusal := _refused_as_said(operation, span, message, policy)):
        return refusal

    target = _target(operation, state)
    action = operation.action
    if operation.memory_number is not None and target is None and action is not Action.ADD:
        if retracts:
            return Refusal.UNKNOWN_MEMORY
        action = Action.ADD
    if target is not None and not retracts and origin == "extraction" and target.slot and is_longing(quote):
        action, target = Action.ADD, None  # a wish replaces nothing
    unrelated = target is not None and origin == "extraction" and not _is_related(operation, target, state, policy)
    if unrelated and not retracts:
        # A number chosen at random must not cost the memory that has it.
        action, target = Action.ADD, None
    draft = _draft(operation, quote, target, origin)
    if find_secret(draft.content, draft.fact_value, draft.fact_key, draft.category, quote):
        return Refusal.SECRET
    if not retracts and is_borrowed(draft.content, message.content, _words_of_others(state, message)):
        return Refusal.BORROWED
    if state.is_forgotten(draft.content, draft.fact_key, draft.fact_value, quote):
        return Refusal.FORGOTTEN
    return Claim(
        index=index,
        action=action,
        draft=draft,
        evidence=Evidence(message.message_id, quote, span.start, span.end, message.said_at),
        target=target.ref if target else None,
        embedding=state.embeddings.get(draft.content),
        may_be_quoted=not state.is_forgotten(quote, None, None, None),
        is_doubtful=unrelated
        if retracts
        else origin == "extraction"
        and (
            fit(draft.content, quote) is Fit.FOREIGN
            or (policy.about_the_user and _invents(draft.content, quote, state))
        ),
        sentence=sentence_around(span, message.content),
    )


def _invents(content: str, quote: str, state: State) -> bool:
    """Whether a statement made from an English quote names somebody or something nobody has mentioned."""
    texts = [*(m.content for m in state.messages), *state.context, *(m.content for m in state.memories)]
    return bool(names_unsaid(content, quote, texts))


def place_of(
    operation: MemoryOperation, messages: Sequence[SourceMessage], origin: Origin
) -> tuple[SourceMessage, Span] | Refusal:
    """Where the quote is: in the named message, or in the only one that contains it; only the part that says it."""
    named = next((message for message in messages if message.number == operation.message_number), None)
    own = {message.message_id: message for message in reversed(messages) if message.role == "user"}.values()
    found = [(message, span) for message in own if (span := find_quote(operation.quote, message.content))]
    place = next(((m, span) for m, span in found if named is not None and m.message_id == named.message_id), None)
    if place is None and len(found) == 1:
        place = found[0]
    if place is None:
        if named is None:
            return Refusal.UNKNOWN_MESSAGE
        return Refusal.NOT_THE_USER if named.role != "user" else Refusal.NOT_VERBATIM
    message, span = place
    if origin == "extraction" and operation.action is not Action.RETRACT:
        words_said = message.content[span.start : span.end]
        if (
            fit(operation.content, words_said) is Fit.FOREIGN
            and (said := find_quote(operation.content, message.content))
            and speech_of(said, message.content) is Speech.TOLD
        ):
            span = said  # the user said the statement itself elsewhere in the same message
        span = governed(narrowed(span, message.content, operation.content), message.content)
        span = with_whom(span, message.content, operation.content)
    return message, span


def _refused_as_said(operation: MemoryOperation, span: Span, message: SourceMessage, policy: Policy) -> Refusal | None:
    """Why the words are not evidence about the user, even if quoted exactly."""
    refusal = _NO_EVIDENCE.get(speech_of(span, message.content))
    if refusal is Refusal.OF_OTHERS and not policy.about_the_user:
        refusal = None
    if refusal is None and operation.memory_type is MemoryType.INSTRUCTION and is_one_off(span, message.content):
        return Refusal.PASSING
    return refusal


def _target(operation: MemoryOperation, state: State) -> KnownMemory | None:
    if operation.memory_number is None or operation.action is Action.ADD:
        return None
    ref = state.numbered.get(operation.memory_number)
    return next((memory for memory in state.memories if memory.ref == ref), None) if ref is not None else None


def _is_related(operation: MemoryOperation, target: KnownMemory, state: State, policy: Policy) -> bool:
    """Whether an operation can be about the memory it names; an update must keep most of what that says."""
    key = canonical_fact_key(operation.fact_key, operation.category)
    if key is not None and key == target.slot:
        return True
    said = set(stems(words(f"{operation.content} {operation.quote}")))
    known = telling(target.content)
    shared = sum(is_said(term, said) for term in known)
    if target.memory_type == MemoryType.INSTRUCTION == operation.memory_type and (
        names_language(target.content) and names_language(f"{operation.content} {operation.quote}")
    ):
        return True  # each names a language to answer in, a different one
    similarity = cosine(target.embedding, state.embeddings.get(operation.content))
    if operation.action is Action.UPDATE:
        return 2 * shared >= len(known) or similarity >= 2 * policy.related_similarity
    return bool(shared) or similarity >= policy.related_similarity


def _draft(operation: MemoryOperation, quote: str, target: KnownMemory | None, origin: Origin) -> Draft:
    """What a claim says; a sound operation is unchanged, so that doing this twice changes nothing."""
    sounder = reworded(operation, quote, target.slot if target else None) if origin == "extraction" else operation
    key = canonical_fact_key(sounder.fact_key, sounder.category)
    if key is None and target is not None and operation.action is not Action.RETRACT and operation.fact_key is None:
        # An update of a keyed fact is about that fact, whether or not the model repeats the key.
        key = target.slot
    return Draft(
        memory_type=sounder.memory_type.value,
        content=sounder.content or plain_text(quote),
        category=category_of(key, sounder.category),
        fact_key=key,
        fact_value=sounder.fact_value if key else None,
        confidence=operation.confidence,
        importance=operation.importance,
        origin=origin,
    )


def sound(
    operation: MemoryOperation, messages: Sequence[SourceMessage], keys: Mapping[int, str] | None = None
) -> MemoryOperation:
    """An extracted operation as it will be weighed, so that what is searched for and embedded before is what is stored.

    `keys` are the keys of the known memories, by their numbers in the call.
    """
    place = place_of(operation, messages, "extraction")
    if isinstance(place, Refusal):
        return operation
    message, span = place
    known_key = (keys or {}).get(operation.memory_number or 0)
    return reworded(operation, message.content[span.start : span.end], known_key)


def _words_of_others(state: State, message: SourceMessage) -> list[str]:
    """Everything the model read that is not evidence, including blocks injected into the user's message."""
    injected = [message.content[span.start : span.end] for span in injected_spans(message.content)]
    spoken = [other.content for other in state.messages if other.role != "user"]
    return [*state.context, *spoken, *injected, *(memory.content for memory in state.memories)]
