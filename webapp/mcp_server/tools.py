"""The tools as programs see them: for each its arguments, its purpose and what runs it; and which a token may call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

from webapp.accounts import scopes
from webapp.errors import Forbidden
from webapp.mcp_server import access, read_tools, schedule_tools, write_tools
from webapp.mcp_server.schemas import (
    Fetch,
    Forget,
    GetContext,
    ListMemories,
    NoArguments,
    OneSchedule,
    Remember,
    Search,
    UpdateMemory,
)
from webapp.schedules.schemas import ScheduleFields

_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_REPEATS = {**_WRITES, "idempotentHint": True}
_ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}


class Tool(NamedTuple):
    """A tool; `hints` say what it does to data."""

    run: Callable[[int, Any], dict[str, Any]]
    arguments: type[BaseModel]
    hints: dict[str, Any]
    description: str


SCHEDULE_TOOLS: dict[str, Tool] = {
    "list_schedules": Tool(
        schedule_tools.list_schedules,
        NoArguments,
        _READS,
        "Messages that are sent for the user at a time, those due next first.",
    ),
    "create_schedule": Tool(
        schedule_tools.create_schedule,
        ScheduleFields,
        _WRITES,
        "Have a message sent to the user's assistant at a time, once or again and again, only when the user asks "
        "for it. The reply comes in a conversation of theirs. It ends with your token.",
    ),
    "pause_schedule": Tool(schedule_tools.pause_schedule, OneSchedule, _REPEATS, "Send nothing until it is resumed."),
    "resume_schedule": Tool(
        schedule_tools.resume_schedule,
        OneSchedule,
        _REPEATS,
        "Send it again from now on, as long as your token lasts.",
    ),
    "run_schedule": Tool(schedule_tools.run_schedule, OneSchedule, _WRITES, "Send its message now, beside its times."),
    "delete_schedule": Tool(
        schedule_tools.delete_schedule,
        OneSchedule,
        _ENDS,
        "Delete a schedule, only when the user asks for it; the conversations it began stay.",
    ),
}
TOOLS: dict[str, Tool] = {
    "search": Tool(
        read_tools.search,
        Search,
        _READS,
        "Search the user's memories, past conversations and documents by words and meaning.",
    ),
    "fetch": Tool(read_tools.fetch, Fetch, _READS, "The whole text of something that search found."),
    "get_context": Tool(
        read_tools.get_context,
        GetContext,
        _READS,
        "What is known of the user that matters for a task: profile, what always matters and what has to do with it.",
    ),
    "list_memories": Tool(read_tools.list_memories, ListMemories, _READS, "The user's memories, last changed first."),
    "remember": Tool(
        write_tools.remember,
        Remember,
        _WRITES,
        "Offer something the user said of themselves to their memory. Never secrets, nothing they did not say. "
        "Unless they let you write, it waits for their approval.",
    ),
    "update_memory": Tool(
        write_tools.update_memory,
        UpdateMemory,
        _WRITES,
        "Correct a memory. Unless the user lets you write, the new wording waits for their approval.",
    ),
    "forget": Tool(
        write_tools.forget,
        Forget,
        _ENDS,
        "Forget a memory for good, only when the user asks for it. Needs the right to write.",
    ),
    **SCHEDULE_TOOLS,
}


def tool_list() -> list[dict[str, Any]]:
    """Return the tools that the token may call, with the schemas of their arguments."""
    return [
        {
            "name": name,
            "description": tool.description,
            "inputSchema": _schema(tool.arguments),
            "annotations": tool.hints,
        }
        for name, tool in TOOLS.items()
        if may_call(name)
    ]


def may_call(name: str) -> bool:
    """Return whether the token may call a tool: those for schedules take `mcp_schedules` or their API's scope."""
    hints = TOOLS[name].hints
    if name in SCHEDULE_TOOLS:
        method = "GET" if hints["readOnlyHint"] else "POST"
        return access.has_scope({"mcp_schedules"} | scopes.required_scopes(method, "/api/schedules", "user"))
    return hints["readOnlyHint"] or access.has_scope(access.WRITE if hints["destructiveHint"] else access.PROPOSE)


def require_right(name: str) -> None:
    """Raise Forbidden for a tool that the token may not call."""
    if may_call(name):
        return
    if name in SCHEDULE_TOOLS:
        raise Forbidden("This token is not allowed to do that with schedules. It needs the scope mcp_schedules.")
    if name == "forget":
        raise Forbidden("This token is not allowed to forget. The user can do it on the memory page of Commonplace.")
    raise Forbidden("This token is only allowed to read.")


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    schema.pop("title", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return schema
