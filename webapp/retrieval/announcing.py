"""Announces whose passages or memories have changed, to the web processes that keep some of them in memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.exceptions import RedisError

from webapp.database import after_commit, db, waiting_for_commit
from webapp.extensions import redis
from webapp.happenings import Kind, happened

CHANNEL = "changed"
"""Its messages are ids of users. Nothing depends on them: every look-up asks the tables whether it is up to date."""


@dataclass(frozen=True, slots=True)
class _Announcement:
    """Announces a user when called."""

    user_id: int

    def __call__(self) -> None:
        with suppress(RedisError):
            redis().publish(CHANNEL, str(self.user_id))


def announce(user_id: int) -> None:
    """Announce, once the current transaction is committed, that what the user can find has changed."""
    announcement = _Announcement(user_id)
    if announcement not in waiting_for_commit(db.session()):
        after_commit(announcement)


def init_announcing() -> None:
    """Announce changes of memories; those of passages are announced where they are noted."""
    happened.connect(_happened)


def _happened(_sender: object, *, user_id: int, kind: Kind, **_more: Any) -> None:
    if kind in (Kind.MEMORY_CHANGED, Kind.MEMORY_FORGOTTEN):
        announce(user_id)
