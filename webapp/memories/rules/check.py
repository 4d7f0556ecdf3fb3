"""Checks of a proposed change: where its quote stands, and what its words are; never what they mean."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from webapp.memories.rules.evidence import find_quote, has_substance, label_and_quote, own_sentence
from webapp.memories.rules.grounding import (
    adds_from,
    is_grounded,
    is_others_words,
    keeps_names_and_numbers,
    states_what_is_asked,
)
from webapp.memories.rules.kinds import CONTENT_MAX, MemoryType, canonical_fact_key, category_of
from webapp.memories.rules.operations import Action, MemoryOperation
from webapp.memories.rules.policy import MIN_CONFIDENCE, MIN_IMPORTANCE, USABLE_AT, at_least
from webapp.memories.rules.secrets import find_secret
from webapp.memories.rules.state import Draft, Evidence, KnownMemory, MemoryRef, Origin, SourceMessage, State
from webapp.text.canonical import canonical_statement, plain_text
from webapp.text.provenance import blank_out, carry_spans, forgotten_in, overlaps_any
from webapp.text.quotes import Span
from webapp.text.words import terms_of

_A_DAY = timedelta(days=1)
"""Dates are the user's, the times of messages are not: what ended before something was said is part of what it says."""


class Refusal(StrEnum):
    """The reason why an operation had no effect."""

    UNKNOWN_MESSAGE = "unknown_message"
    NOT_THE_USER = "not_the_user"
    NOT_VERBATIM = "quote_not_verbatim"
    PASTED = "pasted_text"
    TOO_SLIGHT = "quote_too_slight"
    TOO_LONG = "sentence_too_long"
    QUESTION = "question"
    SECRET = "secret"
    UNSURE = "low_confidence"
    UNIMPORTANT = "low_importance"
    FORGOTTEN = "forgotten"
    UNKNOWN_MEMORY = "unknown_memory"
    OLDER = "older_than_known"
    KNOWN = "already_known"


@dataclass(frozen=True)
class Claim:
    """A grounded statement (or retraction) of the user's, with the memory it was aimed at.

    `may_be_quoted`: the user's own words may become a memory, since they were not forgotten. `is_doubtful`: it waits
    for the user. `is_trusted` as in the State, or its words were put in the place of others by the user.
    """

    index: int
    action: Action
    draft: Draft
    evidence: Evidence
    target: MemoryRef | None
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)
    may_be_quoted: bool = True
    is_doubtful: bool = False
    is_trusted: bool = False

    @cached_property
    def form(self) -> str:
        """Return the statement as statements are compared."""
        return canonical_statement(self.draft.content)

    @property
    def is_usable(self) -> bool:
        """Return whether the claim may be used without asking the user."""
        return at_least(self.draft.confidence, USABLE_AT) and not self.is_doubtful

    @property
    def order(self) -> tuple[Any, ...]:
        """Return a total order by claim and time, so that the order of operations does not matter."""
        draft = self.draft
        return (
            self.evidence.moment,
            draft.memory_type != MemoryType.INSTRUCTION,
            list(Action).index(self.action),
            draft.slot or "",
            draft.value,
            self.form,
            -draft.confidence,
            -draft.importance,
            self.target or 0,
            draft.memory_type,
            draft.content,
            draft.fact_value or "",
            draft.category or "",
            self.evidence.end,
        )


def check(index: int, operation: MemoryOperation, state: State, origin: Origin = "extraction") -> Claim | Refusal:
    """Check one operation by itself: its quote and wording, confidence, importance, secrets and tombstones.

    Errors of form are forgiven: a quote from another message than the one named, a number without a memory, a key that
    does not match its value. A wording that only others' words explain waits for the user.
    """
    retracts = operation.action is Action.RETRACT
    place = place_of(operation, state.messages)
    if isinstance(place, Refusal):
        return place
    message, span = place
    quote = message.content[span.start : span.end]
    if not has_substance(quote, message.content) and not any(char.isdigit() for char in quote):
        return Refusal.TOO_SLIGHT
    if not at_least(operation.confidence, MIN_CONFIDENCE):
        return Refusal.UNSURE
    if not retracts and not at_least(operation.importance, MIN_IMPORTANCE):
        return Refusal.UNIMPORTANT
    content = memory_wording(operation, place, state)
    if isinstance(content, Refusal):
        return content
    own_words = "" if state.is_trusted else content
    if _is_secret(operation, content, label_and_quote(span, message.content), own_words or quote, state):
        return Refusal.SECRET

    edited = _edited_memory(content, message, span, state) if operation.action is Action.ADD else None
    target = edited or _target(operation, state)
    action = operation.action if edited is None else Action.SUPERSEDE
    if operation.memory_number is not None and target is None and action is not Action.ADD:
        if retracts:
            return Refusal.UNKNOWN_MEMORY
        action = Action.ADD
    draft = _draft(operation, content, message, target if state.is_trusted else None, origin)
    if edited and not state.is_trusted and draft.slot != (edited.slot if edited.is_current else None):
        draft = replace(draft, fact_key=None, fact_value=None)  # it replaces this memory, not what has the key
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
        is_doubtful=not retracts and state.is_trusted and (state.is_tainted or _comes_from_others(content, state)),
        is_trusted=state.is_trusted or edited is not None,
    )


def place_of(operation: MemoryOperation, messages: Sequence[SourceMessage]) -> tuple[SourceMessage, Span] | Refusal:
    """Return where the quote stands: in the named message, or in the only one that contains it."""
    source = next((message for message in messages if message.number == operation.message_number), None)
    user_messages = {message.message_id: message for message in reversed(messages) if message.role == "user"}.values()
    matches = [(m, span) for m in user_messages if (span := find_quote(operation.quote, m.content, m.others))]
    place = next(((m, span) for m, span in matches if source is not None and m.message_id == source.message_id), None)
    if place is None and len(matches) == 1:
        place = matches[0]
    if place is not None:
        return place
    if not matches:
        outside = [(m, span) for m in user_messages if (span := find_quote(operation.quote, m.content))]
        if outside:
            is_forgotten = any(overlaps_any(span, forgotten_in(message.spans)) for message, span in outside)
            return Refusal.FORGOTTEN if is_forgotten else Refusal.PASTED
    if source is None:
        return Refusal.UNKNOWN_MESSAGE
    return Refusal.NOT_THE_USER if source.role != "user" else Refusal.NOT_VERBATIM


def memory_wording(operation: MemoryOperation, place: tuple[SourceMessage, Span], state: State) -> str | Refusal:
    """Return what the memory would say: a trusted model's rewording, or else the user's own sentence.

    A rewording needs its names and numbers in the message, or waits as others' words; else the quote is used. The
    user's sentence keeps its "not", "if" and "maybe".
    """
    message, span = place
    quote = message.content[span.start : span.end]
    if state.is_trusted:
        keeps_all = keeps_names_and_numbers(operation.content, [typed_text(message), state.subject], message.said_at)
        if keeps_all or state.is_tainted or _comes_from_others(operation.content, state):
            return operation.content
        return plain_text(quote)[:CONTENT_MAX]
    sentence = plain_text(own_sentence(span, message.content, message.others))
    if not sentence or states_what_is_asked(operation.content, quote, sentence):
        return Refusal.QUESTION
    return sentence if len(sentence) <= CONTENT_MAX else Refusal.TOO_LONG


def as_stored(operation: MemoryOperation, state: State) -> MemoryOperation:
    """Return an operation as it would be stored, so that this is what is searched for and embedded before."""
    place = place_of(operation, state.messages)
    content = place if isinstance(place, Refusal) else memory_wording(operation, place, state)
    return operation if isinstance(content, Refusal) else operation.model_copy(update={"content": content})


def _is_secret(operation: MemoryOperation, content: str, quote: str, user_text: str, state: State) -> bool:
    """Return whether something has the shape of a secret, or stands with what the model itself called one."""
    if find_secret(content, operation.content, operation.fact_value, operation.fact_key, operation.category, quote):
        return True
    context = canonical_statement(user_text)
    secrets = filter(None, map(canonical_statement, state.secrets))
    return any(secret in context or context in secret for secret in secrets)


def _comes_from_others(content: str, state: State) -> bool:
    """Return whether only others' words explain a statement, or whether it adds to the user's what foreign ones say."""
    user_text = [typed_text(message) for message in state.messages if message.role == "user"]
    texts = [text for message in state.messages for text in _words_of_others(message)]
    return is_others_words(content, user_text, [*state.context, *texts]) or adds_from(content, user_text, state.foreign)


def typed_text(message: SourceMessage) -> str:
    """Return what the author of a message typed, with blanks in place of the rest."""
    return blank_out(message.content, message.others)


def _words_of_others(message: SourceMessage) -> list[str]:
    """Return the words of a message that its author, if that is the user, did not type."""
    if message.role != "user":
        return [message.content]
    return [message.content[span.start : span.end] for span in message.others]


def _target(operation: MemoryOperation, state: State) -> KnownMemory | None:
    if operation.memory_number is None or operation.action is Action.ADD:
        return None
    ref = state.numbered.get(operation.memory_number)
    return next((memory for memory in state.memories if memory.ref == ref), None) if ref is not None else None


def _edited_memory(content: str, message: SourceMessage, span: Span, state: State) -> KnownMemory | None:
    """Return the memory whose source words the author edited into this span; None if the span replaced none.

    Of several, the one most similar to the content is returned.
    """
    said = set(terms_of(content))
    found = [
        (len(said.intersection(terms_of(memory.content))), memory)
        for memory in state.memories
        if memory.is_open and overlaps_any(span, places_instead(memory, message) or ())
    ]
    return max(found, key=lambda item: item[0])[1] if found else None


def places_instead(memory: KnownMemory, message: SourceMessage) -> list[Span] | None:
    """Return what stands, perhaps nothing, where a memory's words stood; None if the author did not take them out."""
    places: list[Span] | None = None
    for message_id, before in message.previous:
        quotes = [item for item in memory.evidence if item.message_id == message_id]
        spans = [(item.start, item.end, "") for item in quotes if find_quote(item.quote, message.content) is None]
        if not spans:
            continue
        gone = set(terms_of(before)) - set(terms_of(message.content))
        # What a model worded may be about the part of the sentence that stayed.
        if not gone.isdisjoint(terms_of(memory.content)) or find_quote(memory.content, before) is not None:
            carried = carry_spans(before, message.content, spans)
            places = [*(places or ()), *(Span(start, end) for start, end, _ in carried)]
    return places


def rests_on_nothing(memory: KnownMemory, message: SourceMessage) -> bool:
    """Return whether the author of a message took out all that an open memory rests on, and put nothing instead."""
    is_gone = all(
        item.message_id in message.versions and find_quote(item.quote, message.content) is None
        for item in memory.evidence
    )
    is_asserted = memory.is_protected or memory.asserted_at is not None
    may_end = memory.is_open and not memory.is_archived and not is_asserted
    return may_end and is_gone and places_instead(memory, message) is not None


def stands_in(memory: KnownMemory, message: SourceMessage) -> bool:
    """Return whether a message holds words that a memory rests on."""
    return any(item.message_id == message.message_id for item in memory.evidence)


def _draft(
    operation: MemoryOperation, content: str, message: SourceMessage, target: KnownMemory | None, origin: Origin
) -> Draft:
    key = canonical_fact_key(operation.fact_key, operation.category)
    if key is not None and not is_grounded(operation.fact_value, typed_text(message)):
        key = None
    if key is None and target is not None and operation.action is not Action.RETRACT and operation.fact_key is None:
        # An update of a keyed fact is about that fact, whether or not the model repeats the key.
        key = target.slot
    return Draft(
        memory_type=operation.memory_type.value,
        content=content or plain_text(operation.quote)[:CONTENT_MAX],
        category=category_of(key, operation.category),
        fact_key=key,
        fact_value=operation.fact_value if key else None,
        until=operation.until if operation.until and operation.until >= message.said_at.date() - _A_DAY else None,
        confidence=operation.confidence,
        importance=operation.importance,
        origin=origin,
    )
