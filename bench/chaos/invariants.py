"""Invariants that hold once everything runs again, read from the tables and from Redis themselves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, MetaData, String, func, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from bench.chaos.workload import REPLY, Ledger
from bench.stack import Stack
from webapp.background.job_specs import Queue, rq_queue
from webapp.redis.clients import open_redis

PATIENCE = 150.0
"""Seconds that all work that is due may take once everything is healed, with recovery, the sweep and its back-off."""
ENDED = ("complete", "stopped", "interrupted", "failed")


def settle(stack: Stack) -> list[str]:
    """Wait until nothing is being written, queued or due any more; returns what still is when patience runs out."""
    deadline = time.monotonic() + PATIENCE
    while True:
        left = _leftovers(stack)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.5)


def violations(stack: Stack, ledger: Ledger, *, unsaved: int = 0) -> list[str]:
    """Every promise that does not hold.

    unsaved: how many characters that somebody has seen may be lost, if everything that held them died.
    """
    forgotten = list(ledger.forgotten.values())
    with stack.connect() as connection:
        found = [*ledger.wrong, *_messages(connection, ledger, unsaved), *_memories(connection, ledger)]
        found += _traces(connection, forgotten)
    return found + _traces_in_redis(stack, forgotten)


def _leftovers(stack: Stack) -> list[str]:
    left = []
    try:
        with stack.connect() as connection:
            if count := connection.scalar(text("SELECT COUNT(*) FROM messages WHERE status = 'streaming'")):
                left.append(f"{count} replies being written")
            for column in ("index_due", "extraction_due", "summary_due"):
                if count := connection.scalar(text(f"SELECT COUNT(*) FROM conversations WHERE {column}")):
                    left.append(f"{count} conversations with {column}")
        with open_redis(stack.servers.redis_url) as client:
            for queue in Queue:
                named = rq_queue(client, queue)
                if waiting := named.count + named.started_job_registry.count:
                    left.append(f"{waiting} jobs in {queue.value}")
    except (SQLAlchemyError, OSError) as error:
        left.append(f"{type(error).__name__}: {error}"[:200])
    return left


def _messages(connection: Connection, ledger: Ledger, unsaved: int) -> Iterator[str]:
    rows = {
        row.message_id: row
        for row in connection.execute(text("SELECT message_id, role, status, content FROM messages"))
    }
    for said in ledger.said:
        asked, reply = rows.get(said.message_id), rows.get(said.reply_id)
        if asked is None or asked.content != said.text:
            yield f"acknowledged message {said.message_id} is {'gone' if asked is None else 'another'}"
        if reply is None or reply.status not in ENDED:
            yield f"reply {said.reply_id} is {'gone' if reply is None else reply.status}"
        elif not reply.content.startswith(said.seen[: max(len(reply.content), len(said.seen) - unsaved)]):
            yield f"reply {said.reply_id}: {len(said.seen)} characters were seen, {len(reply.content)} others stored"
        elif said.is_done and (reply.content != REPLY or said.seen != REPLY):
            yield f"reply {said.reply_id} was done with {len(said.seen)} of {len(REPLY)} characters"
    twice = "SELECT content, COUNT(*) AS n FROM messages WHERE role = 'user' GROUP BY content HAVING COUNT(*) > 1"
    for row in connection.execute(text(twice)):
        yield f"{row.content} stands there {row.n} times"


def _memories(connection: Connection, ledger: Ledger) -> Iterator[str]:
    rows = {row.memory_id: row.content for row in connection.execute(text("SELECT memory_id, content FROM memories"))}
    for memory_id, content in ledger.noted.items():
        if memory_id in ledger.doubtful and memory_id not in rows:
            continue
        if rows.get(memory_id) != content:
            yield f"acknowledged memory {memory_id} is {'gone' if memory_id not in rows else 'another'}"
    contents = list(rows.values())
    for content in {content for content in contents if contents.count(content) > 1}:
        yield f"memory {content!r} stands there {contents.count(content)} times"


def _traces(connection: Connection, words: list[str]) -> Iterator[str]:
    """Yield where forgotten words still are, in every text column of every table."""
    if not words:
        return
    tables = MetaData()
    tables.reflect(connection)
    for table in tables.sorted_tables:
        texts = [column for column in table.columns if _holds_text(column)]
        for word in words if texts else ():
            wanted = word.split()[2]  # the only word that nobody else says
            where = or_(*(column.cast(String).contains(wanted, autoescape=True) for column in texts))
            if connection.scalar(select(func.count()).select_from(table).where(where)):
                yield f"forgotten words are in {table.name}"


def _holds_text(column: Any) -> bool:
    try:
        return column.type.python_type in (str, dict, list)
    except NotImplementedError:
        return False


def _traces_in_redis(stack: Stack, words: list[str]) -> list[str]:
    wanted = [word.split()[2].encode() for word in words]
    found = []
    with open_redis(stack.servers.redis_url) as client:
        for key in client.scan_iter():
            data = _dump(client, key)
            found += [f"forgotten words are in Redis, {key.decode()}" for word in wanted if word in data]
    return found


def _dump(client: Any, key: bytes) -> bytes:
    readers = {
        b"string": lambda: client.get(key),
        b"hash": lambda: client.hgetall(key),
        b"list": lambda: client.lrange(key, 0, -1),
        b"set": lambda: client.smembers(key),
        b"zset": lambda: client.zrange(key, 0, -1),
        b"stream": lambda: client.xrange(key),
    }
    read = readers.get(client.type(key))
    return repr(read()).encode() if read else b""
