"""Keeps the history of memories: every change is a revision, and belongs to a change set that can be undone."""

import hashlib
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from sqlalchemy import select

from webapp.background import events
from webapp.background.events import Kind
from webapp.db.base import add_row, db, now
from webapp.memories.models import Memory, MemoryChangeSet, MemoryEvidence, MemoryRevision
from webapp.spaces.signals import touch
from webapp.text.canonical import canonical_statement

TIME_FIELDS = ("valid_from", "valid_to", "asserted_at")
_READERS = dict.fromkeys(TIME_FIELDS, datetime.fromisoformat) | {"until": date.fromisoformat}
"""How the fields that JSON keeps as text are read again."""
_FIELDS = (
    "memory_type",
    "category",
    "content",
    "fact_key",
    "fact_value",
    "visibility",
    "origin",
    "importance",
    "confidence",
    "is_pinned",
    "is_archived",
    "needs_review",
    "edited_by_user",
    "space_id",
    "only_conversation_id",
    "superseded_by_id",
    "contradicts_id",
    "settled_with",
    *_READERS,
)


def statement_hash(content: str) -> str:
    """Return a hash of the words of a statement, for look-ups; not secret, deleted with its memory."""
    return hashlib.sha256(canonical_statement(content).encode("utf-8", "surrogatepass")).hexdigest()


def snapshot(memory: Memory) -> dict[str, Any]:
    """Return everything a revision keeps of a memory, as JSON."""
    fields = {name: getattr(memory, name) for name in _FIELDS}
    return fields | {name: fields[name].isoformat() for name in _READERS if fields[name]}


def restore(memory: Memory, fields: dict[str, Any]) -> None:
    """Set a memory's fields from a snapshot. The caller records the change."""
    for name in filter(fields.__contains__, _FIELDS):
        value = fields[name]
        setattr(memory, name, _READERS[name](value) if name in _READERS and value else value)


_MODELS_CAUSES = ("extraction", "summary", "tidied", "contrary", "waited")
_ACTORS = dict.fromkeys(_MODELS_CAUSES, "extraction") | {name: name for name in ("tool", "import", "mcp")}
"""Who is behind a change, by its cause; the user behind all others."""


class Journal:
    """Records what is done to memories for a cause, in a change set, new or `continued`."""

    def __init__(
        self,
        user_id: int,
        cause: str,
        *,
        conversation_id: int | None = None,
        continued: MemoryChangeSet | None = None,
    ):
        self.cause = cause
        self.change_set = continued or MemoryChangeSet(
            user_id=user_id, cause=cause, conversation_id=conversation_id, counts={}, reasons={}, changes=[]
        )
        self._changes: dict[int, dict[str, Any]] = {c["memory_id"]: dict(c) for c in self.change_set.changes}
        add_row(self.change_set)
        if continued is None:
            events.note(user_id, Kind.MEMORY_CHANGED, {"change_set_id": self.id, "cause": cause})

    @property
    def id(self) -> int:
        """Return the change set's id."""
        return self.change_set.change_set_id

    def record_creation(self, *memories: Memory) -> None:
        """Record memories that have just been added; they must have their ids."""
        for memory in memories:
            memory.revision = 1
            self._record(memory, before=None)
        db.session.flush()

    def record_change(self, memory: Memory) -> None:
        """Record a memory whose fields have just been changed, as a new revision."""
        before = memory.revision
        memory.revision = before + 1
        memory.updated_at = now()
        self._record(memory, before=before)
        db.session.flush()

    def amend(self, memory: Memory) -> None:
        """Record a further change by this change set in the revision it already made of a memory."""
        row = db.session.scalars(
            select(MemoryRevision).where(
                MemoryRevision.memory_id == memory.memory_id, MemoryRevision.revision == memory.revision
            )
        ).one()
        row.snapshot = snapshot(memory)
        _touch(memory)
        db.session.flush()

    def evidence_added(self, rows: list[MemoryEvidence]) -> None:
        """Record evidence that was added to a memory without changing it; the rows must have their ids."""
        for row in rows:
            entry = self._entry(row.memory_id)
            entry["evidence"] = [*entry["evidence"], row.evidence_id]

    def close(self, counts: dict[str, int], reasons: dict[str, int] | None = None) -> MemoryChangeSet:
        """Write the record of what was done; call it last."""
        for entry in self._changes.values():
            if entry["after"] is None:  # evidence alone: the revision stands
                entry["before"] = entry["after"] = db.session.scalar(
                    select(Memory.revision).where(Memory.memory_id == entry["memory_id"])
                )
        self.change_set.changes = list(self._changes.values())
        total = {name: self.change_set.counts.get(name, 0) + count for name, count in counts.items()}
        self.change_set.counts = self.change_set.counts | {name: count for name, count in total.items() if count}
        self.change_set.reasons = reasons or {}
        db.session.flush()
        return self.change_set

    def _record(self, memory: Memory, before: int | None) -> None:
        memory.statement_hash = statement_hash(memory.content)
        _touch(memory)
        db.session.add(
            MemoryRevision(
                memory_id=memory.memory_id,
                revision=memory.revision,
                snapshot=snapshot(memory),
                statement_hash=memory.statement_hash,
                actor=_ACTORS.get(self.cause, "user"),
                cause=self.cause,
                change_set_id=self.id,
            )
        )
        entry = self._entry(memory.memory_id)
        if entry["after"] is None:  # until now there was only evidence, or nothing
            entry["before"] = before
        entry["after"] = memory.revision

    def _entry(self, memory_id: int) -> dict[str, Any]:
        return self._changes.setdefault(
            memory_id, {"memory_id": memory_id, "before": None, "after": None, "evidence": []}
        )


def record_changes(
    user_id: int,
    cause: str,
    memories: Iterable[Memory],
    counts: dict[str, int],
    *,
    conversation_id: int | None = None,
) -> MemoryChangeSet:
    """Record memories whose fields have just been changed, as one change set; returns it."""
    journal = Journal(user_id, cause, conversation_id=conversation_id)
    for memory in memories:
        journal.record_change(memory)
    return journal.close(counts)


def _touch(memory: Memory) -> None:
    """Count the change in its space, if shared; whoever makes a memory private touches the former space."""
    if memory.visibility == "shared":
        touch(memory.space_id)
