"""Removal of portrait sentences whose memories are forgotten or withdrawn, in the same transaction."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, delete, select

from webapp.db.base import db
from webapp.memories.models import Memory
from webapp.memories.portrait.models import Portrait
from webapp.memories.store.copies import without
from webapp.memories.store.forgetting import being_forgotten
from webapp.memories.store.withdrawal import being_withdrawn
from webapp.spaces.service import spaces_of
from webapp.spaces.signals import portrait_ends


def init_portraits() -> None:
    """Listen for memories that are forgotten or withdrawn, and for spaces that want no portrait any more."""
    being_forgotten.connect(_forget)
    being_withdrawn.connect(_withdraw)
    portrait_ends.connect(_end)


def _forget(_sender: Any, *, user_id: int, memory_ids: Collection[int], texts: Collection[str], **_: Any) -> None:
    """Delete the sentences that rest on forgotten memories, and those that repeat what they said."""
    _take_out(user_id, memory_ids, texts, Portrait.user_id == user_id)
    _take_out(user_id, memory_ids, texts, Portrait.space_id.in_(spaces_of(user_id)))


def _withdraw(_sender: Any, *, user_id: int, memory_ids: Collection[int], texts: Collection[str], **_: Any) -> None:
    """Delete the sentences of spaces that rest on memories no longer shared, and those that repeat what they said."""
    _take_out(user_id, memory_ids, texts, Portrait.space_id.in_(spaces_of(user_id)))


def _take_out(
    user_id: int, memory_ids: Collection[int], texts: Collection[str], condition: ColumnElement[bool]
) -> None:
    portrait_ids = db.session.scalars(select(Portrait.portrait_id).where(condition)).all()
    statement = select(Portrait).where(Portrait.portrait_id.in_(portrait_ids)).order_by(Portrait.portrait_id)
    statement = statement.with_for_update().execution_options(populate_existing=True)
    for row in db.session.scalars(statement) if portrait_ids else ():
        own_ids = _own_memory_ids(user_id, [*row.sentences, *row.before]) | set(memory_ids)
        for name in ("sentences", "before"):
            sentences = getattr(row, name)
            rest = [item for item in sentences if not _tells(item, own_ids, set(memory_ids), texts)]
            if len(rest) != len(sentences):
                setattr(row, name, rest)


def _tells(item: dict[str, Any], own_ids: set[int], forgotten_ids: set[int], texts: Collection[str]) -> bool:
    """Return whether a sentence repeats a forgotten memory. One based only on others' memories repeats theirs."""
    ids = {number for number, _ in item["memories"]}
    if not ids.isdisjoint(forgotten_ids):
        return True
    return not ids.isdisjoint(own_ids) and without(item["text"], (), texts) != item["text"]


def _own_memory_ids(user_id: int, sentences: Collection[dict[str, Any]]) -> set[int]:
    ids = {number for item in sentences for number, _ in item["memories"]}
    statement = select(Memory.memory_id).where(Memory.user_id == user_id, Memory.memory_id.in_(ids))
    return set(db.session.scalars(statement)) if ids else set()


def _end(_sender: Any, *, space_id: int) -> None:
    db.session.execute(delete(Portrait).where(Portrait.space_id == space_id))
