"""Input and output of facts and moves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from webapp.http.validation import Id, Input, Instant
from webapp.i18n.marks import say
from webapp.legacies.categories import CATEGORIES
from webapp.legacies.conversation_moves import Move
from webapp.legacies.facts import Fact
from webapp.memories.models import Memory
from webapp.memories.schemas import Statement, Visibility


def _known_category(value: str) -> str:
    if value not in CATEGORIES:
        raise ValueError(say("is not one of %(names)s", names=", ".join(CATEGORIES)))
    return value


class LegacyPath(BaseModel):
    space_id: Id


class FactPath(BaseModel):
    memory_id: Id


class MovePath(BaseModel):
    conversation_id: Id


class MoveQuery(BaseModel):
    space_id: Id | None = Field(None, description="Where to; without it, out of its space.")


class NewFact(Input):
    category: Annotated[str, AfterValidator(_known_category)] = "other"
    content: Statement
    visibility: Visibility = "private"


class VisibilityChange(Input):
    visibility: Visibility


class FactOut(BaseModel):
    id: int = Field(description="The same as `memory_id`.")
    memory_id: int
    legacy_id: int
    space_id: int
    user_id: int
    category: str
    content: str
    visibility: str
    is_mine: bool
    shared_by: str | None = Field(description="Who shares it; null for your own.")
    source_conversation_id: int | None = Field(description="Of your own facts.")
    origin: str
    revision: int
    extracted_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, fact: Fact) -> FactOut:
        row = fact.memory
        return cls(
            id=row.memory_id,
            memory_id=row.memory_id,
            legacy_id=row.space_id,
            space_id=row.space_id,
            user_id=row.user_id,
            category=fact.category,
            content=row.content,
            visibility=row.visibility,
            is_mine=fact.is_mine,
            shared_by=fact.by,
            source_conversation_id=fact.source_conversation_id,
            origin=row.origin,
            revision=row.revision,
            extracted_at=row.created_at,
            updated_at=row.updated_at,
        )


class FactList(BaseModel):
    facts: list[FactOut] = Field(description="Yours and the shared ones, in order of extraction.")
    next_cursor: str | None


class MovedMemory(BaseModel):
    memory_id: int
    content: str
    happens: Literal["moves", "moves_and_is_withdrawn", "is_set_aside", "stays"]


class MoveReport(BaseModel):
    """A preview of a move."""

    memories: list[MovedMemory]
    needs_confirmation: bool

    @classmethod
    def of(cls, move: Move) -> MoveReport:
        withdrawn = {row.memory_id for row in move.withdrawn}
        ids = {row.memory_id for row in move.set_aside}

        def happens(row: Memory) -> str:
            if row.memory_id in withdrawn:
                return "moves_and_is_withdrawn"
            return "is_set_aside" if row.memory_id in ids else "moves"

        return cls(
            memories=[
                MovedMemory(memory_id=row.memory_id, content=row.content, happens=happens(row))
                for row in move.dependents
            ]
            + [MovedMemory(memory_id=row.memory_id, content=row.content, happens="stays") for row in move.staying],
            needs_confirmation=bool(withdrawn),
        )
