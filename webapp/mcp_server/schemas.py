"""The arguments of the tools. The docstring of each tells programs what its tool is for."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from webapp.http.validation import Id, Input, Line, Lines, SearchText
from webapp.memories.schemas import MemoryKind, Statement
from webapp.schedules.schemas import ScheduleFields

MemoryId = Annotated[Id, BeforeValidator(lambda given: str(given).removeprefix("memory-"))]
"""The id of a memory, alone or as `search` gives it."""


class Search(Input):
    """Search the user's memories, past conversations and documents by words and meaning."""

    query: SearchText = Field(min_length=1, max_length=500, description="Words to look for, in the user's language.")
    limit: int = Field(8, ge=1, le=20)


class Fetch(Input):
    """The whole text of something that search found."""

    id: Line = Field(max_length=40, description="An id that search gave.")


class Remember(Input):
    """Offer something the user said of themselves to their memory. Never secrets, nothing they did not say. Unless they
    let you write, it waits for their approval."""

    content: Statement = Field(description="One short statement about the user, understandable on its own.")
    quote: Lines = Field(min_length=1, max_length=2_000, description="The user's own words that say it, verbatim.")
    kind: MemoryKind = "fact"
    space_id: Id | None = Field(None, description="The space it belongs to; without one it is personal.")


class ListMemories(Input):
    """The user's memories, last changed first."""

    space_id: Id | None = None
    kind: MemoryKind | None = None
    limit: int = Field(20, ge=1, le=50)
    cursor: Line | None = Field(None, max_length=500, description="next_cursor of the previous answer.")


class UpdateMemory(Input):
    """Correct a memory. Unless the user lets you write, the new wording waits for their approval."""

    memory_id: MemoryId
    content: Statement = Field(description="What it should say from now on.")


class Forget(Input):
    """Forget a memory for good, only when the user asks for it. Needs the right to write."""

    memory_id: MemoryId


class GetContext(Input):
    """All that is known of the user and matters for a task: profile, what always matters and what has to do with it."""

    task: SearchText = Field(min_length=1, max_length=2_000, description="What you are about to do for the user.")
    space_id: Id | None = None


class ListSchedules(Input):
    """Messages that are sent for the user at a time, those due next first."""


class CreateSchedule(ScheduleFields):
    """Have a message sent to the user's assistant at a time, once or again and again, only when the user asks for it.
    The reply comes in a conversation of theirs. It ends with your token."""


class OneSchedule(Input):
    schedule_id: Id


class PauseSchedule(OneSchedule):
    """Send nothing until it is resumed."""


class ResumeSchedule(OneSchedule):
    """Send it again from now on, as long as your token lasts."""


class RunSchedule(OneSchedule):
    """Send its message now, beside its times."""


class DeleteSchedule(OneSchedule):
    """Delete a schedule, only when the user asks for it; the conversations it began stay."""
