"""People's ratings of replies: given, changed, removed by themselves; counted for admins, read only with consent."""

from datetime import timedelta

from sqlalchemy import case, func, select

from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.conversations.messages import get_message
from webapp.conversations.models import Conversation, Message, MessageFeedback
from webapp.conversations.schemas import FeedbackCount, NewFeedback, ReadableFeedback
from webapp.db.base import db, delete_row, get_or_raise, now
from webapp.errors import Conflict, require
from webapp.http.paging import read_page
from webapp.http.validation import Page, PageQuery

AUDIT_INTERVAL = 3_600
"""Seconds within which an admin's reading of the same reply is recorded only once."""


def find_feedback(user_id: int, message_id: int) -> MessageFeedback | None:
    """Return what the user thinks of a reply, if they rated it. Raises NotFound for a message that is not theirs."""
    return db.session.get(MessageFeedback, get_message(user_id, message_id).message_id)


def give_feedback(user_id: int, message_id: int, fields: NewFeedback) -> MessageFeedback:
    """Set or replace the user's rating of a reply. Raises NotFound, Conflict for what is not a finished reply."""
    message = get_message(user_id, message_id)
    if message.role != "assistant" or message.status == "streaming":
        raise Conflict("Only a reply that has been written can be rated.")
    get_or_raise(Message, message_id, lock=True)  # two ratings at once are handled one after the other
    row = db.session.get(MessageFeedback, message_id, with_for_update=True)
    if row is None:
        row = MessageFeedback(
            message_id=message_id, user_id=user_id, model=message.model, prompt_version=message.prompt_version
        )
        db.session.add(row)
    row.rating, row.reasons, row.comment = fields.rating, list(fields.reasons), fields.comment
    row.may_read = fields.may_read
    db.session.flush()
    return row


def remove_rating(user_id: int, message_id: int) -> None:
    """Remove the user's rating of a reply, if there is one. Raises NotFound."""
    row = find_feedback(user_id, message_id)
    if row is not None:
        delete_row(row)


def counts(days: int) -> list[FeedbackCount]:
    """Return how replies were rated in the last days, by day (UTC), model and prompt version, newest day first."""
    day = func.date(MessageFeedback.created_at)
    columns = (day, MessageFeedback.model, MessageFeedback.prompt_version)
    rows = db.session.execute(
        select(
            *columns,
            func.sum(case((MessageFeedback.rating == "up", 1), else_=0)),
            func.sum(case((MessageFeedback.rating == "down", 1), else_=0)),
        )
        .where(MessageFeedback.created_at >= now() - timedelta(days=days))
        .group_by(*columns)
        .order_by(day.desc(), MessageFeedback.model, MessageFeedback.prompt_version)
    )
    return [
        FeedbackCount(day=str(at), model=model, prompt_version=version, up=int(up), down=int(down))
        for at, model, version, up, down in rows
    ]


def readable(query: PageQuery) -> Page[ReadableFeedback]:
    """Return what people let admins read, newest first; a reply's owner is told of each reading. Raises Invalid."""
    statement = (
        select(MessageFeedback, Message.content)
        .join(Message, Message.message_id == MessageFeedback.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(MessageFeedback.may_read, Conversation.deleted_at.is_(None))
    )
    page = read_page("readable feedback", query, statement, MessageFeedback.message_id)
    for row, *_ in page.items:
        audit.record(row.user_id, Action.ADMIN_LOOKED, f"reply {row.message_id}", once_in=AUDIT_INTERVAL)
    return page.map(lambda item: ReadableFeedback.from_row(item[0], reply=item[1]))


def require_feedback(user_id: int, message_id: int) -> MessageFeedback:
    """As `find_feedback`; also raises NotFound if there is no rating."""
    return require(find_feedback(user_id, message_id), "This reply has not been rated.")
