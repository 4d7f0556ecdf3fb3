"""The turn machinery of a process, created with the application and started on first use."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from flask import Flask
from redis.exceptions import RedisError
from sqlalchemy import Select, select

from webapp.accounts.signals import account_closed, account_deleted
from webapp.chat.turns import turnlog
from webapp.chat.turns.read_ahead import ReadAhead
from webapp.chat.turns.runner import TurnRunner
from webapp.chat.turns.stream_hub import Hub
from webapp.config import Settings
from webapp.conversations.models import Conversation, Message
from webapp.conversations.signals import conversation_deleted
from webapp.db.base import after_commit, db
from webapp.extensions import Part, make_redis, redis
from webapp.memories.store.forgetting import drop_streams, texts_removed
from webapp.providers.clients import chat_client

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChatRuntime:
    """The runner of this process's turns, the reader of the streams it shows, and what keeps up with memory."""

    runner: TurnRunner
    hub: Hub
    keeping_up: ReadAhead


runtime: Part[ChatRuntime] = Part("chat")


def init_chat(app: Flask, settings: Settings) -> None:
    """Create the runtime of an application; no thread and no connection yet."""
    listening = make_redis(settings.redis_url, tailing=True)
    hub = Hub(redis.of(app), listening)
    runner = TurnRunner(app, settings, chat_client.of(app), hub)
    runtime.put(app, ChatRuntime(runner, hub, ReadAhead(app, listening, lambda: runner.has_spare_time)))


@account_closed.connect
def _stop_turns(_sender: None, *, user_id: int) -> None:
    """Ask the running replies of an account that has gone out of use to stop, once that is committed."""
    running = select(Message.message_id).join(Conversation, Conversation.conversation_id == Message.conversation_id)
    statement = running.where(Conversation.user_id == user_id, Message.status == "streaming")
    after_commit(partial(ask_to_stop, db.session.scalars(statement).all()))


def ask_to_stop(turn_ids: Sequence[int]) -> None:
    """Ask for replies to stop; while Redis is away they are written to their ends."""
    try:
        for turn_id in turn_ids:
            turnlog.request_stop(redis(), turn_id)
    except RedisError as error:
        log.warning("replies go on: redis away", extra={"error": type(error).__name__})


@conversation_deleted.connect
def _drop_streams_of(_sender: None, *, conversation: Conversation, forget: bool) -> None:
    drop_streams_in([conversation.conversation_id])


@account_deleted.connect
def _drop_streams_of_account(_sender: None, *, user_id: int) -> None:
    drop_streams_in(select(Conversation.conversation_id).where(Conversation.user_id == user_id))


def drop_streams_in(conversation_ids: Sequence[int] | Select[int]) -> None:
    """Drop the streams of the replies in conversations that go for good, once that is committed."""
    replies = select(Message.message_id).where(Message.conversation_id.in_(conversation_ids))
    drop_streams(db.session.scalars(replies.where(Message.role == "assistant")).all())


@texts_removed.connect
def _drop_streams(_sender: None, message_ids: list[int]) -> None:
    """Drop the streams of replies that contained forgotten text; their readers continue from the tables."""
    try:
        redis().delete(*map(turnlog.log_key, message_ids))
    except RedisError as error:
        log.warning("streams with a forgotten text lapse by themselves", extra={"error": type(error).__name__})
