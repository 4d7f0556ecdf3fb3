"""Groups of what waits in review, by origin: the domains that bring memories in report them on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from blinker import Signal
from sqlalchemy import ColumnElement, Select, false

from webapp.memories.models import Memory

review_groups = Signal()
"""Sent with `user_id`; domains that bring memories in return a list of Group."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of waiting memories that came together: name and time, how much is left, its page, and the ids of all
    that came.
    """

    name: str
    at: datetime
    count: int
    place: str
    statement: Select[int]


def groups_of(user_id: int) -> list[Group]:
    """Return the groups in which memories await the user's decision, newest first."""
    all_groups = [group for _, groups in review_groups.send(None, user_id=user_id) for group in groups]
    return sorted(all_groups, key=lambda group: group.at, reverse=True)


def outside_groups(groups: Sequence[Group]) -> list[ColumnElement[bool]]:
    """Return the condition that a memory belongs to none of some groups."""
    return [Memory.memory_id.not_in(group.statement) for group in groups]


def waits() -> list[ColumnElement[bool]]:
    """Return the condition that a memory awaits a decision."""
    return [Memory.needs_review.is_(True), Memory.is_archived == false(), Memory.is_closed == false()]
