"""Standing instructions: how the user wants to be answered, applied in every prompt of their scope."""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, false, select

from webapp.db.base import db, now
from webapp.db.index_hints import use_index
from webapp.memories.models import Memory
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.schemas import MemoryFields, ProfileChanges, ProfileOut
from webapp.memories.service import create_memory, visible
from webapp.memories.store import versions
from webapp.memories.store.journal import Journal
from webapp.memories.store.versions import PerVersion

MAX_INSTRUCTIONS = 200
"""The most instructions of one user that are looked up, the newest."""


@dataclass(frozen=True, slots=True)
class StandingInstruction:
    """An instruction in use; it applies everywhere, or in one space, or in one conversation."""

    memory_id: int
    content: str
    revision: int
    importance: float
    space_id: int | None
    conversation_id: int | None
    until: date | None

    def applies(self, conversation_id: int, space_id: int | None) -> bool:
        """Return whether it applies today in a conversation, which may be of a space."""
        if self.until is not None and self.until < now().date():
            return False
        if self.conversation_id is not None:
            return self.conversation_id == conversation_id
        return self.space_id is None or self.space_id == space_id


_per_version = PerVersion[list[StandingInstruction]]()


def standing_instructions(
    user_id: int, version: int, conversation_id: int, space_id: int | None = None
) -> list[StandingInstruction]:
    """Return the user's own instructions for a conversation, in order; read once per `version` of their memory."""
    return [item for item in _per_version.get(user_id, version, _load) if item.applies(conversation_id, space_id)]


def _load(user_id: int) -> list[StandingInstruction]:
    return [
        StandingInstruction(
            row.memory_id,
            row.content,
            row.revision,
            round(row.importance, 4),
            row.space_id,
            row.only_conversation_id,
            row.until,
        )
        for row in sorted(db.session.execute(_instructions(user_id)), key=lambda row: row.memory_id)
    ]


# Needed in every turn after a change of memory: building it costs about as much as sending it.
@lru_cache(maxsize=256)
def _instructions(user_id: int) -> Select[*tuple[Any, ...]]:
    instructions = (
        visible(user_id)
        .where(
            Memory.memory_type == MemoryType.INSTRUCTION.value,
            Memory.is_archived == false(),
            Memory.needs_review == false(),
            Memory.is_closed == false(),
        )
        .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
        .limit(MAX_INSTRUCTIONS)
        .with_only_columns(
            Memory.memory_id,
            Memory.content,
            Memory.revision,
            Memory.importance,
            Memory.space_id,
            Memory.only_conversation_id,
            Memory.until,
        )
    )
    # Left alone, MariaDB walks through all memories from the newest back, and SQLite through all that are not in
    # review, although most people have few instructions.
    return use_index(instructions, Memory, "ix_memories_type")


KEYS = {"name": "identity/name", "preferred_name": "identity/preferred_name", "birthday": "identity/birthday"}
SOURCES = {"user": "user_input", "extraction": "llm_extraction", "tool": "llm_extraction", "import": "system"}
"""The documented sources of a profile, by the origin of its newest fact."""
_SENTENCES = {
    "name": "The user's name is {}.",
    "preferred_name": "The user prefers to be called {}.",
    "birthday": "The user's birthday is {}.",
}


def get_profile(user_id: int) -> ProfileOut:
    rows = _facts(user_id)
    newest = max(rows.values(), key=lambda row: row.updated_at, default=None)
    if newest is None:
        return ProfileOut()
    origin = "user" if newest.edited_by_user else newest.origin
    return ProfileOut(**_values(rows), updated_at=newest.updated_at, source=SOURCES[origin])


def profile_values(user_id: int) -> dict[str, str]:
    """Return the known fields of the user's profile."""
    return _values(_facts(user_id))


def update_profile(user_id: int, changes: ProfileChanges) -> ProfileOut:
    """Change the given fields only; cleared values are closed, not forgotten. Raises Invalid for a secret."""
    versions.begin_change(user_id)
    present = _facts(user_id)
    for field in sorted(changes.model_fields_set):
        value, row = getattr(changes, field), present.get(KEYS[field])
        if value is None:
            continue  # as documented: an unknown value does not overwrite a known one
        if not value:
            if row is not None:
                _close(user_id, row)
        elif row is None or row.fact_value != value:
            fields = MemoryFields(
                memory_type="fact",
                content=_SENTENCES[field].format(value),
                fact_key=KEYS[field],
                fact_value=value,
                importance=0.9,
            )
            create_memory(user_id, fields, cause="profile")
    return get_profile(user_id)


def _values(rows: dict[str, Memory]) -> dict[str, str]:
    return {field: rows[key].fact_value or rows[key].content for field, key in KEYS.items() if key in rows}


def _facts(user_id: int) -> dict[str, Memory]:
    rows = db.session.scalars(
        select(Memory).where(
            Memory.user_id == user_id,
            Memory.space_slot == 0,
            Memory.current_slot.in_([f"identity:{key}" for key in KEYS.values()]),
        )
    )
    return {row.fact_key: row for row in rows if row.fact_key}


def _close(user_id: int, row: Memory) -> None:
    journal = Journal(user_id, "profile")
    row.valid_to = now()
    row.edited_by_user = True
    journal.record_change(row)
    journal.close({"retracted": 1})
