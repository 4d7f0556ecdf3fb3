"""A check for something forgotten between reading and writing: everything that stores a model's output checks this."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from webapp.db.base import db
from webapp.memories.models import MemoryTombstone
from webapp.memories.rules.tombstones import TombstoneSet
from webapp.memories.store import versions
from webapp.memories.store.tombstone_secrets import tombstone_set


@dataclass(frozen=True, slots=True)
class ForgetCheck:
    """The number of a user's tombstones and the time of the newest, for comparing later."""

    count: int
    newest: datetime | None


def forget_check(user_id: int) -> ForgetCheck:
    """Return the state of the user's tombstones; call it before reading input for a model."""
    return ForgetCheck(
        *db.session.execute(
            select(func.count(), func.max(MemoryTombstone.created_at)).where(MemoryTombstone.user_id == user_id)
        ).one()
    )


def forgot_since(user_id: int, before: ForgetCheck) -> bool:
    """Return whether the user has forgotten anything since. The next forgetting sees what the caller then writes.

    Locks the user's memory until the transaction ends; callers that also lock a conversation lock that first.
    """
    versions.lock(user_id)
    return forget_check(user_id) != before


def watch(user_id: int) -> Callable[[], bool]:
    """Return a function that tells whether anything was forgotten since this call.

    Call `watch` before reading input for a model, and its result in the transaction that stores the output.
    """
    before = forget_check(user_id)
    return lambda: not forgot_since(user_id, before)


def recent_graveyards(user_ids: Collection[int], since: datetime) -> list[TombstoneSet]:
    """Return the graveyards of the users who have forgotten something since then, each with only those tombstones.

    The clocks of two machines may differ: pass a time somewhat earlier.
    """
    rows = db.session.execute(
        select(MemoryTombstone.user_id, MemoryTombstone.digest, MemoryTombstone.key_id).where(
            MemoryTombstone.user_id.in_(user_ids), MemoryTombstone.created_at >= since
        )
    ).all()
    return [
        tombstone_set(user_id, tombstones={digest: name for owner, digest, name in rows if owner == user_id})
        for user_id in sorted({user_id for user_id, *_ in rows})
    ]
