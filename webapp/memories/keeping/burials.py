"""Whether something was forgotten between reading and writing: checked by everything that stores a model's output."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from webapp.database import db
from webapp.memories.engine.tombstones import Graveyard
from webapp.memories.keeping import versions
from webapp.memories.keeping.graveyards import graveyard
from webapp.memories.models import MemoryTombstone


@dataclass(frozen=True, slots=True)
class Burials:
    """How many tombstones a user has, and when the newest was made, to be compared later."""

    count: int
    newest: datetime | None


def burials(user_id: int) -> Burials:
    """The state of the user's tombstones; to be read before what a model is shown."""
    return Burials(
        *db.session.execute(
            select(func.count(), func.max(MemoryTombstone.created_at)).where(MemoryTombstone.user_id == user_id)
        ).one()
    )


def forgot_since(user_id: int, before: Burials) -> bool:
    """Whether the user has since forgotten anything. What the caller then writes is seen by the next forgetting.

    Locks the user's memory until the transaction ends; callers that also lock a conversation lock that first.
    """
    versions.lock(user_id)
    return burials(user_id) != before


def watch(user_id: int) -> Callable[[], bool]:
    """To be called before what a model is shown is read: a function that tells, in the transaction that stores what
    came of it, whether nothing was forgotten meanwhile (`forgot_since`)."""
    before = burials(user_id)
    return lambda: not forgot_since(user_id, before)


def recent_graveyards(user_ids: Collection[int], since: datetime) -> list[Graveyard]:
    """The graveyards of those among the users who forgot something since then, with these tombstones alone.

    The clocks of two machines may differ: ask from a while before.
    """
    rows = db.session.execute(
        select(MemoryTombstone.user_id, MemoryTombstone.digest, MemoryTombstone.key_id).where(
            MemoryTombstone.user_id.in_(user_ids), MemoryTombstone.created_at >= since
        )
    ).all()
    return [
        graveyard(user_id, buried={digest: name for owner, digest, name in rows if owner == user_id})
        for user_id in sorted({user_id for user_id, *_ in rows})
    ]
