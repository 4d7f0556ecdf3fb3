"""The tools' arguments, and the tools as clients see them."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.http.validation import Id, Input, Line, Lines, SearchText
from webapp.memories.schemas import MemoryKind, Statement
from webapp.schedules.schemas import ScheduleFields

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


_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_REPEATS = {**_WRITES, "idempotentHint": True}
_ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}

Described = tuple[type[BaseModel], str, dict[str, Any]]
"""The arguments of a tool, what it is for, and what it does to data."""

SCHEDULE_TOOLS: dict[str, Described] = {
    "list_schedules": (NoArguments, "Messages that are sent for the user at a time, those due next first.", _READS),
    "create_schedule": (
        ScheduleFields,
        (
            "Have a message sent to the user's assistant at a time, once or again and again, only when the user asks "
            "for it. The reply comes in a conversation of theirs. It ends with your token."
        ),
        _WRITES,
    ),
    "pause_schedule": (OneSchedule, "Send nothing until it is resumed.", _REPEATS),
    "resume_schedule": (OneSchedule, "Send it again from now on, as long as your token lasts.", _REPEATS),
    "run_schedule": (OneSchedule, "Send its message now, beside its times.", _WRITES),
    "delete_schedule": (
        OneSchedule,
        "Delete a schedule, only when the user asks for it; the conversations it began stay.",
        _ENDS,
    ),
}
TOOLS: dict[str, Described] = {
    "search": (Search, "Search the user's memories, past conversations and documents by words and meaning.", _READS),
    "fetch": (Fetch, "The whole text of something that search found.", _READS),
    "get_context": (
        GetContext,
        "What is known of the user that matters for a task: profile, what always matters and what has to do with it.",
        _READS,
    ),
    "list_memories": (ListMemories, "The user's memories, last changed first.", _READS),
    "remember": (
        Remember,
        (
            "Offer something the user said of themselves to their memory. Never secrets, nothing they did not say. "
            "Unless they let you write, it waits for their approval."
        ),
        _WRITES,
    ),
    "update_memory": (
        UpdateMemory,
        "Correct a memory. Unless the user lets you write, the new wording waits for their approval.",
        _WRITES,
    ),
    "forget": (Forget, "Forget a memory for good, only when the user asks for it. Needs the right to write.", _ENDS),
    **SCHEDULE_TOOLS,
}


def tool_list(is_usable: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Return the usable tools with the schemas of their arguments."""
    return [
        {"name": name, "description": about, "inputSchema": _schema(model), "annotations": hints}
        for name, (model, about, hints) in TOOLS.items()
        if is_usable(name)
    ]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    schema.pop("title", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema
