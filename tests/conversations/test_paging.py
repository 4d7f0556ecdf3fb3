"""Keyset paging: every row once and in order, whatever the page size; few queries; no more rows read than shown."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings, strategies as st
from sqlalchemy import text

from testkit.people import ApiClient
from tests.conversations.rows import add_conversation, add_messages
from tests.support.queries import count_queries
from webapp.conversations import lists, messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationQuery, MessagesQuery
from webapp.db.base import add_row, db

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHARED = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def _fill(user_id: int, seconds: list[int]) -> None:
    db.session.rollback()
    db.session.execute(text("DELETE FROM conversations"))
    for second in seconds:
        at = NOON + timedelta(seconds=second)
        db.session.add(Conversation(user_id=user_id, created_at=at, updated_at=at))
    db.session.commit()


def _walk(read: Callable[[str | None], Any]) -> Iterator[Any]:
    """Each page of a list, asked for with the cursor of the one before."""
    cursor, has_more = None, True
    while has_more:
        yield (page := read(cursor))
        cursor, has_more = page.next_cursor, page.next_cursor is not None


def _in_order(user_id: int) -> list[int]:
    rows = db.session.query(Conversation).filter_by(user_id=user_id).all()
    return [row.conversation_id for row in sorted(rows, key=lambda r: (r.updated_at, r.conversation_id), reverse=True)]


@SHARED
@given(seconds=st.lists(st.integers(0, 3), max_size=20), limit=st.integers(1, 7), insert=st.integers(0, 2))
def test_walking_the_pages_gives_each_conversation_once(app_context, user, seconds, limit, insert):
    _fill(user.user_id, seconds)
    expected = _in_order(user.user_id)
    found: list[int] = []
    for page in _walk(lambda at: lists.list_conversations(user.user_id, ConversationQuery(limit=limit, cursor=at))):
        found += [row.conversation_id for row in page.items]
        assert len(page.items) == limit or page.next_cursor is None
        for _ in range(insert):  # new activity is on top, where this walk does not come again
            at = NOON + timedelta(seconds=100)
            db.session.add(Conversation(user_id=user.user_id, created_at=at, updated_at=at))
        db.session.commit()
    assert found == expected


@SHARED
@given(count=st.integers(0, 15), limit=st.integers(1, 6), gone=st.sets(st.integers(0, 14)))
def test_walking_messages_both_ways_gives_each_once(app_context, user, count, limit, gone):
    _fill(user.user_id, [0])
    conversation_id = _in_order(user.user_id)[0]
    rows = [Message(conversation_id=conversation_id, role="user", content=str(n)) for n in range(count)]
    db.session.add_all(rows)
    db.session.flush()
    for number in gone & set(range(count - 1)):
        rows[number].superseded_by_id = rows[-1].message_id
    db.session.commit()
    expected = [row.message_id for row in rows if row.superseded_by_id is None]

    def read(**place: Any) -> Any:
        return messages.list_messages(conversation_id, MessagesQuery(limit=limit, **place))

    backward = [page.items for page in _walk(lambda at: read(before=int(at)) if at else read())]
    assert [row.message_id for items in reversed(backward) for row in items] == expected
    by_cursor = [page.items for page in _walk(lambda at: read(after=0, cursor=at))]
    assert [row.message_id for items in by_cursor for row in items] == expected
    if expected:
        middle = expected[len(expected) // 2]
        older = messages.list_messages(conversation_id, MessagesQuery(limit=100, before=middle)).items
        newer = messages.list_messages(conversation_id, MessagesQuery(limit=100, after=middle)).items
        assert [row.message_id for row in [*older, *newer]] == [i for i in expected if i != middle]
        between = MessagesQuery(limit=100, after=expected[0], before=expected[-1])
        assert [row.message_id for row in messages.list_messages(conversation_id, between).items] == expected[1:-1]


@contextmanager
def queries(app: Flask) -> Iterator[list[str]]:
    """The statements sent meanwhile by requests, afterwards without those that begin a transaction."""
    with app.app_context():
        engine = db.engine
    with count_queries(engine) as sent:
        yield sent
    sent[:] = [statement for statement in sent if not statement.startswith("BEGIN")]


def _count(app: Flask, client: ApiClient, path: str) -> int:
    client.get("/api/conversations?limit=1")  # the use of the token is noted once a minute
    with queries(app) as sent:
        assert client.get(path).status_code == 200
    return len(sent)


def test_hot_views_ask_a_small_constant_number_of_questions(app, client, user):
    conversation_id = add_conversation(app, user.user_id)
    paths = [
        "/api/conversations?limit=50",
        f"/api/conversations/{conversation_id}?limit=50",
        f"/api/conversations/{conversation_id}/messages?limit=50",
    ]
    small = [_count(app, client, path) for path in paths]
    for number in range(30):
        add_conversation(app, user.user_id, title=str(number))
    add_messages(app, conversation_id, 40)
    assert [_count(app, client, path) for path in paths] == small
    assert small == [2, 3, 3], "one for the token, one or two for the view"


@pytest.mark.mysql_only
def test_a_deep_page_reads_no_more_rows_than_the_first(app, user, make_user):
    with app.app_context():
        for person in (user, make_user()):
            at = [NOON + timedelta(seconds=n // 3) for n in range(1500)]
            rows = [{"user_id": person.user_id, "created_at": t, "updated_at": t} for t in at]
            db.session.execute(Conversation.__table__.insert(), rows)
        db.session.commit()
        db.session.execute(text("ANALYZE TABLE conversations"))
        cursor, read = None, []
        for _page in range(30):
            db.session.execute(text("FLUSH STATUS"))
            page = lists.list_conversations(user.user_id, ConversationQuery(limit=40, cursor=cursor))
            status = db.session.execute(text("SHOW SESSION STATUS LIKE 'Handler_read%'")).all()
            read.append(sum(int(value) for _, value in status))
            cursor = page.next_cursor
        db.session.rollback()
    assert max(read) <= 100, read


@SHARED
@given(
    about=st.lists(st.sampled_from(["", "title", "message", "pinned", "superseded"]), max_size=14),
    limit=st.integers(1, 5),
    at_once=st.integers(1, 4),
    pinned_first=st.booleans(),
)
def test_a_search_asks_about_some_conversations_at_a_time_and_finds_all_of_them(
    app_context, user, about, limit, at_once, pinned_first
):
    """One statement about all of them took longer than the web waits: a large account could not be searched."""
    _fill(user.user_id, [])
    for number, how in enumerate(about):
        at = NOON + timedelta(seconds=number // 2)
        row = Conversation(user_id=user.user_id, created_at=at, updated_at=at, is_pinned=how == "pinned")
        row.title = "The tide MILL" if how in ("title", "pinned") else "Herons"
        add_row(row)
        said = "At the Tide mill" if how in ("message", "superseded") else "Something else"
        message = add_row(Message(conversation_id=row.conversation_id, role="user", content=said))
        if how == "superseded":
            message.superseded_by_id = message.message_id
    db.session.commit()
    rows = {row.conversation_id: row for row in db.session.query(Conversation).filter_by(user_id=user.user_id)}
    wanted = [
        number for number in _in_order(user.user_id) if about[sorted(rows).index(number)] not in ("", "superseded")
    ]
    if pinned_first:
        wanted.sort(key=lambda number: not rows[number].is_pinned)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "SEARCH_BATCH", at_once)

        def search(cursor: str | None) -> Any:
            query = ConversationQuery(limit=limit, cursor=cursor, q="tide mill")
            return lists.list_conversations(user.user_id, query, pinned_first=pinned_first)

        pages = list(_walk(search))
    assert all(len(page.items) == limit for page in pages[:-1])
    assert [row.conversation_id for page in pages for row in page.items] == wanted


def test_no_statement_of_a_search_looks_through_more_than_some_conversations(app, user, monkeypatch):
    monkeypatch.setattr(lists, "SEARCH_BATCH", 2)
    for number in range(5):
        add_messages(app, add_conversation(app, user.user_id, at=NOON + timedelta(seconds=number)), 2)
    with app.app_context(), count_queries() as sent:
        assert lists.list_conversations(user.user_id, ConversationQuery(q="nowhere said")).items == []
    asked = [statement for statement in sent if re.search(r"(?:contains_words|replace)\(messages\.content", statement)]
    assert len(asked) == 3
    assert all("messages.conversation_id IN (" in statement for statement in asked)
