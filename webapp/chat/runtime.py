"""The turn machinery of a process, made with the application and started when first used."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Flask, current_app

from webapp.chat.hub import Hub
from webapp.chat.runner import TurnRunner
from webapp.config import Settings
from webapp.extensions import make_redis


@dataclass(frozen=True)
class ChatRuntime:
    """The runner of this process's turns and the reader of the streams it shows."""

    runner: TurnRunner
    hub: Hub


def init_chat(app: Flask, settings: Settings) -> None:
    """Make the runtime of an application; no thread and no connection yet."""
    app.extensions["chat"] = ChatRuntime(
        runner=TurnRunner(app, settings, app.extensions["chat_client"]),
        hub=Hub(app.extensions["redis"], make_redis(settings.redis_url, tailing=True)),
    )


def runtime() -> ChatRuntime:
    """The runtime of the current application."""
    return current_app.extensions["chat"]
