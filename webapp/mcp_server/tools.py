"""The tools as programs see them: for each its arguments, its purpose and what runs it; and which a token may call."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from pydantic import BaseModel

from webapp.accounts import scopes
from webapp.errors import Forbidden
from webapp.mcp_server import access, read_tools, schedule_tools, schemas, write_tools

_READS = {"readOnlyHint": True, "openWorldHint": False}
_WRITES = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
_REPEATS = {**_WRITES, "idempotentHint": True}
_ENDS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}


class Tool(NamedTuple):
    """A tool: what runs it, its arguments and purpose, and what it does to data."""

    run: Callable[[int, Any], dict[str, Any]]
    arguments: type[BaseModel]
    hints: dict[str, Any]


SCHEDULE_TOOLS = {
    "list_schedules": Tool(schedule_tools.list_schedules, schemas.ListSchedules, _READS),
    "create_schedule": Tool(schedule_tools.create_schedule, schemas.CreateSchedule, _WRITES),
    "pause_schedule": Tool(partial(schedule_tools.change_schedule, is_active=False), schemas.PauseSchedule, _REPEATS),
    "resume_schedule": Tool(partial(schedule_tools.change_schedule, is_active=True), schemas.ResumeSchedule, _REPEATS),
    "run_schedule": Tool(schedule_tools.run_schedule, schemas.RunSchedule, _WRITES),
    "delete_schedule": Tool(schedule_tools.delete_schedule, schemas.DeleteSchedule, _ENDS),
}
TOOLS = {
    "search": Tool(read_tools.search, schemas.Search, _READS),
    "fetch": Tool(read_tools.fetch, schemas.Fetch, _READS),
    "get_context": Tool(read_tools.get_context, schemas.GetContext, _READS),
    "list_memories": Tool(read_tools.list_memories, schemas.ListMemories, _READS),
    "remember": Tool(write_tools.remember, schemas.Remember, _WRITES),
    "update_memory": Tool(write_tools.update_memory, schemas.UpdateMemory, _WRITES),
    "forget": Tool(write_tools.forget, schemas.Forget, _ENDS),
    **SCHEDULE_TOOLS,
}


def tool_list() -> list[dict[str, Any]]:
    """Return the tools that the token may call, with the schemas of their arguments."""
    return [{"name": name, **_description(tool)} for name, tool in TOOLS.items() if may_call(name)]


def _description(tool: Tool) -> dict[str, Any]:
    schema = tool.arguments.model_json_schema()
    del schema["title"]
    for field in schema["properties"].values():
        field.pop("title", None)
    description = " ".join(schema.pop("description").split())
    return {"description": description, "inputSchema": schema, "annotations": tool.hints}


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
