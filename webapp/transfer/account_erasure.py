"""Deleting everything in an account piece by piece, and searching for anything that might be left."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Table, delete, func, inspect, or_, select, update
from sqlalchemy.exc import NoSuchTableError
from sqlalchemy.orm import aliased

from webapp.accounts import deletion
from webapp.accounts.models import AccountDeletion, User
from webapp.accounts.service import delete_user
from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice
from webapp.chat.turns.runtime import drop_streams_in
from webapp.conversations.models import Conversation, Message
from webapp.db.base import Base, count_rows, db, now, rows_changed, table_of, write_transaction
from webapp.extensions import redis
from webapp.files.models import File
from webapp.files.service import delete_file
from webapp.files.storage import file_storage, key_of, picture_key
from webapp.files.uploads import existing_contents
from webapp.journeys.models import JourneyVersion
from webapp.memories.models import Memory
from webapp.spaces.models import Space, SpaceDocument, SpaceMember
from webapp.transfer import storage
from webapp.transfer.service import stored_files


@dataclass(frozen=True)
class AccountContents:
    """The extent of a deletion; which spaces are deleted or go to another member; how many documents stay in spaces."""

    conversations: int
    memories: int
    files: int
    deleted_spaces: list[str]
    transferred_spaces: list[str]
    documents_left: int


def list_account_contents(user_id: int) -> AccountContents:
    """Return what somebody has, and what of it stays for others when they leave."""
    other = aliased(SpaceMember)
    spaces = db.session.execute(
        select(Space.name, func.count(other.space_member_id))
        .join(SpaceMember, SpaceMember.space_id == Space.space_id)
        .outerjoin(
            other,
            (other.space_id == Space.space_id) & (other.status == "active") & (other.user_id != user_id),
        )
        .where(SpaceMember.user_id == user_id, SpaceMember.role == "owner")
        .group_by(Space.space_id, Space.name)
        .order_by(Space.name)
    ).all()
    shared = select(SpaceMember.space_id).where(
        SpaceMember.user_id != user_id, SpaceMember.status == "active", SpaceMember.user_id.is_not(None)
    )
    return AccountContents(
        count_rows(Conversation.user_id == user_id, Conversation.deleted_at.is_(None)),
        count_rows(Memory.user_id == user_id),
        count_rows(File.user_id == user_id),
        [name for name, others in spaces if not others],
        [name for name, others in spaces if others],
        count_rows(SpaceDocument.user_id == user_id, SpaceDocument.space_id.in_(shared)),
    )


CONVERSATIONS = 20
ROWS = 500
SPECIAL_TABLES = {"users", "space_members", "conversations", "memories", "files", "imports", "exports", "usage_sums"}
"""Tables that are deleted from in their own way, or with the account at the end."""
NAMES = {"user_id", "owner_id", "author_id", "actor_id", "admin_id", "invited_by", "created_by", "activated_by"}
"""Columns that name somebody; others are found by their reference to `users`."""


def delete_account(user_id: int, *, seconds: float | None = None) -> str:
    """Continue deleting a due account, a piece a transaction; return `kept`, `running` or `done`."""
    turn = Slice(seconds)
    with write_transaction():
        if not deletion.begin_due(user_id):
            return "kept"
    contents: set[str] = set()
    for _ in _pieces(user_id, contents):
        if not turn.has_time():
            with write_transaction():
                enqueue_after_commit("delete_account", user_id=user_id)
            return "running"
    stored = [storage.path_of(name) for name in stored_files(user_id)]
    user = db.session.get(User, user_id)
    email = user.email if user else ""
    with write_transaction():
        if db.session.get(User, user_id) is not None:
            delete_user(user_id)
    _sweep_redis(user_id)
    files_left = sum(path.exists() for path in stored) + sum(map(_has_bytes, contents))
    report = traces(user_id, email) | {"files_left": files_left}
    with write_transaction():
        deletion.finish(user_id, report)
    return "done"


def traces(user_id: int, email: str = "") -> dict[str, Any]:
    """Return what is left of a user, in every column of every table that names somebody, and in every key in Redis."""
    left: dict[str, int] = {}
    tables = 0
    for table in _tables():
        columns = [column for column in table.columns if _names_somebody(column)]
        conditions = [column == user_id for column in columns]
        if email and "email" in table.columns:
            conditions.append(table.columns["email"] == email)
        if not conditions:
            continue
        tables += 1
        count = db.session.scalar(select(func.count()).select_from(table).where(or_(*conditions))) or 0
        if count:
            left[table.name] = count
    keys_left = len(_redis_keys(user_id))
    return {"tables": tables, "left": left, "redis_keys_left": keys_left, "searched_at": now().isoformat()}


def _pieces(user_id: int, contents: set[str]) -> Iterator[int]:
    """Delete a little at a time, yielding after each step. Collects the digests of deleted files in `contents`."""
    pieces: list[Callable[[int], int]] = [
        _rows_of(table_of(Memory)),
        _conversations,
        partial(_files, contents),
        *map(_rows_of, _own_tables()),
    ]
    for piece in pieces:
        while True:
            with write_transaction():
                count = piece(user_id)
            if not count:
                break
            yield count
    with write_transaction():
        db.session.execute(
            update(JourneyVersion).where(JourneyVersion.author_id == user_id).values(author_id=None)
        )  # of journeys for everyone, which stay


def _conversations(user_id: int) -> int:
    statement = select(Conversation.conversation_id).where(Conversation.user_id == user_id).limit(CONVERSATIONS)
    ids = db.session.scalars(statement).all()
    if not ids:
        return 0
    drop_streams_in(ids)
    return rows_changed(delete(Conversation).where(Conversation.conversation_id.in_(ids)))


def _files(contents: set[str], user_id: int) -> int:
    """Delete some files. Raises Unavailable while the storage is away, before the rows that name the contents go."""
    rows = db.session.execute(
        select(File.file_id, File.digest).where(File.user_id == user_id).limit(CONVERSATIONS)
    ).all()
    db.session.rollback()  # no connection is held while the storage is called
    for _, digest in rows:
        file_storage().size(key_of(digest))
    for file_id, digest in rows:
        delete_file(user_id, file_id)
        contents.add(digest)
    return len(rows)


def _has_bytes(digest: str) -> bool:
    """Return whether there are still bytes of a content that no row names."""
    result = bool(existing_contents(db.session, [digest]))
    db.session.rollback()
    archives = file_storage()
    return not result and (archives.size(key_of(digest)) is not None or any(archives.entries(picture_key(digest))))


def _rows_of(table: Table) -> Callable[[int], int]:
    """Return a function that deletes some of a user's rows in a table and returns how many; 0 if none are left."""
    keys = list(table.primary_key.columns)

    def piece(user_id: int) -> int:
        condition = table.columns["user_id"] == user_id
        if len(keys) > 1:
            db.session.execute(delete(table).where(condition))
            return 0  # all at once
        ids = db.session.scalars(select(keys[0]).where(condition).limit(ROWS)).all()
        return rows_changed(delete(table).where(keys[0].in_(ids))) if ids else 0

    return piece


def _own_tables() -> list[Table]:
    """Return the tables whose rows belong to somebody, and are deleted with the account."""
    return [
        table
        for table in Base.metadata.sorted_tables
        if table.name not in SPECIAL_TABLES
        and any(key.column.table.name == "users" and key.parent.name == "user_id" for key in table.foreign_keys)
        and any(key.ondelete == "CASCADE" for key in table.foreign_keys if key.parent.name == "user_id")
    ]


def _tables() -> Iterator[Table]:
    """Yield every table of the database, whether or not this version knows it, except the list of deletions itself."""
    for name in inspect(db.session.connection()).get_table_names():
        if name == AccountDeletion.__tablename__:
            continue
        table = Base.metadata.tables.get(name)
        if table is not None:
            yield table
            continue
        try:
            yield Table(name, Base.metadata.__class__(), autoload_with=db.session.connection())
        except NoSuchTableError:
            continue


def _names_somebody(column: Any) -> bool:
    return column.name in NAMES or any(key.column.table.name == "users" for key in column.foreign_keys)


def _sweep_redis(user_id: int) -> None:
    """Delete the keys that name a user: counters of limits, marks of jobs."""
    keys = _redis_keys(user_id)
    for start in range(0, len(keys), ROWS):
        redis().delete(*keys[start : start + ROWS])


def _redis_keys(user_id: int) -> list[bytes]:
    """Return the keys that name a user."""
    named = re.compile(rb"(?<![a-z])user(?:_id)?[:=]%d(?!\d)" % user_id)
    return list(filter(named.search, redis().scan_iter(count=1_000)))


@deletion.count_account_data.connect
def _size(_sender: object, *, user_id: int) -> int:
    """Return how many messages and memories there are; counting stops once it is more than matters."""
    limit = deletion.SMALL_ACCOUNT + 1
    messages = select(Message.message_id).join(Conversation).where(Conversation.user_id == user_id).limit(limit)
    statement = select(Memory.memory_id).where(Memory.user_id == user_id).limit(limit)
    return sum(
        db.session.scalar(select(func.count()).select_from(query.subquery())) or 0 for query in (messages, statement)
    )
