"""The messages of a conversation: pages, versions, and what a new message, an edit or a restore does to the rest."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, bindparam, func, insert, select, update
from sqlalchemy.orm import with_expression

from webapp.conversations.current_messages import current
from webapp.conversations.models import Conversation, Message, MessageReasoning, rating_of_message
from webapp.conversations.schemas import MessagesQuery
from webapp.conversations.signals import messages_changed
from webapp.db.base import db, insert_row, now, rows_changed, table_of
from webapp.errors import Conflict, NotFound, require
from webapp.http.validation import MAX_ID, Page
from webapp.text.provenance import Spans, spans_of_others


def get_message(user_id: int, message_id: int) -> Message:
    """Return a message in one of the user's conversations. Raises NotFound."""
    row = db.session.scalar(
        select(Message)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(
            Message.message_id == message_id,
            Conversation.user_id == user_id,
            Conversation.deleted_at.is_(None),
        )
    )
    return require(row, "There is no such message.")


def order_by_index(statement: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """Read current messages along their index: left alone, MariaDB sorts the whole conversation to return its end."""
    return statement.with_hint(Message, "FORCE INDEX (ix_messages_conversation)", "mysql")


def list_messages(conversation_id: int, query: MessagesQuery) -> Page[Message]:
    """Return a page of current messages, oldest first: the newest, those before an id, or the first after one."""
    statement = order_by_index(select(Message)).where(current(conversation_id))
    statement = statement.options(with_expression(Message.rating, rating_of_message()))
    forward = query.after is not None
    edge = min(int(query.cursor), MAX_ID) if query.cursor else None
    ends = [end for end in (query.before, None if forward else edge) if end is not None]
    if ends:
        statement = statement.where(Message.message_id < min(ends))
    if forward:
        statement = statement.where(Message.message_id > max(query.after or 0, edge or 0))
    statement = statement.order_by(Message.message_id if forward else Message.message_id.desc())
    rows = db.session.scalars(statement.limit(query.limit + 1)).all()
    items = list(rows[: query.limit])
    cursor = str(items[-1].message_id) if len(rows) > query.limit else None
    return Page(items if forward else items[::-1], cursor)


def messages_lost(texts: Mapping[int, str]) -> bool:
    """Return whether any of these messages, by id, no longer has this text, because it was withdrawn."""
    now_said = select(Message.message_id, Message.content).where(Message.message_id.in_(texts))
    return {row.message_id: row.content for row in db.session.execute(now_said)} != dict(texts)


CurrentMessage = Row[int, int | None, str, str, str, bool, str | None]
"""Id, parent, role, content, status, taint and model of a message."""


def current_messages(conversation_id: int, *, after: int = 0) -> Sequence[CurrentMessage]:
    """Return the current messages of a conversation, in order; those after `after` only."""
    return db.session.execute(_current_messages(), {"conversation": conversation_id, "after": after}).all()


@cache
def _current_messages() -> Select[int, int | None, str, str, str, bool, str | None]:
    return (
        select(
            Message.message_id,
            Message.parent_id,
            Message.role,
            Message.content,
            Message.status,
            Message.is_tainted,
            Message.model,
        )
        .where(
            Message.conversation_id == bindparam("conversation"),
            Message.superseded_by_id.is_(None),
            Message.message_id > bindparam("after"),
        )
        .order_by(Message.message_id)
    )


def last_message_id(conversation_id: int) -> int | None:
    """Return the newest current message."""
    return db.session.scalar(select(func.max(Message.message_id)).where(current(conversation_id)))


def add_exchange(
    conversation: Conversation,
    content: str,
    *,
    parent_id: int | None,
    custom_payload: dict[str, Any] | None = None,
    model: str | None = None,
    spans: Spans = (),
    is_counted: bool = False,
) -> tuple[Message, Message]:
    """Add a user message and the empty, streaming reply by `model`; `spans` are what was not typed.

    `is_counted`: the conversation was just created for these two.
    """
    question = insert_row(
        Message,
        conversation_id=conversation.conversation_id,
        role="user",
        content=content,
        status="complete",
        parent_id=parent_id,
        created_at=now(),
        custom_payload=custom_payload or None,
        spans=[*spans] or None,
        is_tainted=bool(spans_of_others(content, tuple(spans))),
    )
    reply = _add_streaming(
        conversation.conversation_id,
        question.message_id,
        reply_to_id=question.message_id,
        model=model,
        is_tainted=question.is_tainted,
    )
    if not is_counted:
        conversation.updated_at = reply.created_at
        conversation.message_count += 2
    return question, reply


def add_reply(conversation: Conversation, question: Message) -> Message:
    """Return the empty, streaming reply to a user message."""
    asked_id = question.message_id
    reply = _add_streaming(conversation.conversation_id, asked_id, reply_to_id=asked_id, is_tainted=question.is_tainted)
    return _count(conversation, reply)


def add_part(conversation: Conversation, reply: Message) -> Message:
    """Return the empty, streaming message that continues a reply."""
    part = _add_streaming(conversation.conversation_id, reply.message_id, reply_to_id=reply.reply_to_id)
    return _count(conversation, part)


def add_opening(conversation: Conversation, payload: dict[str, Any], *, parent_id: int | None) -> Message:
    """Add the empty, streaming message with which the assistant opens the point whose slug is `payload["point"]`."""
    return _count(conversation, _add_streaming(conversation.conversation_id, parent_id, custom_payload=payload))


def _add_streaming(conversation_id: int, parent_id: int | None, **values: Any) -> Message:
    return insert_row(
        Message,
        conversation_id=conversation_id,
        role="assistant",
        content="",
        status="streaming",
        parent_id=parent_id,
        created_at=now(),
        **values,
    )


def _count(conversation: Conversation, row: Message) -> Message:
    """Return a new message, counted; it moves the conversation to the top of its list."""
    conversation.updated_at = row.created_at
    conversation.message_count += 1
    return row


def add_past_messages(conversation: Conversation, rows: Sequence[Message], *, parent_id: int | None = None) -> None:
    """Append messages from elsewhere, the first of them after `parent_id`; no memories are made of them."""
    for row in rows:
        row.conversation_id = conversation.conversation_id
    db.session.add_all(rows)
    db.session.flush()  # in one statement: the ids come in order
    asked_id = None
    for row in rows:
        row.parent_id = parent_id
        row.reply_to_id = asked_id if row.role == "assistant" else None
        parent_id = row.message_id
        asked_id = row.message_id if row.role == "user" else asked_id
    conversation.message_count += len(rows)
    conversation.extracted_through = rows[-1].message_id
    messages_changed.send(None, conversation=conversation, first_id=rows[0].message_id)
    db.session.flush()


def point_opened_by(message: Message) -> str | None:
    """Return the slug of the point that a message opens, if it does."""
    slug = (message.custom_payload or {}).get("point") if message.role == "assistant" else None
    return slug if isinstance(slug, str) and message.reply_to_id is None else None


def supersede_from(conversation: Conversation, first_id: int, successor: Message, *, keep: Sequence[int] = ()) -> int:
    """Mark current messages from `first_id` on as superseded by `successor`, except it and `keep`. Returns a count."""
    count = rows_changed(
        update(Message)
        .where(
            current(conversation.conversation_id),
            Message.message_id >= first_id,
            Message.message_id.not_in([successor.message_id, *keep]),
        )
        .values(superseded_by_id=successor.message_id)
        .execution_options(synchronize_session=False)
    )
    conversation.message_count = max(0, conversation.message_count - count)
    if count:
        messages_changed.send(None, conversation=conversation, first_id=first_id)
    return count


def versions_of(message: Message) -> Sequence[Message]:
    """Return the message and its siblings (edited or regenerated in its place), oldest first."""
    return db.session.scalars(
        select(Message)
        .where(
            Message.conversation_id == message.conversation_id,
            Message.role == message.role,
            Message.parent_id == message.parent_id,
        )
        .order_by(Message.message_id)
        .execution_options(populate_existing=True)
    ).all()


def restore_version(conversation: Conversation, message: Message, version_id: int) -> Message:
    """Restore a version of a message, with what followed it. Raises NotFound, Conflict if it cannot take its place."""
    siblings = versions_of(message)
    version = next((row for row in siblings if row.message_id == version_id), None)
    if version is None:
        raise NotFound("That is not a version of this message.")
    if version.superseded_by_id is None:
        return version
    before = db.session.get(Message, version.parent_id, populate_existing=True) if version.parent_id else None
    if before is not None and before.superseded_by_id is not None:
        raise Conflict("What this followed is itself an earlier version. Restore that first.")
    rows = db.session.scalars(
        select(Message).where(Message.conversation_id == conversation.conversation_id).order_by(Message.message_id)
    ).all()
    if any(row.status == "streaming" and row.superseded_by_id is None for row in rows):
        raise Conflict("A reply is being written. Stop it first.")
    # The same act took all of it out.
    same_cause = [row for row in rows if row.superseded_by_id == version.superseded_by_id]
    branch = _subtree(same_cause, {version.message_id})
    in_place = _subtree(rows, {row.message_id for row in siblings})
    updates = []
    for row in rows:
        if row.message_id in branch:
            row.superseded_by_id = None
            conversation.message_count += 1
        elif row.superseded_by_id is None and row.message_id in in_place:
            row.superseded_by_id = version.message_id
            conversation.message_count -= 1
        else:
            continue
        updates.append(row.message_id)
    db.session.flush()
    messages_changed.send(None, conversation=conversation, first_id=min(updates))
    return version


def _subtree(rows: Sequence[Message], heads: set[int]) -> set[int]:
    """Return the heads and everything below them, of rows in id order."""
    ids = set(heads)
    for row in rows:
        if row.parent_id in ids:
            ids.add(row.message_id)
    return ids


def store_reasoning(message_id: int, text: str, duration_ms: int) -> None:
    """Store the reasoning for a reply that has just become final: apart from it, and read only by its owner."""
    values = {"message_id": message_id, "content": text.strip(), "duration_ms": duration_ms}
    db.session.execute(insert(table_of(MessageReasoning)), values)


def get_reasoning(user_id: int, message_id: int) -> MessageReasoning:
    """Return the reasoning for one of the user's replies. Raises NotFound, also if there is none."""
    row = db.session.get(MessageReasoning, get_message(user_id, message_id).message_id)
    return require(row, "No reasoning is kept for this message.")
