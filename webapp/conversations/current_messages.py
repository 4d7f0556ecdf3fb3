"""The current messages of a conversation, without those edited away; their versions; all replies to one person."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, Select, and_, func, select
from sqlalchemy.orm import aliased

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now

MessageRow = TypeVar("MessageRow", bound=Row[*tuple[Any, ...]] | Message)

RECENT = timedelta(minutes=15)
_ENDED_EARLY = ("failed", "stopped", "interrupted")


def current(conversation_id: int, role: str | None = None) -> ColumnElement[bool]:
    """Return the condition that a message is part of the conversation now; with `role`, from that side."""
    side = [Message.role == role] if role is not None else []
    return and_(Message.conversation_id == conversation_id, Message.superseded_by_id.is_(None), *side)


def previous_messages(conversation_id: int, message_id: int, role: str, limit: int = 1) -> Select[Message]:
    """Return what one side said before a message, latest first."""
    earlier = select(Message).where(current(conversation_id, role), Message.message_id < message_id)
    return earlier.order_by(Message.message_id.desc()).limit(limit)


def count_current(conversation_id: int, role: str | None = None, *, after: int = 0, through: int | None = None) -> int:
    """Return how many messages there are after one, and up to another if that is given."""
    statement = (
        select(func.count()).select_from(Message).where(current(conversation_id, role), Message.message_id > after)
    )
    return db.session.scalar(statement if through is None else statement.where(Message.message_id <= through)) or 0


def first_unfinished(conversation_id: int) -> int | None:
    """Return the reply that is being written; later ones wait for it, since turns of a conversation run in order."""
    unfinished = select(func.min(Message.message_id)).where(current(conversation_id), Message.status == "streaming")
    return db.session.scalar(unfinished.with_hint(Message, "FORCE INDEX (ix_messages_status)", "mysql"))


def before_unfinished(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation's messages, in order, before the first that waits for a reply."""
    reply = next((message for message in messages if message.status == "streaming"), None)
    if reply is None:
        return list(messages)
    return [message for message in messages if message.message_id < (reply.reply_to_id or reply.message_id)]


def earlier_versions(message_ids: Collection[int]) -> dict[int, list[Message]]:
    """Return the versions whose place messages took, latest first, by the message."""
    now_there, before = aliased(Message), aliased(Message)
    is_version = (before.superseded_by_id == now_there.message_id) & (before.role == now_there.role)
    statement = select(now_there.message_id, before).join(
        before, is_version & before.parent_id.is_not_distinct_from(now_there.parent_id)
    )
    found: dict[int, list[Message]] = defaultdict(list)
    latest = {number: number for number in message_ids}
    while latest:
        rows = db.session.execute(statement.where(now_there.message_id.in_(latest))).all()
        for number, version in rows:
            found[latest[number]].append(version)
        latest = {version.message_id: latest[number] for number, version in rows}
    return found


def with_last_answers(messages: Iterable[MessageRow]) -> list[MessageRow | Message]:
    """Return messages, with the last version that says something in place of each reply that came to nothing."""
    rows = list(messages)
    failed = [row.message_id for row in rows if row.status in _ENDED_EARLY and not _says_something(row)]
    versions_of = earlier_versions(failed) if failed else {}
    answers = {number: next(filter(_says_something, versions), None) for number, versions in versions_of.items()}
    return [answers.get(row.message_id) or row for row in rows]


def _says_something(row: Row[*tuple[Any, ...]] | Message) -> bool:
    return row.status != "failed" and bool(row.content.strip())


def models_answering(is_running: Callable[[int], bool]) -> set[str | None]:
    """Return the models chosen for the replies being written, to anybody; not for one begun before RECENT, or whose
    turn is not running."""
    recent = select(Message.message_id, Conversation.model).where(
        Message.status == "streaming",
        Message.created_at > now() - RECENT,
        Message.conversation_id == Conversation.conversation_id,
    )
    chosen = db.session.execute(recent).all()
    db.session.rollback()  # who asks is about to call a model
    return {model for message_id, model in chosen if is_running(message_id)}


PORTION = 900
"""Messages; MariaDB looks up longer lists of ids (from 1,000 on) by way of a table that it makes of them."""
ID_BATCH = 10_000


def messages_of(user_id: int, role: str) -> Iterator[Sequence[int]]:
    """Yield the ids of all messages of a role in a user's conversations, each once, in ascending order."""
    statement = (
        select(Message.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(Conversation.user_id == user_id, Message.role == role)
        .execution_options(yield_per=ID_BATCH)
    )
    message_ids = array("q")
    for batch in db.session.scalars(statement).partitions():
        message_ids.extend(batch)
    ids = array("q", sorted(message_ids))
    for first in range(0, len(ids), PORTION):
        yield ids[first : first + PORTION].tolist()
