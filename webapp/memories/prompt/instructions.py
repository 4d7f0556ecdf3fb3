"""Standing instructions: how the user wants to be answered, applied in every prompt of their scope."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, false

from webapp.db.base import db
from webapp.db.index_hints import use_index
from webapp.memories.models import Memory
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.service import visible
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

    def applies(self, conversation_id: int, space_id: int | None) -> bool:
        """Return whether it applies in a conversation, which may be of a space."""
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
            row.memory_id, row.content, row.revision, round(row.importance, 4), row.space_id, row.only_conversation_id
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
        )
    )
    # Left alone, MariaDB walks through all memories from the newest back, and SQLite through all that are not in
    # review, although most people have few instructions.
    return use_index(instructions, Memory, "ix_memories_type")
