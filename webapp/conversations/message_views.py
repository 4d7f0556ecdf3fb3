"""Views of the conversation templates: messages with their versions, and the sidebar by date."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select, union_all

from webapp.conversations import lists, messages
from webapp.conversations.current_messages import current
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationQuery, MessagesQuery
from webapp.db.base import db, now
from webapp.extensions import this_app
from webapp.i18n import date_texts
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _, language_of
from webapp.rendering import reader_zone

MESSAGES_SHOWN = 24
PINNED = N_("Pinned")
MESSAGES_BEFORE = 10  # a message opened by its URL gets some context above it


@dataclass(frozen=True, slots=True)
class Versions:
    """The place of a message among its versions; previous and next are ids."""

    number: int
    total: int
    previous: int | None
    next: int | None


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as a template shows it."""

    message: Message
    versions: Versions | None = None
    can_retry: bool = False
    can_regenerate: bool = False
    can_continue: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A page of a conversation; the cursors are message ids, None where there is no more."""

    messages: list[MessageView]
    earlier_cursor: int | None
    has_later: bool


@dataclass(frozen=True, slots=True)
class Sidebar:
    """A page of the list, grouped under headings; `after` is the last heading of the page before."""

    groups: list[tuple[str, list[Conversation]]]
    cursor: str | None
    next_cursor: str | None
    after: str | None

    @property
    def conversations(self) -> list[Conversation]:
        """Return this page's conversations, in order."""
        return [row for _heading, rows in self.groups for row in rows]

    @property
    def last_heading(self) -> str | None:
        """Return the heading this page ends under."""
        return self.groups[-1][0] if self.groups else None


def thread(conversation_id: int, *, before: int | None = None, message_id: int | None = None) -> Thread:
    """Return the newest messages, those before an id, or those around one."""
    if message_id is not None:
        older = messages.list_messages(conversation_id, MessagesQuery(limit=MESSAGES_BEFORE, before=message_id))
        onwards = MessagesQuery(limit=MESSAGES_SHOWN, after=message_id - 1 if message_id > 1 else None)
        page = messages.list_messages(conversation_id, onwards)
        rows, earlier, later = [*older.items, *page.items], older.next_cursor, page.next_cursor is not None
    else:
        page = messages.list_messages(conversation_id, MessagesQuery(limit=MESSAGES_SHOWN, before=before))
        rows, earlier, later = page.items, page.next_cursor, before is not None
    return Thread(
        views(conversation_id, rows, is_end=not later),
        int(earlier) if earlier else None,
        later,
    )


def messages_since(conversation_id: int, last_id: int | None) -> list[MessageView] | None:
    """Return the messages after a page's last (an id); None if the page shows none or must be redrawn."""
    if last_id is None:
        return [] if messages.last_message_id(conversation_id) is None else None
    page = messages.list_messages(conversation_id, MessagesQuery(limit=MESSAGES_SHOWN, after=last_id - 1))
    if not page.items or page.items[0].message_id != last_id or page.next_cursor is not None:
        return None
    newer = page.items[1:]
    return views(conversation_id, newer, is_end=True) if newer else []


def views(conversation_id: int, rows: Sequence[Message], *, is_end: bool) -> list[MessageView]:
    """Return messages with their versions; only the last one of a conversation (`is_end`) can be retried."""
    siblings = _siblings(conversation_id, rows)
    result = []
    for row in rows:
        is_reply, is_last = row.role == "assistant", is_end and row is rows[-1]
        # What a reply answers, or the point it opens.
        is_known = row.reply_to_id is not None or messages.point_opened_by(row) is not None
        result.append(
            MessageView(
                row,
                _versions(row.message_id, siblings.get((row.role, row.parent_id), ())),
                can_continue=is_reply and is_last and row.can_continue,
                can_retry=is_reply and is_last and row.status in ("stopped", "interrupted", "failed"),
                can_regenerate=is_reply and row.status in ("complete", "stopped") and is_known,
            )
        )
    return result


def view_of(message: Message) -> MessageView:
    """Return one message as it stands in its conversation."""
    is_end = messages.last_message_id(message.conversation_id) == message.message_id
    return views(message.conversation_id, [message], is_end=is_end)[0]


def _siblings(conversation_id: int, rows: Sequence[Message]) -> dict[tuple[str, int | None], list[int]]:
    """Return the ids of all versions, oldest first, by place in the conversation."""
    columns = (Message.message_id, Message.role, Message.parent_id)
    # The parents are in this conversation, so they suffice; given its id as well, SQLite would read all of it.
    statement: Any = select(*columns).where(Message.parent_id.in_({row.parent_id for row in rows} - {None}))
    if any(row.parent_id is None for row in rows):
        statement = union_all(statement, *_beginnings(conversation_id))
    ids: dict[tuple[str, int | None], set[int]] = {}
    for row in (*db.session.execute(statement), *rows):
        ids.setdefault((row.role, row.parent_id), set()).add(row.message_id)
    return {place: sorted(siblings) for place, siblings in ids.items()}


def _beginnings(conversation_id: int) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    """Return the message a conversation begins with, and those it used to; no index on parents would help."""
    columns = (Message.message_id, Message.role, Message.parent_id)
    statement = messages.order_by_index(select(*columns)).where(current(conversation_id))
    first = statement.order_by(Message.message_id).limit(1).subquery()
    once = messages.order_by_index(select(*columns)).where(
        Message.conversation_id == conversation_id,
        Message.superseded_by_id.is_not(None),
        func.coalesce(Message.parent_id, 0) == 0,
    )
    return select(first).where(first.c.parent_id.is_(None)), once


def _versions(message_id: int, ids: Sequence[int]) -> Versions | None:
    if len(ids) < 2 or message_id not in ids:
        return None
    index = ids.index(message_id)
    return Versions(
        index + 1, len(ids), ids[index - 1] if index else None, ids[index + 1] if index + 1 < len(ids) else None
    )


def sidebar(
    user_id: int, *, cursor: str | None = None, count: int = 30, after: str | None = None, space_id: int | None = None
) -> Sidebar:
    """Return a page of the user's list, or of those in a space: pinned ones, then by date in the reader's time zone."""
    page = lists.list_conversations(
        user_id, ConversationQuery(cursor=cursor, limit=count, space_id=space_id), pinned_first=True
    )
    zone = reader_zone()
    today, code = datetime.now(zone).date(), language_of(this_app()).code
    groups: list[tuple[str, list[Conversation]]] = []
    for row in page.items:
        day = (row.updated_at or now()).astimezone(zone).date()
        heading = _(PINNED) if row.is_pinned else date_texts.list_heading(day, today, code)
        if not groups or groups[-1][0] != heading:
            groups.append((heading, []))
        groups[-1][1].append(row)
    return Sidebar(groups, cursor, page.next_cursor, after)
