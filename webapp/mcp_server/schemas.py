"""The arguments of the tools."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from webapp.http.validation import Id, Input, Line, Lines, SearchText
from webapp.memories.schemas import MemoryKind, Statement

MemoryId = Annotated[Id, BeforeValidator(lambda given: str(given).removeprefix("memory-"))]
"""The id of a memory, alone or as `search` gives it."""


class Search(Input):
    query: SearchText = Field(min_length=1, max_length=500, description="Words to look for, in the user's language.")
    limit: int = Field(8, ge=1, le=20)


class Fetch(Input):
    id: Line = Field(max_length=40, description="An id that search gave.")


class Remember(Input):
    content: Statement = Field(description="One short statement about the user, understandable on its own.")
    quote: Lines = Field(min_length=1, max_length=2_000, description="The user's own words that say it, verbatim.")
    kind: MemoryKind = "fact"
    space_id: Id | None = Field(None, description="The space it belongs to; without one it is personal.")


class ListMemories(Input):
    space_id: Id | None = None
    kind: MemoryKind | None = None
    limit: int = Field(20, ge=1, le=50)
    cursor: Line | None = Field(None, max_length=500, description="next_cursor of the previous answer.")


class UpdateMemory(Input):
    memory_id: MemoryId
    content: Statement = Field(description="What it should say from now on.")


class Forget(Input):
    memory_id: MemoryId


class GetContext(Input):
    task: SearchText = Field(min_length=1, max_length=2_000, description="What you are about to do for the user.")
    space_id: Id | None = None


class NoArguments(Input):
    pass


class OneSchedule(Input):
    schedule_id: Id
