"""Taking a restore back: what was gone on with since stays, and what was forgotten stays forgotten."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, delete, func, select

from webapp.accounts.models import User
from webapp.conversations.models import Conversation, Folder, Message
from webapp.conversations.signals import conversation_shown
from webapp.database import db
from webapp.files.models import MessageFile
from webapp.files.service import delete_file
from webapp.journeys.models import Journey, PointMemory
from webapp.library.models import SavedPrompt
from webapp.memories.keeping import versions
from webapp.memories.models import Memory, MemoryChangeSet, MemoryRevision
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.spaces.models import Space, SpaceDocument, SpaceMember
from webapp.spaces.service import end_space
from webapp.transfer.models import Import, RestoredRow

BATCH = 200
CONVERSATIONS = 20
"""Of these, with all that goes with them, in one statement: a request waits for each only a few seconds."""
ROWS = 5_000


def undo(row: Import) -> int:
    """Remove what a restore brought, in the present transaction; how many parts were changed since, and stay."""
    user_id = row.user_id
    kept = _conversations(user_id, row.import_id)
    versions.hold(user_id)
    kept += _memories(user_id, row.import_id)
    for ids in _batches(row.import_id, "point_memory"):
        db.session.execute(
            delete(PointMemory).where(PointMemory.user_id == user_id, PointMemory.point_memory_id.in_(ids))
        )
    for ids in _batches(row.import_id, "journey"):
        used = select(Conversation.journey_id).where(Conversation.journey_id.in_(ids))
        unused = set(ids) - set(db.session.scalars(used))
        db.session.execute(delete(Journey).where(Journey.owner_id == user_id, Journey.journey_id.in_(unused)))
    for ids in _batches(row.import_id, "file"):
        used = select(MessageFile.file_id).where(MessageFile.file_id.in_(ids))
        for file_id in sorted(set(ids) - set(db.session.scalars(used))):
            delete_file(user_id, file_id)
    kept += _prompts(row)
    for ids in _batches(row.import_id, "folder"):
        used = select(Conversation.folder_id).where(Conversation.folder_id.in_(ids))
        unused = set(ids) - set(db.session.scalars(used))
        db.session.execute(delete(Folder).where(Folder.user_id == user_id, Folder.folder_id.in_(unused)))
    for ids in _batches(row.import_id, "space"):
        kept += sum(not _end(user_id, space_id, row.import_id) for space_id in ids)
    before = (row.options or {}).get("before")
    if before:
        user = db.session.get_one(User, user_id)
        user.name, user.settings = before["name"], before["settings"]
    changes.note(user_id, Change("memories"))
    _forget(row.import_id)
    db.session.flush()
    return kept


def _conversations(user_id: int, import_id: int) -> int:
    kept = 0
    for ids in _batches(import_id, "conversation"):
        mine = db.session.scalars(
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
        for conversation in mine:
            if conversation.conversation_id not in gone_on:
                conversation_shown.send(None, conversation=conversation)
        going = [row.conversation_id for row in mine if row.conversation_id not in gone_on]
        for at in range(0, len(going), CONVERSATIONS):
            some = going[at : at + CONVERSATIONS]
            db.session.execute(delete(Conversation).where(Conversation.conversation_id.in_(some)))
        kept += len(mine) - len(going)
    return kept


def _memories(user_id: int, import_id: int) -> int:
    kept = 0
    for ids in _batches(import_id, "memory"):
        mine = set(
            db.session.scalars(select(Memory.memory_id).where(Memory.memory_id.in_(ids), Memory.user_id == user_id))
        )
        changed = set(
            db.session.scalars(
                select(MemoryRevision.memory_id)
                .where(
                    MemoryRevision.memory_id.in_(mine), MemoryRevision.revision_id.not_in(_ids(import_id, "revision"))
                )
                .distinct()
            )
        )
        db.session.execute(delete(Memory).where(Memory.memory_id.in_(mine - changed)))
        kept += len(changed)
    for ids in _batches(import_id, "change_set"):
        db.session.execute(
            delete(MemoryChangeSet).where(MemoryChangeSet.user_id == user_id, MemoryChangeSet.change_set_id.in_(ids))
        )
    return kept


def _prompts(row: Import) -> int:
    """Delete saved prompts that nobody has changed since; how many stay."""
    kept = 0
    for ids in _batches(row.import_id, "prompt"):
        mine = SavedPrompt.user_id == row.user_id, SavedPrompt.saved_prompt_id.in_(ids)
        db.session.execute(delete(SavedPrompt).where(*mine, SavedPrompt.updated_at < row.created_at))
        kept += db.session.scalar(select(func.count()).select_from(SavedPrompt).where(*mine)) or 0
    return kept


def _forget(import_id: int) -> None:
    """Forget what became of which row, some thousands at a time: there is one for every message and revision."""
    kinds = select(RestoredRow.kind).where(RestoredRow.import_id == import_id).distinct()
    for kind in db.session.scalars(kinds).all():
        mine = RestoredRow.import_id == import_id, RestoredRow.kind == kind
        edges = select(RestoredRow.old_id).where(*mine).order_by(RestoredRow.old_id).offset(ROWS - 1).limit(1)
        while (edge := db.session.scalar(edges)) is not None:
            db.session.execute(delete(RestoredRow).where(*mine, RestoredRow.old_id <= edge))
        db.session.execute(delete(RestoredRow).where(*mine))


def _end(user_id: int, space_id: int, import_id: int) -> bool:
    """Delete a space that nobody has used since; whether it is gone."""
    space = db.session.get(Space, space_id)
    if space is None:
        return True
    members = select(func.count()).select_from(SpaceMember).where(SpaceMember.space_id == space_id)
    used: list[Any] = [
        select(Conversation.conversation_id).where(
            Conversation.space_id == space_id, Conversation.deleted_at.is_(None)
        ),
        select(Memory.memory_id).where(Memory.space_id == space_id),
        select(SpaceDocument.document_id).where(
            SpaceDocument.space_id == space_id, SpaceDocument.document_id.not_in(_ids(import_id, "document"))
        ),
    ]
    if db.session.scalar(members) != 1 or any(db.session.scalar(query.limit(1)) is not None for query in used):
        return False
    end_space(space)
    return True


def _ids(import_id: int, kind: str) -> Select[int]:
    return select(RestoredRow.new_id).where(RestoredRow.import_id == import_id, RestoredRow.kind == kind)


def _batches(import_id: int, kind: str) -> list[list[int]]:
    ids = sorted(db.session.scalars(_ids(import_id, kind)))
    return [ids[at : at + BATCH] for at in range(0, len(ids), BATCH)]
