"""Links to conversations: create, list, revoke, and what a visitor sees. Only the owner can create and list links."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, select, update

from webapp.accounts.models import User
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.conversations.current_messages import current
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import get_conversation
from webapp.db.base import add_row, count_rows, db, delete_row, own_row
from webapp.errors import Conflict, Invalid, NotFound, require
from webapp.http.paging import read_page
from webapp.http.validation import Page
from webapp.sharing.models import ConversationShare
from webapp.sharing.schemas import LATEST_YEAR, NewShare, ShareQuery

PAGE_LENGTH = 100
MAX_MESSAGES = 5_000
"""The most messages in one snapshot."""
MAX_LINKS = 200
"""The most links to one conversation."""
MAX_EXCHANGES = 200
"""The most questions offered for choosing a range."""
EXCHANGE_WORDS = 60
"""The most characters shown of such a question."""


@dataclass(frozen=True)
class SharedConversation:
    """A visitor's view: a title (none for a range), some messages, and the id after which more follow."""

    title: str | None
    is_live: bool
    messages: Sequence[Message]
    next_after: int | None


def create_share(user_id: int, conversation_id: int, fields: NewShare) -> ConversationShare:
    """Create a link. Raises NotFound, Invalid for a range that does not exist, Conflict if nothing can be shared."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    if conversation.is_temporary:
        raise Conflict("A temporary conversation cannot be shared.")
    if count_rows(ConversationShare.conversation_id == conversation_id) >= MAX_LINKS:
        raise Conflict("This conversation already has %(most_links)s links. Revoke some first.", most_links=MAX_LINKS)
    message_ids = db.session.scalars(
        select(Message.message_id).where(current(conversation_id), _is_showable()).order_by(Message.message_id)
    ).all()
    for name, edge in (("from", fields.first), ("to", fields.last)):
        if edge is not None and edge not in message_ids:
            raise Invalid.field(name, "is not a message of this conversation")
    if fields.first is not None and fields.last is not None and fields.first > fields.last:
        raise Invalid.field("to", "comes before the first message")
    selection = [i for i in message_ids if (fields.first or 0) <= i <= (fields.last or i)]
    if not selection:
        raise Conflict("There is nothing to share yet.")
    if len(selection) > MAX_MESSAGES and not fields.live:
        raise Invalid.field(
            "from",
            "leaves %(count)s messages; a snapshot can have at most %(most_messages)s",
            count=f"{len(selection):,}",
            most_messages=f"{MAX_MESSAGES:,}",
        )
    row = ConversationShare(
        user_id=user_id,
        conversation_id=conversation_id,
        token=secrets.token_urlsafe(24),
        is_live=fields.live,
        audience=fields.audience,
        first_message_id=fields.first,
        last_message_id=fields.last,
        message_ids=None if fields.live else selection,
        expires_at=fields.expires_at,
    )
    add_row(row)
    audit.record(user_id, Action.SHARE_CREATED, f"conversation {conversation_id}", detail={"share_id": row.share_id})
    _note_live(conversation_id)
    return row


@dataclass(frozen=True)
class Exchange:
    """A possible beginning or end of a range: a question, its first words, and the last message before the next."""

    first_id: int
    last_id: int
    words: str


def list_exchanges(user_id: int, conversation_id: int) -> list[Exchange]:
    """Return where a range can begin and end, oldest first; the newest MAX_EXCHANGES. Raises NotFound."""
    get_conversation(user_id, conversation_id)
    rows = db.session.execute(
        select(Message.message_id, Message.role, func.substr(Message.content, 1, 4 * EXCHANGE_WORDS))
        .where(current(conversation_id), _is_showable())
        .order_by(Message.message_id.desc())
        .limit(2 * MAX_EXCHANGES)
    ).all()
    exchanges: list[Exchange] = []
    for message_id, role, content in reversed(rows):
        if role == "user" or not exchanges:
            exchanges.append(Exchange(message_id, message_id, _first_words(content)))
        else:
            exchanges[-1] = replace(exchanges[-1], last_id=message_id)
    return exchanges[-MAX_EXCHANGES:]


def _first_words(content: str) -> str:
    line = " ".join(content.split())
    return line if len(line) <= EXCHANGE_WORDS else line[: EXCHANGE_WORDS - 1].rstrip() + "…"


def list_shares(user_id: int, query: ShareQuery) -> Page[tuple[ConversationShare, str | None]]:
    """Return the user's links with their conversations' titles, newest first. Raises Invalid for a foreign cursor."""
    statement = (
        select(ConversationShare, Conversation.title)
        .join(Conversation, Conversation.conversation_id == ConversationShare.conversation_id)
        .where(ConversationShare.user_id == user_id, Conversation.deleted_at.is_(None))
    )
    if query.conversation_id is not None:
        statement = statement.where(ConversationShare.conversation_id == query.conversation_id)
    page = read_page("shares", query, statement, ConversationShare.share_id, scope=user_id)
    return page.map(lambda row: (row[0], row[1]))


def get_share(user_id: int, share_id: int) -> ConversationShare:
    """Return one of the user's links. Raises NotFound."""
    return require(own_row(ConversationShare, user_id, share_id), "There is no such link.")


def revoke_share(user_id: int, share_id: int) -> None:
    """End a link at once. Raises NotFound."""
    row = get_share(user_id, share_id)
    delete_row(row)
    audit.record(user_id, Action.SHARE_REVOKED, f"conversation {row.conversation_id}", detail={"share_id": share_id})
    _note_live(row.conversation_id)


def open_share(token: str, *, is_signed_in: bool, after: int = 0) -> SharedConversation | None:
    """Return what a link shows after message `after`; None before signing in. Raises NotFound once it is not valid."""
    row = db.session.execute(
        select(ConversationShare, Conversation.title)
        .join(Conversation, Conversation.conversation_id == ConversationShare.conversation_id)
        .join(User, User.user_id == ConversationShare.user_id)
        .where(ConversationShare.token == token, Conversation.deleted_at.is_(None), User.is_active)
    ).one_or_none()
    if row is None or row[0].is_expired:
        raise NotFound("This link no longer exists.")
    share, title = row
    if share.audience == "accounts" and not is_signed_in:
        return None
    rows = _messages_after(share, after)
    has_more = len(rows) > PAGE_LENGTH
    rows = rows[:PAGE_LENGTH]
    is_range = share.first_message_id is not None or share.last_message_id is not None
    return SharedConversation(
        None if is_range else title, share.is_live, rows, rows[-1].message_id if has_more else None
    )


def _note_live(conversation_id: int) -> None:
    """Store on the conversation how long its live links work."""
    never = datetime(LATEST_YEAR, 12, 31, tzinfo=UTC)
    end_times = db.session.scalars(
        select(ConversationShare.expires_at).where(
            ConversationShare.conversation_id == conversation_id, ConversationShare.is_live
        )
    ).all()
    until = max((end or never for end in end_times), default=None)
    db.session.execute(
        update(Conversation)
        .where(Conversation.conversation_id == conversation_id)
        .values(shared_live_until=until, updated_at=Conversation.updated_at)
    )


def _messages_after(share: ConversationShare, after: int) -> Sequence[Message]:
    """Return the messages after `after`, at most one more than PAGE_LENGTH."""
    statement = select(Message).where(
        Message.conversation_id == share.conversation_id, Message.message_id > after, _is_showable()
    )
    if share.is_live:
        statement = statement.where(Message.superseded_by_id.is_(None))
        if share.first_message_id is not None:
            statement = statement.where(Message.message_id >= share.first_message_id)
        if share.last_message_id is not None:
            statement = statement.where(Message.message_id <= share.last_message_id)
    else:
        following = [i for i in share.message_ids or () if i > after]
        statement = statement.where(Message.message_id.in_(following[: PAGE_LENGTH + 1]))
    return db.session.scalars(statement.order_by(Message.message_id).limit(PAGE_LENGTH + 1)).all()


def _is_showable() -> ColumnElement[bool]:
    return (Message.content != "") & Message.status.in_(("complete", "stopped", "interrupted"))
