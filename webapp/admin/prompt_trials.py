"""Trying a prompt before it is used: what would be sent for a real conversation, and a stored reply generated again."""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from flask import Flask
from sqlalchemy import select

from webapp.accounts.models import User
from webapp.chat.context.composition import compose
from webapp.chat.context.values import BudgetTooSmall, Chunk, Message as ContextMessage
from webapp.config import Settings
from webapp.conversations.current_messages import with_last_answers
from webapp.conversations.messages import current_messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise
from webapp.digests.generation import prompt_messages
from webapp.digests.service import existing_conversation
from webapp.errors import Conflict, NotFound
from webapp.extensions import this_app
from webapp.files.drawing import pictures_as_notes
from webapp.llm.background import BackgroundClient
from webapp.llm.errors import ModelError
from webapp.prompts import service as prompts
from webapp.prompts.values import fill_for
from webapp.providers.clients import completions
from webapp.summaries.service import chunks_of
from webapp.text.tokens import estimate_tokens

log = logging.getLogger(__name__)

RECENT = 12


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview of a request: chat messages and their tokens. `note` says what is added that cannot be shown here."""

    conversation_id: int
    title: str | None
    messages: list[dict[str, Any]]
    tokens: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that was made for comparison, or why there is none."""

    version: int
    text: str = ""
    model: str = ""
    seconds: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Replay:
    """One stored reply, generated again with each version."""

    conversation_id: int
    message_id: int
    asked: str
    stored: str
    stored_version: str | None
    replies: Sequence[Reply]


def recent_conversations(user_id: int) -> Sequence[Conversation]:
    """Return the admin's own conversations to choose from."""
    return db.session.scalars(
        select(Conversation)
        .where(Conversation.user_id == user_id, Conversation.deleted_at.is_(None), Conversation.message_count > 0)
        .order_by(Conversation.updated_at.desc())
        .limit(RECENT)
    ).all()


def preview(name: str, text: str, conversation_id: int, settings: Settings) -> Preview:
    """Return what would be sent with this text as the prompt. Raises NotFound, Conflict."""
    conversation = existing_conversation(conversation_id)
    note = ""
    if name == "chat":
        rows = [
            ContextMessage(row.message_id, row.role, row.content, row.status)
            for row in with_last_answers(current_messages(conversation_id))
        ]
        last_question = max((place for place, row in enumerate(rows) if row.role == "user"), default=-1)
        title = conversation.title
        sent = _compose(conversation, rows[: last_question + 1], text, settings)
        return Preview(conversation_id, title, sent, _tokens(sent))
    if name == "digests":
        sent = prompt_messages(conversation_id, text)
    else:
        sent = [{"role": "system", "content": fill_for(conversation, text)}]
        note = "After it comes what the prompt is about, chosen when the work is done."
    return Preview(conversation_id, conversation.title, sent, _tokens(sent), note)


def replay(message_id: int, versions: Sequence[int], settings: Settings) -> Replay:
    """Generate a reply again with versions of the chat prompt, in parallel, with today's memory. Raises NotFound."""
    reply = find_reply(message_id)
    conversation_id, stored, stored_version = reply.conversation_id, reply.content, reply.prompt_version
    branch = _previous_messages(reply)
    texts = [(version, prompts.get_version("chat", version).prompt_text) for version in versions]
    prompted = [
        # retrieval may have released the conversation
        (version, _compose(existing_conversation(conversation_id), branch, text, settings))
        for version, text in texts
    ]
    client, app = completions(), this_app()
    db.session.remove()
    with ThreadPoolExecutor(len(prompted)) as pool:
        calls = [(app, client, version, prompt, settings.reply_tokens) for version, prompt in prompted]
        futures = [pool.submit(_answer, *call) for call in calls]
        replies = [future.result() for future in futures]
    asked = next((row.content for row in reversed(branch) if row.role == "user"), "")
    return Replay(conversation_id, message_id, asked, stored, stored_version, replies)


def find_reply(message_id: int) -> Message:
    """Anybody's stored reply. Raises NotFound."""
    row = db.session.get(Message, message_id)
    if row is None or row.role != "assistant" or not row.content:
        raise NotFound("There is no such reply.")
    return row


def _previous_messages(reply: Message) -> list[ContextMessage]:
    """Return the messages a reply followed, oldest first, even if some were edited since."""
    rows = {
        row.message_id: row
        for row in db.session.scalars(select(Message).where(Message.conversation_id == reply.conversation_id))
    }
    branch: list[Message] = []
    parent = rows.get(reply.parent_id or 0)
    while parent is not None and len(branch) < len(rows):
        branch.append(parent)
        parent = rows.get(parent.parent_id or 0)
    return [ContextMessage(row.message_id, row.role, row.content, row.status) for row in reversed(branch)]


def _compose(
    conversation: Conversation, messages: Sequence[ContextMessage], text: str, settings: Settings
) -> list[dict[str, Any]]:
    last = messages[-1].id if messages else 0
    chunks = [Chunk(*row) for row in chunks_of(conversation.conversation_id)]
    chunks = [chunk for chunk in chunks if chunk.end < last]
    summary_end = chunks[-1].end if chunks else 0
    history = [message for message in messages if message.id > summary_end]
    try:
        owner = get_or_raise(User, conversation.user_id)
        return pictures_as_notes(compose(conversation, owner, history, chunks, text, settings).context.messages)
    except BudgetTooSmall:
        raise Conflict("With this prompt the last message does not fit into what the model can read.") from None


def _tokens(messages: Sequence[dict[str, Any]]) -> int:
    return sum(estimate_tokens(message["content"]) for message in messages)


def _answer(
    app: Flask, client: BackgroundClient, version: int, messages: list[dict[str, Any]], max_tokens: int
) -> Reply:
    """Answer in another thread, which needs an application context to look up the chosen model."""
    start = time.perf_counter()
    try:
        with app.app_context():
            completion = client.complete_text(messages, model=client.settings.chat_model, max_tokens=max_tokens)
    except ModelError as error:
        log.info("replay failed", extra={"code": error.code})
        return Reply(version, error=error.detail)
    return Reply(
        version,
        completion.text,
        completion.model,
        round(time.perf_counter() - start, 1),
        completion.usage.prompt_tokens,
        completion.usage.completion_tokens,
    )
