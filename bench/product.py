"""The application in the benchmark's own process, with its own database and Redis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flask import Flask
from flask_migrate import upgrade

from fakemodel.testing import ServerHandle, serve_in_thread
from fakemodel.wire import CHAT_MODEL, EMBEDDING_MODEL
from testkit.counting_client import CountingClient
from testkit.servers import Servers, test_servers
from webapp import create_app
from webapp.accounts.models import User
from webapp.config import Settings
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import add_row, write_transaction


def application(servers: Servers, **call_options: object) -> Flask:
    """The application on these servers, with its tables."""
    values: dict[str, Any] = {
        "var_dir": servers.directory,
        "database_url": servers.database_url,
        "redis_url": servers.redis_url,
        "secret_key": "only for benchmarks, and long enough",
        "log_level": "WARNING",
    }
    app = create_app(Settings(**(values | call_options)))
    with app.app_context():
        upgrade()
    return app


@contextmanager
def product(**call_options: object) -> Iterator[Flask]:
    """The application with the packaged embedding model in this process, unless `call_options` say otherwise."""
    with test_servers() as servers:
        # The model may be cold when the first question arrives; the tables show how long it takes.
        yield application(servers, **({"embedder": "local", "embedding_query_seconds": 5.0} | call_options))


def add_user(email: str) -> int:
    """Create an account; returns its id."""
    with write_transaction():
        return add_row(User(email=email, name="", password_hash="-")).user_id


def add_conversation(user_id: int, rows: Sequence[Message]) -> Conversation:
    """Create a conversation with these messages, if any, as an import does. The caller commits."""
    conversation: Conversation = create_conversation(user_id, NewConversation())
    if rows:
        messages.add_past_messages(conversation, rows)
    return conversation


@contextmanager
def run_application(*, scripted: bool) -> Iterator[tuple[Flask, CountingClient, ServerHandle]]:
    """The application with a model server, its background calls counted; its replies are stopped at the end."""
    with test_servers() as servers, serve_in_thread(scripted=scripted) as model:
        app = application(
            servers,
            log_level="ERROR",
            rate_limits=False,
            openai_base_url=model.base_url,
            openai_api_key="bench",
            chat_model=CHAT_MODEL,
            background_model=CHAT_MODEL,
            embedding_model=EMBEDDING_MODEL,
        )
        app.testing = True
        counting = app.extensions["completions"] = CountingClient(app.extensions["completions"])
        yield app, counting, model
        app.extensions["chat"].runner.drain(5)
