"""The version of a user's memory, and the lock under which it changes."""

from functools import cache

from sqlalchemy import Update, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from webapp.db.base import Base, db, rows_changed, table_of
from webapp.errors import NotFound
from webapp.memories.models import MemoryVersion


def begin_change(user_id: int) -> None:
    """Lock the user's memory for this transaction, and count a change, before reading what a decision rests on.

    Callers that also lock a conversation lock that first. Raises NotFound for an unknown user.
    """
    count_change(MemoryVersion, user_id)


def lock(user_id: int) -> int:
    """Lock the user's memory for this transaction, counting nothing; return its version. Lock conversations first."""
    statement = select(MemoryVersion.version).where(MemoryVersion.user_id == user_id).with_for_update()
    return db.session.scalar(statement) or 0


def current_version(user_id: int) -> int:
    """Return the number that every change of the user's memory raises; 0 before the first."""
    return db.session.scalar(select(MemoryVersion.version).where(MemoryVersion.user_id == user_id)) or 0


def count_change(model: type[Base], user_id: int) -> None:
    """Raise the version in a user's row of a table, which stays locked. Raises NotFound for an unknown user."""
    for _ in range(3):
        if rows_changed(_next_version(model), {"user": user_id}) == 1:
            return
        try:
            db.session.execute(insert(table_of(model)), {"user_id": user_id, "version": 1})
            return
        except IntegrityError:  # undoes this statement alone
            continue  # another transaction inserted it first, or there is no such user
    raise NotFound("There is no such account.")


@cache
def _next_version(model: type[Base]) -> Update:
    # On the table: given the class, SQLAlchemy would look for it in the session, which holds none of it.
    table = table_of(model)
    return update(table).where(table.c.user_id == bindparam("user")).values(version=table.c.version + 1)
