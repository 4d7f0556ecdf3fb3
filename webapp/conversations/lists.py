"""Lists of conversations: what their filters select, the index their pages are read along, and search by words."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any

from markupsafe import Markup
from sqlalchemy import ColumnElement, CompoundSelect, Select, and_, false, or_, select, union
from sqlalchemy.orm import with_expression
from sqlalchemy.sql.base import ExecutableOption

from webapp.conversations.folders import get_folder
from webapp.conversations.journey_links import journey_id_of
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationQuery
from webapp.conversations.service import owned_conversations
from webapp.db.base import db
from webapp.db.index_hints import Statement
from webapp.db.text_search import contains_words
from webapp.http.paging import EPOCH, Keyset, comes_after
from webapp.http.validation import Page
from webapp.i18n.request_language import gettext as _
from webapp.markdown.rendering import strip_markdown
from webapp.rendering import highlight
from webapp.spaces.service import require_member
from webapp.text.words import search_form

SEARCH_BATCH = 500
"""Conversations whose messages one statement looks through."""


def list_conversations(user_id: int, query: ConversationQuery, *, pinned_first: bool = False) -> Page[Conversation]:
    """Newest activity first, without temporary ones; with `pinned_first` after the pinned ones, and with `is_writing`.

    Raises NotFound for a folder or space that is not the user's, Invalid for a cursor this list did not make.
    """
    keyset = keyset_of(user_id, query, pinned_first=pinned_first)
    position = keyset.position() if query.cursor else None
    statement = owned_conversations(user_id).where(
        Conversation.is_archived == query.archived,  # IS would not use the index
        Conversation.is_temporary == false(),
    )
    index = "ix_conversations_sidebar" if pinned_first else "ix_conversations_listing"
    if query.space_id is not None:
        require_member(user_id, query.space_id)
        statement = statement.where(Conversation.space_id == query.space_id)
        index = "ix_conversations_space_pinned" if pinned_first else "ix_conversations_space"
    if query.folder_id is not None:
        get_folder(user_id, query.folder_id)
        statement = statement.where(Conversation.folder_id == query.folder_id)
        index = "ix_conversations_folder"
    if query.journey is not None:
        journey_id = journey_id_of(query.journey)
        if journey_id is None:
            return Page([], None)
        statement = statement.where(Conversation.journey_id == journey_id)
    if query.is_pinned is not None:
        statement = statement.where(Conversation.is_pinned == query.is_pinned)
    if query.tag:
        statement = statement.where(contains_words(Conversation.tag_lines, f"\n{query.tag}\n"))
    # Left alone, MariaDB looks up the user and reads every newer row again: a page costs as much as all before it.
    statement = statement.with_hint(Conversation, f"FORCE INDEX ({index})", "mysql")
    if query.q:
        ids = _first_mentions(statement, query.q, position, limit=query.limit + 1, pinned_first=pinned_first)
        if not ids:
            return Page([], None)
        statement, position = owned_conversations(user_id).where(Conversation.conversation_id.in_(ids)), None
    statement = _after_position(statement, position, pinned_first=pinned_first)
    if pinned_first:
        statement = statement.options(_with_is_writing())
        # An open conversation was loaded before, without the columns that only the list needs.
        statement = statement.execution_options(populate_existing=True)
    rows = db.session.scalars(statement.limit(query.limit + 1)).all()

    return keyset.page(rows, partial(_place, pinned_first=pinned_first))


def keyset_of(user_id: int, query: ConversationQuery, *, pinned_first: bool = False) -> Keyset:
    """Return the order of `list_conversations`."""
    if pinned_first:
        return Keyset("conversations, pinned ones first", query, int, datetime, int, scope=user_id)
    return Keyset("conversations", query, datetime, int, scope=user_id)


def _place(row: Any, *, pinned_first: bool) -> tuple[Any, ...]:
    place = (row.updated_at or EPOCH, row.conversation_id)
    return (int(row.is_pinned), *place) if pinned_first else place


def _after_position(statement: Statement, position: tuple[Any, ...] | None, *, pinned_first: bool) -> Statement:
    order: list[ColumnElement[Any]] = [Conversation.updated_at.desc(), Conversation.conversation_id.desc()]
    if pinned_first:
        order.insert(0, Conversation.is_pinned.desc())
    if position is None:
        return statement.order_by(*order)
    *pinned, moment, last_id = position
    later = comes_after((Conversation.updated_at, Conversation.conversation_id), (moment, last_id))
    if any(pinned):
        later = or_(Conversation.is_pinned == false(), later)
    elif pinned_first:
        later = and_(Conversation.is_pinned == false(), later)
    return statement.where(later).order_by(*order)


@cache
def _with_is_writing() -> ExecutableOption:
    """Load whether a reply is being written: there are few at any time, and they have an index."""
    statement = select(Message.conversation_id).where(
        Message.status == "streaming", Message.conversation_id == Conversation.conversation_id
    )
    indexed = statement.with_hint(Message, "FORCE INDEX (ix_messages_status)", "mysql")
    return with_expression(Conversation.is_writing, indexed.exists())


def _first_mentions(
    statement: Select[Any], q: str, position: tuple[Any, ...] | None, *, limit: int, pinned_first: bool
) -> list[int]:
    """Return the next conversations whose title or messages contain the words, a limited number per statement."""
    places = statement.with_only_columns(Conversation.conversation_id, Conversation.updated_at, Conversation.is_pinned)
    mentions: list[int] = []
    while len(mentions) < limit:
        rows = db.session.execute(
            _after_position(places, position, pinned_first=pinned_first).limit(SEARCH_BATCH)
        ).all()
        if not rows:
            break
        ids = [row.conversation_id for row in rows]
        mentioning = set(db.session.scalars(_mentions(q, ids)))
        mentions += [number for number in ids if number in mentioning]
        position = _place(rows[-1], pinned_first=pinned_first)
        if len(rows) < SEARCH_BATCH:
            break
    return mentions[:limit]


def _mentions(q: str, conversation_ids: list[int]) -> CompoundSelect[int]:
    """Return which conversations mention the words; as a condition, MariaDB would read everybody's messages."""
    statement = select(Conversation.conversation_id).where(
        Conversation.conversation_id.in_(conversation_ids), contains_words(Conversation.title, q)
    )
    mentions = select(Message.conversation_id).where(
        Message.conversation_id.in_(conversation_ids),
        Message.superseded_by_id.is_(None),
        contains_words(Message.content, q),
    )
    return union(statement, mentions)


MAX_MESSAGES = 200
MAX_EXCERPT = 4_000
"""Characters of a message that are read for what is shown of it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A conversation that matches; `message_id` and `excerpt` where a message does."""

    conversation_id: int
    title: Markup
    at: datetime
    message_id: int | None
    excerpt: Markup | None


def find_conversations(user_id: int, q: str, limit: int = 12) -> list[Hit]:
    """Return conversations that mention the words, newest first, the archived ones last."""
    if not q.strip():
        return []
    rows = [
        row
        for archived in (False, True)
        for row in list_conversations(user_id, ConversationQuery(q=q, archived=archived, limit=limit)).items
    ][:limit]
    mentions = _newest_mentions([row.conversation_id for row in rows], q)
    hits = []
    for row in rows:
        message = mentions.get(row.conversation_id)
        title = highlight(row.title or _("New conversation"), q)
        excerpt = highlight(_plain(message[1], q), q) if message else None
        hits.append(Hit(row.conversation_id, title, row.updated_at, message[0] if message else None, excerpt))
    return hits


def _plain(text: str, q: str) -> str:
    """Return the part of a message with the words, as it reads; the message itself if they are only in its markup."""
    needle, blocks = search_form(q.strip()), text.split("\n\n")
    first = next((number for number, block in enumerate(blocks) if needle in search_form(block)), 0)
    plain = " ".join(strip_markdown("\n\n".join(blocks[first : first + 3])[:MAX_EXCERPT]).split())
    return plain if needle in search_form(plain) else text


def _newest_mentions(conversation_ids: list[int], q: str) -> dict[int, tuple[int, str]]:
    """Return the newest current message containing the words, for each conversation."""
    statement = (
        select(Message.conversation_id, Message.message_id, Message.content)
        .where(
            Message.conversation_id.in_(conversation_ids),
            Message.superseded_by_id.is_(None),
            contains_words(Message.content, q),
        )
        .order_by(Message.message_id.desc())
        .limit(MAX_MESSAGES)
    )
    mentions: dict[int, tuple[int, str]] = {}
    for conversation_id, message_id, content in db.session.execute(statement):
        mentions.setdefault(conversation_id, (message_id, content))
    return mentions
