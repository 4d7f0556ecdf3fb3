"""What is forgotten is nowhere: every table and all of Redis, searched after everything that copies words has run.

The tables are asked of the database itself, so that a new one is searched without anybody thinking of it; one that can
hold words has to be filled here, or be named among those that never hold what a memory says.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from sqlalchemy import JSON, LargeBinary, String, Text, inspect, select, text

from tests.journeys.rows import assessment, begin, extraction, load, say, write_fixture
from tests.memories.conversing import answers, memories_of, operation
from tests.support.dialogue import add_turn
from tests.support.queries import scalars
from webapp.accounts.idempotency import open_answer
from webapp.accounts.models import IdempotencyKey
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.digests import service as digests
from webapp.digests.schemas import ConversationMemoryData
from webapp.journeys.models import ConversationReport
from webapp.retrieval.models import ConversationChunk, MessageEmbedding

SAID = "I'm allergic to walnuts"
CONTENT = "Allergic to walnuts."
SUMMARY = "They spoke of boats. The user is allergic to walnuts. The boats were painted in Hvar."
WORDS = "walnut"

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
FILLED = set(TABLES["filled"])
"""Tables in which the words are before they are forgotten."""
NEVER = {table for tables in TABLES["never"].values() for table in tables}
"""Those that never hold what a memory says, by what they hold. (Of reasoning: tests/chat/test_reasoning.py.)"""


def cells(app: Flask) -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Table, column, value and row of everything in the database, whether the application knows the table or not."""
    with app.app_context(), db.engine.connect() as connection:
        for table in inspect(connection).get_table_names():
            for row in connection.execute(text(f"SELECT * FROM `{table}`")).mappings():
                for column, value in row.items():
                    yield table, column, value, dict(row)
        for body in connection.scalars(select(IdempotencyKey.body)):
            yield "idempotency_keys", "body", open_answer(body), {}


def searchable(value: Any) -> str:
    """A value as text: bytes as they are, inflated, and out of base64."""
    if not isinstance(value, bytes):
        return str(value)
    found = [value]
    for read in (zlib.decompress, base64.b64decode):
        for part in list(found):
            try:
                found.append(read(part))
            except (zlib.error, ValueError):
                continue
    return "\n".join(part.decode("utf-8", "replace") for part in found)


def in_tables(app: Flask, words: str = WORDS) -> set[str]:
    """The tables that hold the words, but for messages that the user wrote."""
    return {
        table
        for table, _, value, row in cells(app)
        if not (table == "messages" and row["role"] == "user") and re.search(words, searchable(value), re.IGNORECASE)
    }


def in_redis(client: Redis, words: str = WORDS) -> set[str]:
    """The keys under which the words are found."""
    reads = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"set": client.smembers,
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"stream": client.xrange,
    }
    return {
        key.decode()
        for key in client.scan_iter()
        if re.search(words, "\n".join(map(searchable, flat(reads[client.type(key)](key)))), re.IGNORECASE)
    }


def flat(value: Any) -> list[Any]:
    """The leaves of nested lists, tuples, sets and dicts, keys included."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def test_every_table_that_can_hold_words_is_thought_of(app):
    with app.app_context():
        known = {
            table.name
            for table in db.metadata.sorted_tables
            if any(
                isinstance(column.type, String | Text | JSON | LargeBinary)
                or hasattr(column.type, "impl")
                and isinstance(column.type.impl, String | LargeBinary)
                for column in table.columns
            )
        }
    assert known - FILLED - NEVER == set(), "fill it in `everywhere`, or say why it never holds what a memory says"


@pytest.fixture
def everywhere(app, client, user, model, run_jobs, tmp_path: Path) -> int:
    """A memory whose words were copied wherever words are copied; its id."""
    # A guided conversation: evidence of a point, and a report.
    load(app, write_fixture(tmp_path / "fixtures"))
    guided = begin(client, "garden")
    said = f"My garden is a small balcony, tomatoes please, and {SAID}!"
    found = extraction(
        assessment(1, "a small balcony"),
        assessment(2, SAID, says=CONTENT, allergy="walnuts"),
        operations=(operation(SAID, CONTENT, category="health"),),
    )
    model.script(match="memory_operations", structured=found, times=1)
    say(client, guided, said)
    run_jobs()
    (memory,) = memories_of(app, user.user_id)
    client.put(f"/api/memories/{memory.memory_id}", json={"is_pinned": True})
    # Another: said again, remembered by a tool, quoted in the reply, titled with it, summarised, and put into a digest.
    model.script(match="As I said", reply=f'You wrote: "{SAID.upper()}". I will keep to that.', times=1)
    model.script(
        match="As I said",
        tool_calls=[{"name": "search_memories", "arguments": {"query": CONTENT}}],
        reply="One moment.",
        times=1,
    )
    answers(model, operation(SAID, CONTENT))
    model.script(
        match="memory_operations",
        times=1,
        structured={"statements": [operation(SAID, CONTENT)], "title": "Allergic to walnuts"},
    )
    talk = client.post("/api/conversations", json={}).json["conversation_id"]
    say(client, talk, f"As I said, {SAID}")
    run_jobs()
    model.script(match="conversation_summary", structured={"summary": SUMMARY})
    with app.app_context():
        for number in range(16):
            add_turn(user.user_id, talk, f"I painted boat {number}", "Nice.")
        db.session.rollback()
        with write_transaction():
            # And quoted by the model's server in the reason why it refused a request.
            refused = db.session.query(Message).filter_by(conversation_id=talk, content="Nice.")
            refused.update({"error_detail": f"The model server says: “Not accepted: {SAID}”"})
            digests.upsert_digest(
                user.user_id,
                talk,
                ConversationMemoryData(main_topics=["Walnuts"], action=[], typical_observation=CONTENT),
            )
    say(client, talk, "And now?")
    run_jobs()
    # And once more with the summary in the prompt; a request whose answer is kept for repeating it.
    say(client, talk, "What was it that I painted?")
    client.post(
        "/api/memories",
        json={"memory_type": "fact", "content": CONTENT},
        headers={"Idempotency-Key": f"once {CONTENT}"},
    )
    run_jobs()
    # And told in prose.
    model.script(match="portrait", structured={"sentences": [{"text": "You are allergic to walnuts.", "notes": [1]}]})
    assert client.post("/api/memories/portrait").status_code == 202
    run_jobs()
    return memory.memory_id


def test_nothing_outside_the_users_own_messages_holds_it(app, client, user, model, run_jobs, everywhere):
    assert in_tables(app) == FILLED
    with app.app_context():
        assert db.session.query(ConversationReport).count() == 1
        summed = db.session.query(ConversationChunk).one().embedding
    assert summed is not None
    report = client.delete(f"/api/memories/{everywhere}").json
    assert in_tables(app) == set(), "at once, not when a job has run"
    assert in_redis(app.extensions["redis"]) == set()
    assert len(report["still_said_in"]) == 2
    assert scalars(app, db.select(ConversationReport)) == []
    model.script(match="memory_operations", structured={"statements": []})
    asked = len(model.calls())
    say(client, client.post("/api/conversations", json={}).json["conversation_id"], "What am I allergic to, and why?")
    run_jobs()
    for row in client.get("/api/conversations").json["conversations"]:
        made = client.post(f"/api/tasks/generate-memory-for-conversation/{row['conversation_id']}?sync=true")
        assert made.status_code == 200
    assert WORDS not in json.dumps(model.calls()[asked:]), "no model reads it again"
    assert in_tables(app) == set() and in_redis(app.extensions["redis"]) == set()
    vectors = {value for _, column, value, _ in cells(app) if column == "embedding" and value}
    with app.app_context():
        forgotten = app.extensions["embedder"].now().embed_passages([CONTENT, SUMMARY])
        chunk = db.session.query(ConversationChunk).one()
        assert "painted in Hvar" in chunk.content and "spoke of boats" in chunk.content
        assert chunk.embedding and db.session.query(MessageEmbedding).count() > 30
    assert not vectors & {vector.tobytes() for vector in forgotten} and summed not in vectors


@pytest.mark.parametrize("door", ["chat/completions", "responses"])
def test_what_was_said_through_the_programs_door_is_forgotten_too(app, client, user, model, run_jobs, door):
    """The turns, their tools' arguments, what is kept of the requests, and the title are the gateway's own to write."""
    said = f"Note for the cook: {SAID}!"
    told = [{"role": "user", "content": said}]
    call = {"type": "function", "name": "plan_menu", "parameters": {"type": "object", "properties": {}}}
    tools = [call] if door == "responses" else [{"type": "function", "function": {"name": "plan_menu"}}]
    model.script(match="Note for the cook", tool_calls=[{"name": "plan_menu", "arguments": {"note": SAID}}], times=1)
    answers(model, operation(SAID, CONTENT, category="health"))

    def ask(messages: list[dict[str, Any]], **fields: Any) -> Any:
        place = "input" if door == "responses" else "messages"
        answer = client.post(f"/v1/{door}", json={"model": "default", place: messages, "tools": tools, **fields})
        assert answer.status_code == 200, answer.text
        return answer

    first = ask(told, metadata={"about": "menu"} if door == "responses" else None)
    reply = first.json
    model.script(match="Menu without", reply=f'You wrote: "{SAID}". The menu keeps to that.', times=1)
    if door == "responses":
        (asked,) = reply["output"]
        outcome = {"type": "function_call_output", "call_id": asked["call_id"], "output": f"Menu without. {SAID}."}
        ask([outcome], previous_response_id=reply["id"])
    else:
        message = reply["choices"][0]["message"]
        (asked,) = message["tool_calls"]
        ask([*told, message, {"role": "tool", "tool_call_id": asked["id"], "content": f"Menu without. {SAID}."}])
    run_jobs()
    (memory,) = memories_of(app, user.user_id)
    assert {"memories", "messages"} <= in_tables(app)
    client.delete(f"/api/memories/{memory.memory_id}")
    assert in_tables(app) == set()
    assert in_redis(app.extensions["redis"]) == set()
