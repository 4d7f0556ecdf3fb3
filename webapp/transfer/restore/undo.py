"""Undoing a restore: what was continued or changed since stays, and what was forgotten stays forgotten."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, exists, false, select, true
from sqlalchemy.orm import InstrumentedAttribute

from webapp.accounts.models import User
from webapp.conversations.models import Conversation, Folder, Message
from webapp.conversations.signals import conversation_shown
from webapp.db.base import count_rows, db
from webapp.files.models import File, MessageFile
from webapp.files.service import delete_file
from webapp.journeys.models import Journey, PointMemory
from webapp.memories.models import Memory, MemoryChangeSet, MemoryRevision
from webapp.memories.store import versions
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.spaces.models import Space, SpaceDocument, SpaceMember
from webapp.spaces.service import end_space
from webapp.transfer.models import RestoredRow

BATCH = 200
CONVERSATIONS = 20
"""The most to delete, with all that goes with them, in one statement: others wait for one only a few seconds."""
ROWS = 5_000


def steps(user_id: int, import_id: int, since: datetime, before: Mapping[str, Any] | None) -> Iterator[tuple[int, int]]:
    """Remove the rows that a restore created; yield for each step, safe to repeat, how many, and how many stay."""
    for ids in _batches(import_id, "conversation", CONVERSATIONS):
        staying = _conversations(user_id, import_id, ids)
        _delete_records(import_id, "conversation", ids, staying)
        yield len(ids), len(staying)
    for ids in _batches(import_id, "memory"):
        versions.begin_change(user_id)
        changes.note(user_id, Change("memories"))
        staying = _memories(user_id, import_id, ids)
        _delete_records(import_id, "memory", ids, staying)
        yield len(ids), len(staying)
    for ids in _batches(import_id, "file"):
        statement = select(MessageFile.file_id).where(MessageFile.file_id.in_(ids))
        file_ids = db.session.scalars(select(File.file_id).where(File.file_id.in_(ids), File.user_id == user_id))
        for file_id in sorted(set(file_ids) - set(db.session.scalars(statement))):
            delete_file(user_id, file_id)
        _delete_records(import_id, "file", ids, ())
        yield len(ids), 0
    is_followed = exists().where(Conversation.journey_id == Journey.journey_id)
    is_filled = exists().where(Conversation.folder_id == Folder.folder_id)
    for kind, key, owner, is_unused in (
        ("change_set", MemoryChangeSet.change_set_id, MemoryChangeSet.user_id, true()),
        ("point_memory", PointMemory.point_memory_id, PointMemory.user_id, true()),
        ("journey", Journey.journey_id, Journey.owner_id, ~is_followed),
        ("folder", Folder.folder_id, Folder.user_id, ~is_filled),
    ):
        for ids in _batches(import_id, kind):
            db.session.execute(delete(key.class_).where(owner == user_id, key.in_(ids), is_unused))
            yield 0, 0
    for kind, key, is_unchanged in (
        ("prompt", SavedPrompt.saved_prompt_id, SavedPrompt.updated_at < since),
        ("schedule", Schedule.schedule_id, Schedule.is_active == false()),
    ):
        yield 0, _delete_unchanged(user_id, import_id, kind, key, is_unchanged)
    for ids in _batches(import_id, "space"):
        yield 0, sum(not _delete_unused_space(space_id, import_id) for space_id in ids)
    if before:
        user = db.session.get_one(User, user_id)
        user.name, user.settings = before["name"], before["settings"]
    versions.begin_change(user_id)
    changes.note(user_id, Change("memories"))
    _forget(import_id)
    yield 0, 0


def _conversations(user_id: int, import_id: int, ids: Collection[int]) -> set[int]:
    """Delete conversations that have not been continued; returns the ids of those that stay."""
    rows = db.session.scalars(
        select(Conversation)
        .where(Conversation.conversation_id.in_(ids), Conversation.user_id == user_id)
        .order_by(Conversation.conversation_id)
        .with_for_update()
    ).all()
    gone_on = set(
        db.session.scalars(
            select(Message.conversation_id)
            .where(Message.conversation_id.in_(ids), Message.message_id.not_in(_ids(import_id, "message")))
            .distinct()
        )
    )
    for conversation in rows:
        if conversation.conversation_id not in gone_on:
            conversation_shown.send(None, conversation=conversation)
    going = [row.conversation_id for row in rows if row.conversation_id not in gone_on]
    if going:
        db.session.execute(delete(Conversation).where(Conversation.conversation_id.in_(going)))
    return gone_on & {row.conversation_id for row in rows}


def _memories(user_id: int, import_id: int, ids: Collection[int]) -> set[int]:
    """Delete memories that have not been changed; returns the ids of those that stay."""
    own_ids = set(
        db.session.scalars(select(Memory.memory_id).where(Memory.memory_id.in_(ids), Memory.user_id == user_id))
    )
    changed_ids = set(
        db.session.scalars(
            select(MemoryRevision.memory_id)
            .where(
                MemoryRevision.memory_id.in_(own_ids), MemoryRevision.revision_id.not_in(_ids(import_id, "revision"))
            )
            .distinct()
        )
    )
    db.session.execute(delete(Memory).where(Memory.memory_id.in_(own_ids - changed_ids)))
    return changed_ids


def _delete_unchanged(
    user_id: int, import_id: int, kind: str, key: InstrumentedAttribute[int], is_unchanged: ColumnElement[bool]
) -> int:
    """Delete the rows of a kind that are as they were restored; returns how many stay."""
    model, rest = key.class_, 0
    for ids in _batches(import_id, kind):
        conditions = model.user_id == user_id, key.in_(ids)
        db.session.execute(delete(model).where(*conditions, is_unchanged))
        rest += count_rows(*conditions)
    return rest


def _forget(import_id: int) -> None:
    """Delete the records of which row became which, a few thousand at a time: every message and revision has one."""
    kinds = select(RestoredRow.kind).where(RestoredRow.import_id == import_id).distinct()
    for kind in db.session.scalars(kinds).all():
        conditions = RestoredRow.import_id == import_id, RestoredRow.kind == kind
        edges = select(RestoredRow.old_id).where(*conditions).order_by(RestoredRow.old_id).offset(ROWS - 1).limit(1)
        while (edge := db.session.scalar(edges)) is not None:
            db.session.execute(delete(RestoredRow).where(*conditions, RestoredRow.old_id <= edge))
        db.session.execute(delete(RestoredRow).where(*conditions))


def _delete_unused_space(space_id: int, import_id: int) -> bool:
    """Delete a space that has not been used since; returns whether it is gone."""
    space = db.session.get(Space, space_id)
    if space is None:
        return True
    statements: list[Any] = [
        select(Conversation.conversation_id).where(
            Conversation.space_id == space_id, Conversation.deleted_at.is_(None)
        ),
        select(Memory.memory_id).where(Memory.space_id == space_id),
        select(SpaceDocument.document_id).where(
            SpaceDocument.space_id == space_id, SpaceDocument.document_id.not_in(_ids(import_id, "document"))
        ),
    ]
    is_used = any(db.session.scalar(query.limit(1)) is not None for query in statements)
    if is_used or count_rows(SpaceMember.space_id == space_id) != 1:
        return False
    end_space(space)
    return True


def _ids(import_id: int, kind: str) -> Select[int]:
    return select(RestoredRow.new_id).where(RestoredRow.import_id == import_id, RestoredRow.kind == kind)


def _delete_records(import_id: int, kind: str, batch: Mapping[int, int], staying: Collection[int]) -> None:
    """Delete the records of what has been dealt with, so that a job that starts again does not look at it again."""
    old = [old_id for new_id, old_id in batch.items() if new_id not in staying]
    if old:
        conditions = RestoredRow.import_id == import_id, RestoredRow.kind == kind
        db.session.execute(delete(RestoredRow).where(*conditions, RestoredRow.old_id.in_(old)))


def _batches(import_id: int, kind: str, size: int = BATCH) -> list[dict[int, int]]:
    """Return the restored rows of a kind, in batches: their ids here, with those in the export."""
    statement = select(RestoredRow.new_id, RestoredRow.old_id).where(
        RestoredRow.import_id == import_id, RestoredRow.kind == kind
    )
    rows = sorted((new_id, old_id) for new_id, old_id in db.session.execute(statement))
    return [dict(rows[start : start + size]) for start in range(0, len(rows), size)]
