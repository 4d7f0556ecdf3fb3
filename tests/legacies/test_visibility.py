"""What is withdrawn leaves others' conversations, however long they are: batch by batch, and none kept in memory."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select

from tests.conversations.rows import add_conversation
from webapp.conversations.models import Message, MessageReasoning
from webapp.db import index_hints
from webapp.db.base import db, write_transaction
from webapp.legacies import visibility
from webapp.memories.store.copies import replies_stripped, statements_withdrawn

TOLD = "Keeps walnuts in the old tide mill"
HARMLESS = "Herons nest by the river."
SIZE = 3


def add_replies(app: Flask, conversation_id: int, texts: list[str], **fields: Any) -> list[int]:
    """Replies with these texts; their ids."""
    where = {"conversation_id": conversation_id, "role": "assistant", "status": "complete", **fields}
    with app.app_context(), write_transaction():
        db.session.execute(insert(Message), [{**where, "content": text} for text in texts])
        mine = select(Message.message_id).where(Message.conversation_id == conversation_id)
        return sorted(db.session.scalars(mine))[-len(texts) :]


def add_thoughts(app: Flask, message_ids: list[int], texts: list[str]) -> None:
    """Reasoning for some replies."""
    rows = [{"message_id": number, "content": text} for number, text in zip(message_ids, texts, strict=True)]
    with app.app_context(), write_transaction():
        db.session.execute(insert(MessageReasoning), rows)


def contents(app: Flask, model: Any, ids: list[int]) -> list[str]:
    """The texts of replies or of reasoning, by these ids."""
    with app.app_context():
        found = dict(db.session.execute(select(model.message_id, model.content)).all())
    return [found[number] for number in ids]


@pytest.fixture
def sent_signals() -> Iterator[list[tuple[str, Any]]]:
    """What the receivers of both signals are told."""
    heard: list[tuple[str, Any]] = []

    def record_stripped(_sender: Any, *, message_ids: Any, **_: Any) -> None:
        heard.append(("stripped", message_ids))

    def elsewhere(_sender: Any, *, conversation_ids: Any, **_: Any) -> None:
        heard.append(("elsewhere", list(conversation_ids)))

    with replies_stripped.connected_to(record_stripped), statements_withdrawn.connected_to(elsewhere):
        yield heard


@pytest.mark.parametrize(("count", "chosen"), [(7, {SIZE - 1, SIZE, 6}), (5, set(range(5)))], ids=["some", "all"])
def test_it_leaves_the_replies_of_every_batch(app, user, monkeypatch, sent_signals, count, chosen):
    """In two conversations, of which one was older and went on later; what their owner said stays, and is counted."""
    monkeypatch.setattr(index_hints, "BATCH_SIZE", SIZE)
    texts = [f"{TOLD}. {HARMLESS}" if number in chosen else f"{HARMLESS} {number}" for number in range(count)]
    talks = [add_conversation(app, user.user_id) for _ in range(2)]
    said = add_replies(app, talks[0], [f"{TOLD}?"] * SIZE, role="user")
    ids = add_replies(app, talks[1], texts)
    ids += add_replies(app, talks[0], texts)
    add_thoughts(app, ids, texts * 2)
    streaming = add_replies(app, talks[0], [TOLD], status="streaming")
    unread = add_replies(app, add_conversation(app, user.user_id), [TOLD])
    with app.app_context(), write_transaction():
        done = visibility._redact_conversations(user.user_id, talks, set(), {TOLD})
    told = [number for place, number in enumerate(ids) if place % count in chosen]
    assert (done.replies, done.quoted) == (len(told), SIZE)
    assert sent_signals == [("elsewhere", talks), ("stripped", told)]
    for model in (Message, MessageReasoning):
        now = contents(app, model, ids)
        assert not any("walnuts" in text for text in now) and all(HARMLESS in text for text in now)
        kept = [text for place, text in enumerate(texts * 2) if place % count not in chosen]
        assert [text for place, text in enumerate(now) if place % count not in chosen] == kept
    assert contents(app, Message, said + streaming + unread) == [f"{TOLD}?"] * SIZE + [TOLD] * 2


def test_what_is_only_thought_counts_once(app, user, sent_signals):
    talk = add_conversation(app, user.user_id)
    ids = add_replies(app, talk, [HARMLESS, f"{TOLD}.", HARMLESS])
    add_thoughts(app, ids, [f"{TOLD}.", f"{TOLD}.", HARMLESS])
    with app.app_context(), write_transaction():
        assert visibility._redact_conversations(user.user_id, [talk], set(), {TOLD}).replies == 2
    assert [sorted(ids) for what, ids in sent_signals if what == "stripped"] == [ids[:2]]


def test_conversations_are_looked_through_a_few_at_a_time(app, user, monkeypatch):
    monkeypatch.setattr(index_hints, "BATCH_SIZE", 8)
    long = "Herons. " * 1_000
    talk = add_conversation(app, user.user_id)
    ids = add_replies(app, talk, [*[long] * 120, f"{TOLD}."], tool_calls=[{"tool_name": "x", "output": long}])
    add_thoughts(app, ids, [*[long] * 120, f"{TOLD}."])
    with app.app_context(), write_transaction():
        visibility._redact_conversations(
            user.user_id, [talk], set(), {"Sails a boat"}
        )  # what is compiled once does not count
        db.session.expunge_all()
        tracemalloc.start()
        try:
            done = visibility._redact_conversations(user.user_id, [talk], set(), {TOLD})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert done.replies == 1 and "walnuts" not in "".join(contents(app, Message, ids[-1:]))
    assert peak < 900_000  # all at once are 3 million
