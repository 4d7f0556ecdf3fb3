"""Copies of what memories say: whoever has many of them needs no more memory to forget one."""

import tracemalloc
from collections.abc import Callable, Sequence

import pytest
from flask import Flask
from sqlalchemy import insert, select

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.accounts.idempotency import open_answer, seal_answer
from webapp.accounts.models import IdempotencyKey
from webapp.conversations import current_messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise, write_transaction
from webapp.memories.store import copies

TOLD = "Keeps walnuts in the old tide mill"
ROWS = 1_500
MOST = 2_500_000
"""Bytes; all rows at once take 4 to 15 million."""


@pytest.fixture
def talkative(app: Flask, user: Person) -> tuple[int, int]:
    """A user with many stored answers and many replies with tool calls; in the last of each a text is told.

    Their id, and the id of the last reply.
    """
    noise = [f"heron {number} at the mill" for number in range(60)]
    with app.app_context(), write_transaction():
        conversation = Conversation(user_id=user.user_id, message_count=ROWS)
        db.session.add(conversation)
        db.session.flush()
        answers, replies = [], []
        for number in range(ROWS):
            told = TOLD if number == ROWS - 1 else "A heron"
            body = seal_answer({"memory_id": number, "content": told, "evidence": noise})
            answers.append({"key": f"k{number:05}", "request_hash": "-", "status": 201, "body": body})
            call = {"tool_name": "remember", "arguments": {"content": told}, "output": {"found": noise}}
            replies.append(
                {
                    "role": "assistant",
                    "content": f"{'Herons. ' * 300}{told}!",
                    "status": "complete",
                    "tool_calls": [call],
                }
            )
        db.session.execute(insert(IdempotencyKey), [{"user_id": user.user_id, **answer} for answer in answers])
        for reply in replies:
            reply["conversation_id"] = conversation.conversation_id
        db.session.execute(insert(Message), replies)
        last = db.session.query(Message.message_id).order_by(Message.message_id.desc()).first()
    return user.user_id, last[0]


def _peak(strip: Callable[[], object]) -> int:
    strip()  # what is imported and compiled once does not count
    db.session.rollback()
    tracemalloc.start()
    try:
        strip()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_stored_answers_are_looked_through_a_few_at_a_time(app: Flask, talkative: tuple[int, int]) -> None:
    user_id, _ = talkative
    with app.app_context():
        assert _peak(lambda: copies.strip_answers(user_id, [], {TOLD})) < MOST
        assert open_answer(get_or_raise(IdempotencyKey, (user_id, f"k{ROWS - 1:05}")).body)["content"] == copies.GONE
        assert open_answer(get_or_raise(IdempotencyKey, (user_id, "k00000")).body)["content"] == "A heron"


def test_tool_calls_are_looked_through_a_few_at_a_time(app: Flask, talkative: tuple[int, int]) -> None:
    user_id, last = talkative
    with app.app_context():
        assert _peak(lambda: copies.strip_replies(user_id, [], {TOLD})) < MOST
        assert copies.strip_replies(user_id, [], {TOLD}) == []
        (call,) = get_or_raise(Message, last).tool_calls
        assert call["arguments"]["content"] == copies.GONE


def test_replies_are_looked_through_a_few_at_a_time(app: Flask, talkative: tuple[int, int]) -> None:
    """Also when so much is forgotten that the database is not asked for its words."""
    user_id, last = talkative
    many = {TOLD, *(f"Owns a boat called {word * 9}" for word in "abcdefghijklmnopqrstuvwxyz")}
    with app.app_context():
        assert _peak(lambda: copies.strip_replies(user_id, [], many)) < MOST
        assert get_or_raise(Message, last).content.endswith(f"Herons. {copies.GONE}!")


def _replies(user_id: int, said: Sequence[str]) -> list[int]:
    """Replies of one conversation; the caller has an application context."""
    with write_transaction():
        conversation = Conversation(user_id=user_id, message_count=len(said))
        db.session.add(conversation)
        db.session.flush()
        rows = [Message(conversation_id=conversation.conversation_id, role="assistant", content=text) for text in said]
        db.session.add_all(rows)
        db.session.flush()
        return [row.message_id for row in rows]


def test_no_statement_looks_into_more_than_a_portion_of_the_replies(
    app: Flask, user: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        assert [number for number, text in enumerate(kept) if text == f"So: {copies.GONE}."] == [*told_in]


def test_a_reply_is_read_only_if_it_has_two_words_of_what_is_forgotten(app: Flask, user: Person) -> None:
    """One word, the longest even, may be in every reply."""
    with app.app_context():
        said = ["About gardens", "You wrote about walnut and town.", "I wrote ABOUT  town, and walnuts"]
        ids = _replies(user.user_id, said)
        looked_at: list[str] = []
        cut = copies._run
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(copies, "_run", lambda text: looked_at.append(text) or cut(text))
            assert copies.strip_replies(user.user_id, [], {"about town, and walnuts"}) == [ids[2]]
        assert said[0] not in looked_at
        assert get_or_raise(Message, ids[2]).content == f"I wrote {copies.GONE}"
