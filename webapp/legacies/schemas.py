"""Input and output of facts and moves."""

from typing import Literal

from pydantic import BaseModel, Field

from webapp.http.validation import Id, Input, Instant, ListOut, Output
from webapp.legacies.fact_list import Category
from webapp.legacies.facts import Fact
from webapp.legacies.memory_moves import Move
from webapp.memories.schemas import Statement, Visibility


class MoveQuery(BaseModel):
    space_id: Id | None = Field(None, description="Where to; without it, out of its space.")


class NewFact(Input):
    category: Category = "other"
    content: Statement
    visibility: Visibility = "private"


class VisibilityChange(Input):
    visibility: Visibility


class FactOut(Output):
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
    def of(cls, fact: Fact) -> "FactOut":
        row = fact.memory
        return cls.from_row(
            row,
            id=row.memory_id,
            legacy_id=row.space_id,
            category=fact.category,
            is_mine=fact.is_mine,
            shared_by=fact.by,
            source_conversation_id=row.source_conversation_id if fact.is_mine else None,
            extracted_at=row.created_at,
        )


class FactList(ListOut):
    facts: list[FactOut] = Field(description="Yours and the shared ones, in order of extraction.")


class MovedMemory(Output):
    memory_id: int
    content: str
    happens: Literal["moves", "moves_and_is_withdrawn", "is_set_aside", "stays"]


class MoveReport(BaseModel):
    """A preview of a move."""

    memories: list[MovedMemory]
    needs_confirmation: bool

    @classmethod
    def of(cls, move: Move) -> "MoveReport":
        happens = {row.memory_id: "stays" for row in move.staying}
        happens |= {row.memory_id: "moves" for row in move.dependents}
        happens |= {row.memory_id: "is_set_aside" for row in move.set_aside}
        happens |= {row.memory_id: "moves_and_is_withdrawn" for row in move.withdrawn}
        rows = (*move.dependents, *move.staying)
        return cls(
            memories=[MovedMemory.from_row(row, happens=happens[row.memory_id]) for row in rows],
            needs_confirmation=bool(move.withdrawn),
        )
