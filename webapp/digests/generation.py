"""Digests made by the model: read, ask with nothing held, store in one transaction."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from webapp.accounts.service import get_user
from webapp.background.queues import enqueue_or_find
from webapp.conversations.current_messages import current
from webapp.conversations.messages import messages_lost
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise, write_transaction
from webapp.digests import service
from webapp.digests.models import ConversationMemoryVersion
from webapp.digests.redaction import without_forgotten
from webapp.digests.schemas import ConversationMemoryData, ModelDigest
from webapp.errors import Conflict, DomainError, OutOfDate, Unavailable
from webapp.extensions import app_settings
from webapp.llm.errors import ModelError
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.store.tombstones import tombstone_set, watch
from webapp.prompts import service as prompts
from webapp.prompts.placeholders import fill
from webapp.prompts.transcript import transcript
from webapp.providers.clients import completions

log = logging.getLogger(__name__)

SCHEMA_NAME = "conversation_digest"
TRANSCRIPT_TOKENS = 8_000
TRIES = 2
ANSWER_TOKENS = 1_000
_READABLE = ("complete", "stopped", "interrupted")


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a digest: the messages of the call, what was said by message, the state of the conversation then,
    and the version before it."""

    messages: list[dict[str, str]]
    as_of: datetime
    version: int
    prompt_version: str
    texts: dict[int, str]
    still_holds: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class GenerationResult:
    """The result of making a digest; `version` is None if the conversation is gone or memory is off."""

    conversation_id: int
    version: int | None
    is_new: bool


def generate(conversation_id: int) -> GenerationResult:
    """Make a conversation's digest anew by one model call, unless somebody else writes one. Raises ModelError.

    Does nothing for a conversation that is gone, empty, temporary or without memory.
    """
    for _ in range(TRIES):
        source = _read(conversation_id)
        db.session.remove()
        if source is None:
            return GenerationResult(conversation_id, None, False)
        if (version := _generate(conversation_id, source)) is not None:
            return version
    raise OutOfDate


def _generate(conversation_id: int, source: Source) -> GenerationResult | None:
    """Ask and store; None if what was read has since been forgotten or is no longer shared."""
    data, model = ConversationMemoryData(main_topics=[], action=[], typical_observation=""), None
    if source.texts:
        answer, completion = completions().complete_structured(
            source.messages, ModelDigest, SCHEMA_NAME, max_tokens=ANSWER_TOKENS
        )
        data, model = answer.tidy(), completion.model
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
        if conversation is None or not memory_is_on(conversation):
            return GenerationResult(conversation_id, None, False)
        if not source.still_holds() or messages_lost(source.texts):
            log.info("digest not kept: what it tells was forgotten", extra={"conversation_id": conversation_id})
            return None
        current = service.find_digest(conversation_id)
        before = current.version if current else 0
        if before != source.version:
            log.info("digest written by somebody else meanwhile", extra={"conversation_id": conversation_id})
            return GenerationResult(conversation_id, before, False)
        data = without_forgotten(conversation.user_id, data)
        row = service.write(
            conversation, data, source="model", as_of=source.as_of, model=model, prompt_version=source.prompt_version
        )
        return GenerationResult(conversation_id, row.version, row.version != before)


def generate_now(conversation_id: int) -> GenerationResult:
    """Make a digest for somebody who is waiting. Raises NotFound, Conflict if memory is off, Unavailable."""
    db.session.rollback()
    try:
        digest = generate(conversation_id)
    except ModelError as error:
        raise Unavailable(error.detail) from None
    if digest.version is None:
        service.existing_conversation(conversation_id)
        raise Conflict("Memory is switched off for this conversation, so it has no digest.")
    return digest


def prompt_messages(conversation_id: int, text: str) -> list[dict[str, str]]:
    """Return what would be sent for a conversation's digest with this prompt."""
    said, _ = _conversation(get_or_raise(Conversation, conversation_id))
    return [{"role": "user", "content": fill(text, texts={"CONVERSATION": said})}]


def _read(conversation_id: int) -> Source | None:
    conversation = db.session.get(Conversation, conversation_id)
    if conversation is None or not memory_is_on(conversation):
        return None
    prompt = prompts.active("digests")
    still_holds = watch(conversation.user_id)
    text, texts = _conversation(conversation)
    digest = service.find_digest(conversation_id)
    return Source(
        messages=[{"role": "user", "content": fill(prompt.text, texts={"CONVERSATION": text})}],
        as_of=conversation.updated_at,
        version=digest.version if digest else 0,
        prompt_version=prompt.label,
        texts=texts,
        still_holds=still_holds,
    )


def _conversation(conversation: Conversation) -> tuple[str, dict[int, str]]:
    """Return the conversation as the prompt shows it, with its digest if there is one, and what was said by message."""
    messages = select(Message).where(current(conversation.conversation_id), Message.status.in_(_READABLE))
    rows = [row for row in db.session.scalars(messages.order_by(Message.message_id)) if row.content.strip()]
    texts = {row.message_id: row.content for row in rows}
    shown = tombstone_set(conversation.user_id).without_quotes
    text = transcript([(row.role, shown(row.content, row.provenance)) for row in rows], TRANSCRIPT_TOKENS)
    digest = service.find_digest(conversation.conversation_id)
    if digest is not None:
        source = db.session.scalar(
            select(ConversationMemoryVersion.source).where(
                ConversationMemoryVersion.conversation_memory_id == digest.id,
                ConversationMemoryVersion.version == digest.version,
            )
        )
        attribution = " as corrected by the user" if source == "user" else ""
        earlier = json.dumps(digest.memory_data, ensure_ascii=False).replace("<", "\\u003c")
        text = f"Earlier digest{attribution}: {earlier}\n\n{text}"
    return text, texts


MAX_PER_RUN = 10_000
"""The most conversations in one run; the next run continues with what is left."""


def _choose(user_id: int | None, *, clamp: int = -1, **filters: bool) -> list[int]:
    """Return the conversations to digest, at most `clamp` unless that is -1. Raises NotFound for an unknown user."""
    if user_id is not None:
        get_user(user_id)
    idle = timedelta(minutes=app_settings().digest_idle_minutes)
    limit = MAX_PER_RUN if clamp < 0 else min(clamp, MAX_PER_RUN)
    return service.conversations_to_digest(user_id, idle=idle, limit=limit, **filters)


def queue_digests(user_id: int | None, **filters: Any) -> dict[str, list[int] | list[str]]:
    """Queue a job for each chosen conversation; returns their ids and those of the jobs."""
    selection = _choose(user_id, **filters)
    db.session.rollback()
    jobs = [enqueue_or_find("digest", conversation_id=conversation_id) for conversation_id in selection]
    return {"conversation_ids": selection, "job_ids": jobs}


def make_digests(user_id: int | None, **filters: Any) -> dict[str, list[int]]:
    """Make the digest of each chosen conversation now; returns those made and those that failed."""
    selection = _choose(user_id, **filters)
    ids: list[int] = []
    failed: list[int] = []
    for conversation_id in selection:
        try:
            generate_now(conversation_id)
            ids.append(conversation_id)
        except DomainError as error:
            log.warning("digest failed", extra={"conversation_id": conversation_id, "error": error.title})
            failed.append(conversation_id)
    return {"conversation_ids": ids, "failed": failed}
