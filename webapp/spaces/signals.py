"""Events of spaces, for the domains that build on them, and the version by which processes notice changes."""

from dataclasses import dataclass
from typing import Any

from blinker import Signal
from sqlalchemy import ColumnElement, Select, event, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from webapp.db.base import db
from webapp.spaces.models import SpaceMember, SpaceVersion

membership_ending = Signal()
"""`space=`, `user_id=`, `forget=`: somebody's membership is about to end, for whatever reason: they leave or are
removed, their account is deleted, or the space is."""

Answers = list[tuple[Any, Any]]
"""What a signal's receivers answered, each with its receiver."""

collect_consequences = Signal()
"""`space=`, `user_id=`: what the end of this user's membership would do; receivers return a list of Consequence."""

originals_deleted = Signal()
"""`digests=`: the contents of files that were the originals of documents just deleted."""

portrait_disabled = Signal()
"""`space_id=`: the owner no longer wants a portrait of a space."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """A consequence for some of a user's things: how many of which kind, and a sentence about them."""

    kind: str
    count: int
    sentence: str


def consequences(space: object, user_id: int) -> list[Consequence]:
    """Return what every domain says about the end of a membership, in a stable order."""
    items = [item for _, answer in collect_consequences.send(None, space=space, user_id=user_id) for item in answer]
    return sorted(items, key=lambda item: item.kind)


_TOUCHED_KEY = "spaces_touched"

versions_raised = Signal()
"""`space_ids=`: sent just before the commit in which the versions of these spaces were raised."""


def touch(space_id: int | None) -> None:
    """Count a change to what a space's members can find, written, by id, just before the commit, against deadlocks."""
    if space_id is not None:
        db.session.info.setdefault(_TOUCHED_KEY, set()).add(space_id)


def versions_of(user_id: ColumnElement[int] | InstrumentedAttribute[int]) -> Select[int, int]:
    """Return a user's spaces with the version of each, for use in other statements."""
    return (
        select(SpaceVersion.space_id, SpaceVersion.version)
        .join(SpaceMember, SpaceMember.space_id == SpaceVersion.space_id)
        .where(SpaceMember.user_id == user_id, SpaceMember.status == "active")
    )


@event.listens_for(db.session, "before_commit")
def _raise(session: Session) -> None:
    """Write the versions with the transaction that changes something."""
    if session.in_nested_transaction():  # a released SAVEPOINT is not a commit
        return
    space_ids = sorted(session.info.pop(_TOUCHED_KEY, ()))
    for space_id in space_ids:
        session.execute(
            update(SpaceVersion)
            .where(SpaceVersion.space_id == space_id)
            .values(version=SpaceVersion.version + 1)
            .execution_options(synchronize_session=False)
        )
    if space_ids:
        versions_raised.send(None, space_ids=space_ids)


@event.listens_for(db.session, "after_rollback")
def _forget(session: Session) -> None:
    """Drop the changes of a rolled back transaction; after a SAVEPOINT they stay, as one too many is harmless."""
    if session.get_nested_transaction() is None:
        session.info.pop(_TOUCHED_KEY, None)
