"""Copies of what memories say: whoever has many of them needs no more memory to forget one."""

import tracemalloc
from collections.abc import Callable, Sequence

import pytest
from flask import Flask
from sqlalchemy import select, update

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.accounts.idempotency import encrypt_answer, open_answer
from webapp.accounts.models import IdempotencyKey
from webapp.conversations import current_messages
from webapp.conversations.models import Conversation, Message
from webapp.db import index_hints
from webapp.db.base import add_row, db, get_or_raise, write_transaction
from webapp.memories.store import copies

TOLD = "Keeps walnuts in the old tide mill"
ROWS = 400
MOST = 1_300_000
"""Bytes; all rows at once take 1.7 to 3 million."""
NOISE = [f"heron {number} at the mill" for number in range(60)]
"""Beside what is told in the last of many rows."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the usual rows at once."""
    monkeypatch.setattr(index_hints, "BATCH_SIZE", index_hints.BATCH_SIZE // 5)
    monkeypatch.setattr(current_messages, "PORTION", current_messages.PORTION // 5)


@pytest.fixture
def answers(app: Flask, user: Person, few: None) -> int:
    """A user with many stored answers, in the last of which a text is told; their id."""
    told = ["A heron"] * (ROWS - 1) + [TOLD]
    with app.app_context(), write_transaction():
        for number, text in enumerate(told):
            body = encrypt_answer({"memory_id": number, "content": text, "evidence": NOISE})
            row = IdempotencyKey(user_id=user.user_id, key=f"k{number:05}", request_hash="-", status=201, body=body)
            db.session.add(row)
    return user.user_id


@pytest.fixture
def replies(app: Flask, user: Person, few: None) -> tuple[int, int]:
    """A user with many replies with tool calls, in the last of which a text is told; their id, and that reply's."""
    told = ["A heron"] * (ROWS - 1) + [TOLD]
    with app.app_context():
        ids = _replies(user.user_id, [f"{'Herons. ' * 300}{text}!" for text in told])
        with write_transaction():
            calls = [{"tool_name": "remember", "arguments": {"content": t}, "output": {"found": NOISE}} for t in told]
            rows = [{"message_id": row, "tool_calls": [call]} for row, call in zip(ids, calls, strict=True)]
            db.session.execute(update(Message), rows)
    return user.user_id, ids[-1]


def _peak(strip: Callable[[int], object], user_id: int) -> int:
    strip(0)  # what is imported and compiled once does not count
    db.session.rollback()
    tracemalloc.start()
    try:
        strip(user_id)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_stored_answers_are_looked_through_a_few_at_a_time(app, answers):
    with app.app_context():
        assert _peak(lambda who: copies.strip_answers(who, [], {TOLD}), answers) < MOST
        assert (
            open_answer(get_or_raise(IdempotencyKey, (answers, f"k{ROWS - 1:05}")).body)["content"]
            == copies.FORGOTTEN_MARK
        )
        assert open_answer(get_or_raise(IdempotencyKey, (answers, "k00000")).body)["content"] == "A heron"


def test_tool_calls_are_looked_through_a_few_at_a_time(app, replies):
    user_id, last = replies
    with app.app_context():
        assert _peak(lambda who: copies.strip_replies(who, [], {TOLD}), user_id) < MOST
        assert copies.strip_replies(user_id, [], {TOLD}) == []
        (call,) = get_or_raise(Message, last).tool_calls
        assert call["arguments"]["content"] == copies.FORGOTTEN_MARK


def test_replies_are_looked_through_a_few_at_a_time(app, replies):
    """Also when so much is forgotten that the database is not asked for its words."""
    user_id, last = replies
    many = {TOLD, *(f"Owns a boat called {word * 9}" for word in "abcdefghijklmnopqrstuvwxyz")}
    with app.app_context():
        assert _peak(lambda who: copies.strip_replies(who, [], many), user_id) < MOST
        assert get_or_raise(Message, last).content.endswith(f"Herons. {copies.FORGOTTEN_MARK}!")


def _replies(user_id: int, said: Sequence[str]) -> list[int]:
    """Replies of one conversation; the caller has an application context."""
    with write_transaction():
        conversation = add_row(Conversation(user_id=user_id, message_count=len(said)))
        rows = [Message(conversation_id=conversation.conversation_id, role="assistant", content=text) for text in said]
        db.session.add_all(rows)
        db.session.flush()
        return [row.message_id for row in rows]


def test_no_statement_looks_into_more_than_a_portion_of_the_replies(app, user, monkeypatch):
    """With 300,000 replies one statement took longer than the web waits, so that nothing could be forgotten."""
    monkeypatch.setattr(current_messages, "PORTION", 4)
    told_in = (0, 3, 4, 9)  # around the ends of portions
    with app.app_context():
        ids = _replies(user.user_id, [f"So: {TOLD}." if number in told_in else "Herons" for number in range(10)])
        with count_queries() as sent:
            assert copies.strip_replies(user.user_id, [], {TOLD}) == [ids[number] for number in told_in]
        read = [statement for statement in sent if "content LIKE" in statement]
        assert len(read) == 3
        assert all(".message_id IN (" in statement for statement in read)
        kept = db.session.scalars(select(Message.content).order_by(Message.message_id)).all()
        assert [number for number, text in enumerate(kept) if text == f"So: {copies.FORGOTTEN_MARK}."] == [*told_in]


def test_a_reply_is_read_only_if_it_has_two_words_of_what_is_forgotten(app, user):
    """One word, the longest even, may be in every reply."""
    with app.app_context():
        said = ["About gardens", "You wrote about walnut and town.", "I wrote ABOUT  town, and walnuts"]
        ids = _replies(user.user_id, said)
        looked_at: list[str] = []
        rows = copies.stream_rows
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(copies, "stream_rows", lambda found: (looked_at.append(row[1]) or row for row in rows(found)))
            assert copies.strip_replies(user.user_id, [], {"about town, and walnuts"}) == [ids[2]]
        assert looked_at == [said[2]]
        assert get_or_raise(Message, ids[2]).content == f"I wrote {copies.FORGOTTEN_MARK}"


@pytest.mark.parametrize("tag", ["memory", "context", "document"])
def test_a_reply_that_repeats_the_block_of_its_prompt_loses_it_too(tag):
    reply = f"I was told: <{tag}>Allergic to walnuts and bees.</{tag}> Right?"
    assert copies.replace_copies(reply, ["Allergic to walnuts and bees."]) == (
        f"I was told: <{tag}>{copies.FORGOTTEN_MARK}</{tag}> Right?"
    )
