"""The tools' arguments, and the tools as clients see them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from webapp.http.validation import Id, Line, SearchText
from webapp.memories.schemas import MemoryKind, Statement


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Search(Arguments):
    query: SearchText = Field(min_length=1, max_length=500, description="Words to look for, in the user's language.")
    limit: int = Field(8, ge=1, le=20)


class Fetch(Arguments):
    id: Line = Field(max_length=40, description="An id that search gave.")


class Remember(Arguments):
    content: Statement = Field(description="One short statement about the user, understandable on its own.")
    quote: Line = Field(min_length=1, max_length=2_000, description="The user's own words that say it, verbatim.")
    kind: MemoryKind = "fact"
    space_id: Id | None = Field(None, description="The space it belongs to; without one it is personal.")


class ListMemories(Arguments):
    space_id: Id | None = None
    kind: MemoryKind | None = None
    limit: int = Field(20, ge=1, le=50)
    cursor: Line | None = Field(None, max_length=500, description="next_cursor of the previous answer.")


class UpdateMemory(Arguments):
    memory_id: Id
    content: Statement = Field(description="What it should say from now on.")


class Forget(Arguments):
    memory_id: Id


class GetContext(Arguments):
    task: SearchText = Field(min_length=1, max_length=2_000, description="What you are about to do for the user.")
    space_id: Id | None = None


_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}

TOOLS: dict[str, tuple[type[Arguments], str, dict[str, Any]]] = {
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
}


def tool_list() -> list[dict[str, Any]]:
    """The tools with the schemas of their arguments."""
    return [
        {"name": name, "description": about, "inputSchema": _schema(model), "annotations": hints}
        for name, (model, about, hints) in TOOLS.items()
    ]


def _schema(model: type[Arguments]) -> dict[str, Any]:
    schema = model.model_json_schema()
    schema.pop("title", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema
