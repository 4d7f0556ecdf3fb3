"""Forgetting reaches summaries, however many there are: batch by batch, each once, and none kept in memory."""

import tracemalloc

import pytest
from flask import Flask
from sqlalchemy import insert, select

from tests.conversations.rows import add_conversation
from tests.support.queries import count_queries
from webapp.conversations.models import Conversation
from webapp.db import index_hints
from webapp.db.base import db, get_or_raise, write_transaction
from webapp.memories.rules.paraphrases import ForgottenStatements
from webapp.memories.store.copies import statements_withdrawn
from webapp.retrieval.models import ConversationChunk
from webapp.summaries import redaction

SECRET = "Is allergic to peanuts"
HARMLESS = "The user keeps herons near the tide mill."
RETOLD = f"{HARMLESS} {SECRET}."
SIZE = 3


def add_summaries(app: Flask, user_id: int, contents: list[str]) -> tuple[int, list[int]]:
    """A conversation with these summaries: its id and theirs."""
    conversation_id = add_conversation(app, user_id)
    with app.app_context(), write_transaction():
        where = {"conversation_id": conversation_id, "user_id": user_id, "embedding": b"1234", "embedding_model": "m"}
        rows = [
            {**where, "content": text, "message_range_start": 2 * number + 1, "message_range_end": 2 * number + 2}
            for number, text in enumerate(contents)
        ]
        db.session.execute(insert(ConversationChunk), rows)
        ids = select(ConversationChunk.chunk_id).where(ConversationChunk.conversation_id == conversation_id)
        return conversation_id, list(db.session.scalars(ids.order_by(ConversationChunk.chunk_id)))


@pytest.mark.parametrize("chosen", [{SIZE - 1, SIZE, 2 * SIZE}, set(range(2 * SIZE + 1))], ids=["some", "all"])
def test_what_retells_it_goes_from_every_batch(app, user, monkeypatch, chosen):
    monkeypatch.setattr(index_hints, "BATCH_SIZE", SIZE)
    count = 2 * SIZE + 1
    contents = [RETOLD if number in chosen else f"{HARMLESS} {number}" for number in range(count)]
    conversation_id, ids = add_summaries(app, user.user_id, contents)
    with app.app_context(), write_transaction(), count_queries() as sent:
        redaction._forget(None, user_id=user.user_id, texts={SECRET})
    assert sum(statement.startswith("UPDATE conversation_chunks") for statement in sent) == len(chosen)
    with app.app_context():
        rows = [get_or_raise(ConversationChunk, number) for number in ids]
        assert not any("peanuts" in row.content for row in rows)
        assert {number for number, row in enumerate(rows) if row.embedding is None} == chosen
        assert [row.content for number, row in enumerate(rows) if number not in chosen] == [
            text for number, text in enumerate(contents) if number not in chosen
        ]
        assert get_or_raise(Conversation, conversation_id).index_due is bool(chosen)


def test_somebody_elses_and_other_conversations_keep_theirs(app, user, make_user, monkeypatch):
    monkeypatch.setattr(index_hints, "BATCH_SIZE", SIZE)
    other = make_user()
    _, theirs = add_summaries(app, other.user_id, [RETOLD] * (SIZE + 1))
    here, mine = add_summaries(app, user.user_id, [RETOLD] * (SIZE + 1))
    _, elsewhere = add_summaries(app, user.user_id, [RETOLD] * (SIZE + 1))
    with app.app_context(), write_transaction():
        statements_withdrawn.send(
            None, user_id=user.user_id, conversation_ids=[here], statements=ForgottenStatements({SECRET})
        )
    with app.app_context():
        texts = {number: get_or_raise(ConversationChunk, number).content for number in theirs + mine + elsewhere}
    assert {number for number, text in texts.items() if "peanuts" in text} == {*theirs, *elsewhere}


def test_summaries_are_looked_through_a_few_at_a_time(app, user, monkeypatch):
    monkeypatch.setattr(index_hints, "BATCH_SIZE", 8)
    long = "Herons. " * 1_000
    _, ids = add_summaries(app, user.user_id, [long] * 200 + [RETOLD])
    with app.app_context():
        redaction._forget(None, user_id=user.user_id, texts={"Sails a boat"})  # what is compiled once does not count
        tracemalloc.start()
        try:
            redaction._forget(None, user_id=user.user_id, texts={SECRET})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert "peanuts" not in get_or_raise(ConversationChunk, ids[-1]).content
    assert peak < 600_000  # all at once are 2 million
