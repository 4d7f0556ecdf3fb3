"""What a turn and its extraction read of a person's memories costs the same with few and with many of them."""

import os
import re
from typing import Any

import pytest
from flask import Flask

from testkit.memory_rows import fill_memories
from testkit.people import Person
from tests.memories.conversing import answers, converse, current, make_memories, operation
from tests.support.queries import listener, record_statements
from webapp.db.base import db, write_transaction
from webapp.memories import service
from webapp.memories.learning import extraction, past_conversations
from webapp.memories.prompt.always_used import context_memories
from webapp.memories.schemas import MemoryFields
from webapp.memories.store import writing
from webapp.providers.clients import embedder
from webapp.retrieval import facts, passage_rows
from webapp.retrieval.passages import Scope
from webapp.retrieval.vector_jobs import index_user

on_sqlite = pytest.mark.skipif(os.environ.get("TEST_DB") != "sqlite", reason="about SQLite's plans and its one writer")
PET = operation("My parrot is called Coco", "Has a parrot called Coco.", fact_key="pet/name", fact_value="Coco")


@pytest.fixture
def talk(app: Flask, user: Person) -> int:
    """A person with more memories than an extraction shows whole, who has just said something."""
    with app.app_context():
        width = len(embedder().embed_passages(["A parrot."])[0])
        fill_memories(user.user_id, 60, model=embedder().model, width=width)
    return converse(app, user.user_id, "My parrot is called Coco")


@on_sqlite
def test_no_look_up_walks_through_all_memories(app, user, talk, model):
    answers(model, PET)
    with app.app_context():
        with write_transaction():
            service.create_memory(user.user_id, MemoryFields(memory_type="fact", content="Plays the oboe."))
        # The first time all are looked at.
        index_user(user.user_id)
        fact_keys = facts.read_keys(user.user_id)
    with app.app_context(), record_statements() as sent:
        context_memories(user.user_id)
        extraction.extract(talk)
        index_user(user.user_id)
        passage_rows.changed_memories(user.user_id, [1, 2])
        facts.exact_facts("What is my parrot called?", Scope(user.user_id), fact_keys)
    walking = re.compile(r"SCAN memories|memories USING (COVERING )?INDEX \w+ \(user_id=\?( AND is_archived=\?)?\)$")
    # The scan for what is near, which is of all; the newest, until there are enough; all ids, when the index is built.
    allowed = "memories.embedding \nFROM memories \nWHERE memories.user_id", "INDEXED BY ix_memories_recent"
    looked_at = set()
    with app.app_context(), db.engine.connect() as connection:
        for statement, values in sent:
            if not re.search(r"FROM memories\b", statement) or any(word in statement for word in allowed):
                continue
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            looked_at.add(statement)
            details = [row[-1] for row in plan]
            keys_only = statement.startswith("SELECT memories.memory_id \nFROM memories \nWHERE memories.valid_to")
            assert keys_only or not any(walking.search(detail) for detail in details), (statement, details)
    assert len(looked_at) > 12


@on_sqlite
def test_an_extraction_keeps_others_from_writing_only_while_it_writes(app, user, talk, model):
    answers(model, PET)
    with app.app_context():
        db.engine.dispose()
        transactions: list[list[str]] = []

        def trace(statement: str) -> None:
            if statement.startswith("BEGIN"):
                transactions.append([])
            if transactions:
                transactions[-1].append(statement)

        def listen(connection: Any, _record: Any) -> None:
            connection.set_trace_callback(trace)

        try:
            with listener(db.engine, "connect", listen):
                extraction.extract(talk)
                index_user(user.user_id)
        finally:
            db.session.remove()
            db.engine.dispose()
    locking = [lines for lines in transactions if lines[0] == "BEGIN IMMEDIATE"]
    assert locking and len(locking) < len(transactions)
    for lines in locking:
        assert any(line.startswith(("INSERT", "UPDATE", "DELETE")) for line in lines), lines
        assert not any("memories.embedding \nFROM" in line for line in lines), lines


def test_memory_that_changed_since_is_looked_through_again(app, client, user, talk, model, monkeypatch):
    scans: list[int] = []
    nearest, similar = writing.find_nearest, extraction.find_similar

    def count_call(*given: Any) -> dict[int, float]:
        scans.append(1)
        return nearest(*given)

    def changed_meanwhile(*given: Any) -> Any:
        monkeypatch.setattr(extraction, "find_similar", similar)
        found = similar(*given)
        client.post("/api/memories", json={"memory_type": "fact", "content": "Has a parrot that is called Coco."})
        return found

    monkeypatch.setattr(writing, "find_nearest", count_call)
    answers(model, PET, times=None)
    make_memories(app, talk)
    undisturbed = len(scans)
    scans.clear()
    monkeypatch.setattr(extraction, "find_similar", changed_meanwhile)
    second = converse(app, user.user_id, "My parrot is called Coco")
    make_memories(app, second)
    assert (undisturbed, len(scans)) == (2, 3)
    assert "Has a parrot called Coco." in current(app, user.user_id)


def test_what_an_import_brought_is_compared_before_anything_is_written(app, user, talk, model, monkeypatch):
    answers(model, PET)
    with app.app_context():
        step = past_conversations.ask_about(talk, 0)
        assert step is not None
        monkeypatch.setattr(
            writing, "find_nearest", lambda *_given: pytest.fail("scanned in a transaction that writes")
        )
        with write_transaction():
            assert past_conversations.write(step).counts["in_review"] == 1


def test_only_what_changed_is_looked_at_for_vectors(app, user, run_jobs):
    with app.app_context():
        with write_transaction():
            service.create_memory(user.user_id, MemoryFields(memory_type="fact", content="Plays the oboe."))
        assert index_user(user.user_id).memories == 1
        with write_transaction():
            service.create_memory(user.user_id, MemoryFields(memory_type="fact", content="Sings in a choir."))
        with record_statements() as sent:
            assert index_user(user.user_id).memories == 1
    (owed,) = [values for statement, values in sent if "memories.embedding IS NULL" in statement]
    assert len([value for value in owed if isinstance(value, int)]) < 10
    assert any("memories.memory_id IN" in statement for statement, _ in sent)
