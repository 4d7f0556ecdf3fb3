"""Rows of an export, read in batches: all of them, in order, and none twice."""

import pytest
from flask import Flask
from sqlalchemy import insert, select

from testkit.people import Person
from tests.conversations.rows import add_conversation
from tests.support.queries import count_queries
from webapp.db.base import db, write_transaction
from webapp.digests import service as digests
from webapp.digests.schemas import ConversationMemoryData
from webapp.retrieval.models import ConversationChunk
from webapp.transfer import export_rows
from webapp.transfer.account_tables import PARTS

SIZE = 3
COUNTS = [0, SIZE, 2 * SIZE + 1]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_rows, "BATCH", SIZE)


@pytest.mark.parametrize("count", COUNTS)
def test_summaries_are_exported_in_batches(app: Flask, user: Person, make_user, count: int) -> None:
    for person, number in ((user, count), (make_user(), 2)):
        conversation_id = add_conversation(app, person.user_id)
        with app.app_context(), write_transaction():
            where = {"conversation_id": conversation_id, "user_id": person.user_id}
            rows = [
                {**where, "content": f"{person.name} {n}", "message_range_start": n + 1, "message_range_end": n + 1}
                for n in range(number)
            ]
            if rows:
                db.session.execute(insert(ConversationChunk), rows)
    with app.app_context(), count_queries() as sent:
        lines = []
        for line in PARTS["summaries.jsonl"].read(user.user_id):
            lines.append(line)
            assert len(db.session.identity_map) <= SIZE
        assert [line["content"] for line in lines] == [f"{user.name} {n}" for n in range(count)]
        assert sum("FROM conversation_chunks" in statement for statement in sent) == -(-count // SIZE) + 1
        mine = select(ConversationChunk.chunk_id).where(ConversationChunk.user_id == user.user_id)
        assert {line["chunk_id"] for line in lines} == set(db.session.scalars(mine))


@pytest.mark.parametrize("count", COUNTS)
def test_digests_are_exported_in_batches_each_with_its_versions(app, user, make_user, count):
    for person, number in ((user, count), (make_user(), 2)):
        for n in range(number):
            conversation_id = add_conversation(app, person.user_id)
            with app.app_context(), write_transaction():
                for topic in ("before", "now"):
                    data = ConversationMemoryData(main_topics=[f"{topic} {n}"], action=[], typical_observation="")
                    digests.upsert_digest(person.user_id, conversation_id, data)
    with app.app_context():
        lines = list(PARTS["digests.jsonl"].read(user.user_id))
    assert [line["memory_data"]["main_topics"] for line in lines] == [[f"now {n}"] for n in range(count)]
    told = [[version["memory_data"]["main_topics"][0] for version in line["versions"]] for line in lines]
    assert told == [[f"before {n}", f"now {n}"] for n in range(count)]
