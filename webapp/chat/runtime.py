"""The turn machinery of a process, made with the application and started when first used."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from flask import Flask, current_app
from redis.exceptions import RedisError

from webapp.chat import turnlog
from webapp.chat.hub import Hub
from webapp.chat.runner import TurnRunner
from webapp.config import Settings
from webapp.extensions import make_redis, redis
from webapp.memories.keeping.forgetting import texts_removed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChatRuntime:
    """The runner of this process's turns and the reader of the streams it shows."""

    runner: TurnRunner
    hub: Hub


def init_chat(app: Flask, settings: Settings) -> None:
    """Make the runtime of an application; no thread and no connection yet."""
    texts_removed.connect(_drop_streams)
    hub = Hub(app.extensions["redis"], make_redis(settings.redis_url, tailing=True))
    app.extensions["chat"] = ChatRuntime(TurnRunner(app, settings, app.extensions["chat_client"], hub), hub)


def _drop_streams(_sender: None, message_ids: list[int]) -> None:
    """Drop the streams of replies that held a forgotten text; their readers go on from the tables."""
    try:
        redis().delete(*map(turnlog.log_key, message_ids))
    except RedisError as error:
        log.warning("streams with a forgotten text lapse by themselves", extra={"error": type(error).__name__})


def runtime() -> ChatRuntime:
    """The runtime of the current application."""
    return current_app.extensions["chat"]
