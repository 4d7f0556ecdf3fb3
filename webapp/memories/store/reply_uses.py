"""Replies that used some memories: each may still say them in words of its own after they are forgotten."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from webapp.extensions import Part

MOST_NAMED = 50
"""The most replies that a report names."""


@dataclass(frozen=True, slots=True)
class UsedIn:
    """A reply whose prompt held one of the memories; `is_shared`: a link shows it to others."""

    message_id: int
    conversation_id: int
    space_id: int | None = None
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Uses:
    """The user's replies that used some memories, those behind a link first, then the newest; at most MOST_NAMED of the
    `count`. Of replies to other members only the number (`by_others`)."""

    replies: list[UsedIn] = field(default_factory=list)
    count: int = 0
    by_others: int = 0


uses_of: Part[Callable[[int, Collection[int]], Uses]] = Part("uses_of_memories")
"""Finds the uses of a user's memories by their ids, also of memories that are gone. The domains that know the receipts
and the links build on this one, so one of them registers the function here."""
