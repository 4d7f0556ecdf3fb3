"""The time to the first word when nobody else asks: the model server directly, a bare relay, and the product."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from sqlalchemy import select

from bench import load
from bench.report import percentile, table, verdict
from bench.stack import MODEL, Stack, run_stack
from testkit.memory_rows import fill_memories
from testkit.processes import end, free_port, spawn, wait_until
from webapp.accounts.models import User
from webapp.accounts.schemas import NewToken
from webapp.accounts.tokens import create_token
from webapp.db.base import add_row, db, write_transaction
from webapp.extensions import app_settings
from webapp.llm.embeddings import OpenAIEmbedder
from webapp.providers.catalogue import CACHE_SECONDS
from webapp.providers.schemas import NewConnection, OfferFields
from webapp.providers.service import create_connection

ALONE = 60
WARM_UP = 5
PAUSE = 0.15
MEMORIES = 10_000
"""How many memories the promises are made for."""
CONNECTIONS = 10

Before = Callable[[int], str]
"""Called before a turn, with its number; returns the token of the person asking."""


def first_tokens(database: str) -> bool:
    """Measure every case on one database; returns whether the promises held."""
    held = []
    with run_stack(database=database) as stack:
        connect(stack)
        strangers = people(stack, ALONE + WARM_UP)
        title = f"a new person each time, {CONNECTIONS} connections"
        held.append(_case(stack, title, database, lambda at: strangers[at]))
    with run_stack(database=database, worker=True) as stack:
        newcomers = people(stack, ALONE + WARM_UP)
        held.append(_case(stack, "a new person each time, the jobs running", database, lambda at: newcomers[at]))
        remember(stack)
        more = one_more(stack)
        held.append(_case(stack, f"{MEMORIES:,} memories and one more each turn, the jobs running", database, more))
    return all(held)


def connect(stack: Stack) -> None:
    """Add CONNECTIONS model servers, each with a key; the environment's still answers, and the others are fallbacks."""
    with stack.application.app_context(), write_transaction():
        for number in range(CONNECTIONS):
            offers = [OfferFields(model=MODEL, label=f"Model {number}", fallback_rank=number + 1)]
            server = {"name": f"Server {number}", "base_url": stack.model_url, "api_key": f"key-{number}"}
            create_connection(NewConnection(**server, models=offers))
    time.sleep(CACHE_SECONDS + 1)  # every web process has read them since


def remember(stack: Stack) -> None:
    """Give the user MEMORIES memories, and let the web build its index of them."""
    with stack.application.app_context():
        settings = app_settings()
        user_id = db.session.scalars(select(User.user_id).order_by(User.user_id).limit(1)).one()
        db.session.rollback()
        around = OpenAIEmbedder(settings.model).embed_passages([load.question(number) for number in range(64)])
        fill_memories(user_id, MEMORIES, model=settings.embedding_model, width=384, around=around)
    stack.script(tokens=3, stamp=True)
    for _ in range(20):  # every web process meets the user at least once
        load.first_token(stack.url, load.chat_request(stack.url, stack.token))


def one_more(stack: Stack) -> Before:
    """Add a memory before each turn, as the previous turn would have done."""

    def add(number: int) -> str:
        body = {
            "memory_type": "fact",
            "content": f"The {number}th heron was seen at the tide mill.",
            "category": "birds",
            "fact_key": f"birds/heron_{number}",
            "importance": 0.7,
        }
        stack.client.ask("POST", "/api/memories", body)
        return stack.token

    return add


def people(stack: Stack, count: int) -> list[str]:
    """Create accounts; returns a token for each."""
    tokens = []
    with stack.application.app_context(), write_transaction():
        for number in range(count):
            row = add_row(User(email=f"newcomer{number}@example.com", name="Newcomer", password_hash="-", settings={}))
            tokens.append(create_token(row.user_id, NewToken(name="bench"))[1])
    return tokens


def _case(stack: Stack, title: str, database: str, before: Before) -> bool:
    """One new conversation after another; prints what each route adds to the model's own first token."""
    stack.script(tokens=3, stamp=True)
    times: dict[str, list[float]] = {"direct": [], "relay": [], "product": []}
    with _relay(stack) as relay_url:
        for number in range(ALONE + WARM_UP):
            time.sleep(PAUSE)  # alone means alone: the previous turn has stored its reply and queued its jobs
            token = before(number)
            requests = {
                "direct": (stack.model_url, load.model_request(stack.model_url, MODEL)),
                "relay": (relay_url, load.model_request(relay_url, MODEL)),
                "product": (stack.url, load.chat_request(stack.url, token)),
            }
            for name, (url, request) in requests.items():  # alternating, so that all see the same machine
                took = load.first_token(url, request)
                if number >= WARM_UP:
                    times[name].append(took)
    direct = times["direct"]
    added = {
        name: (percentile(found, 50) - percentile(direct, 50), percentile(found, 95) - percentile(direct, 95))
        for name, found in times.items()
    }
    table(
        f"First token with {title}, {database} (ms)",
        ("", "p50", "p95", "added p50", "added p95"),
        [
            (label, percentile(times[name], 50), percentile(times[name], 95), *added[name])
            for name, label in (
                ("direct", "model server directly"),
                ("relay", "through a bare relay"),
                ("product", "through Commonplace"),
            )
        ],
    )
    half, most = added["product"]
    return verdict(f"{database}, {title}: added p50 under 15 ms, p95 under 40 ms", half < 15 and most < 40)


@contextmanager
def _relay(stack: Stack) -> Iterator[str]:
    """A bare relay to the model server; its URL."""
    port, model = free_port(), urlsplit(stack.model_url)
    log = stack.servers.directory / "bench.log"
    process = spawn([sys.executable, "-m", "bench.bare", str(port), f"{model.hostname}:{model.port}"], log)
    try:
        wait_until(lambda: _listens(port), "the relay", process=process, log=log)
        yield f"http://127.0.0.1:{port}{model.path}"
    finally:
        end(process)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
