"""Events of spaces, for the domains that build on them; sent inside the transaction that does it."""

from dataclasses import dataclass
from typing import Any

from blinker import Signal

membership_ends = Signal()
"""`space=`, `user_id=`, `forget=`: somebody's membership is about to end, for whatever reason: they leave or are
removed, their account is deleted, or the space is."""

Answers = list[tuple[Any, Any]]
"""What a signal's receivers answered, each with its receiver."""

consequences_asked = Signal()
"""`space=`, `user_id=`: what the end of this user's membership would do; receivers return a list of Consequence."""

originals_left = Signal()
"""`digests=`: the contents of files that were the originals of documents just deleted."""


portrait_ends = Signal()
"""`space_id=`: the owner no longer wants a portrait of a space."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """A consequence for some of a user's things: how many of which kind, and a sentence about them."""

    kind: str
    count: int
    sentence: str


def consequences(space: object, user_id: int) -> list[Consequence]:
    """Return what every domain says about the end of a membership, in a stable order."""
    items = [item for _, answer in consequences_asked.send(None, space=space, user_id=user_id) for item in answer]
    return sorted(items, key=lambda item: item.kind)
