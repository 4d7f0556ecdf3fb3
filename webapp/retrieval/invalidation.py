"""Announces whose passages or memories have changed to web processes, which know the members of a space."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.exceptions import RedisError

from webapp.background.events import Kind, event_recorded
from webapp.db.base import after_commit, db, pending_actions
from webapp.extensions import redis
from webapp.spaces.signals import versions_raised

CHANNEL, GROWN, SPACES = CHANNELS = "changed", "changed:grown", "changed:spaces"
"""Their messages are ids of users, of users who have got more and lost nothing, or of spaces, with commas between them.
Nothing depends on them: every look-up asks the tables whether it is up to date."""


@dataclass(frozen=True, slots=True)
class _Announcement:
    """Announces users, or spaces, when called."""

    channel: str
    ids: tuple[int, ...]

    def __call__(self) -> None:
        with suppress(RedisError):
            redis().publish(self.channel, ",".join(map(str, self.ids)))


def announce(user_id: int, channel: str = CHANNEL) -> None:
    """Announce after the commit that the user's search results have changed."""
    announcement = _Announcement(channel, (user_id,))
    if announcement not in pending_actions(db.session()):
        after_commit(announcement)


@event_recorded.connect
def _announce_event(_sender: object, *, user_id: int, kind: Kind, **_more: Any) -> None:
    if kind in (Kind.MEMORY_CHANGED, Kind.MEMORY_FORGOTTEN):
        announce(user_id)


@versions_raised.connect
def _announce_spaces(_sender: object, *, space_ids: Sequence[int]) -> None:
    after_commit(_Announcement(SPACES, tuple(space_ids)))
