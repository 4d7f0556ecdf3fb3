"""The tools that a turn has: those of memory, the built-in ones, and those that were added."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from webapp.accounts.schemas import UserSettings
from webapp.i18n import dates
from webapp.tools.calculator import Unanswerable, calculate
from webapp.tools.calls import definition_of, failure
from webapp.tools.date_arithmetic import UnclearDate, calculate_date
from webapp.tools.memory import DEFINITIONS
from webapp.tools.servers import tools_for
from webapp.tools.toolset import Output, Tool, ToolContext, Toolset
from webapp.tools.web.definitions import NAMES as WEB_NAMES
from webapp.tools.web.service import web_of_site


class Calculate(BaseModel):
    """Exact arithmetic."""

    expression: str = Field(min_length=1, max_length=1_000)


class Dates(BaseModel):
    """The time now, weekdays, days to end, add -2 weeks"""

    start: str = Field("", max_length=100)
    end: str = Field("", max_length=100)
    add: str = Field("", max_length=100)


REPEATS = ("once", "daily", "weekdays", "weekly", "monthly")


class ProposeSchedule(BaseModel):
    """Offer to send a message at a time: a reminder"""

    message: str = Field(min_length=1, max_length=2_000)
    at: str = Field(description="YYYY-MM-DDTHH:MM", max_length=40)
    repeat: str = Field("once", description="daily, weekdays, weekly or monthly", max_length=20)


async def _calculate(arguments: dict[str, Any], _around: ToolContext) -> Output:
    try:
        return {**calculate(Calculate.model_validate(arguments).expression)}
    except (Unanswerable, ValidationError) as error:
        return failure(str(error) if isinstance(error, Unanswerable) else "Give one expression.")


async def _calculate_date(arguments: dict[str, Any], context: ToolContext) -> Output:
    try:
        request = Dates.model_validate({name: value for name, value in arguments.items() if value is not None})
        answer = calculate_date(context.now.date(), request.start, request.end, request.add)
        return {**answer, "time_now": f"{context.now:%H:%M}"}
    except (UnclearDate, ValidationError) as error:
        return failure(str(error) if isinstance(error, UnclearDate) else "start, end and add are short texts.")


async def _propose_schedule(arguments: dict[str, Any], context: ToolContext) -> Output:
    zone = context.now.tzinfo
    try:
        fields = ProposeSchedule.model_validate({name: value for name, value in arguments.items() if value is not None})
        moment = datetime.fromisoformat(fields.at)
        moment = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment.astimezone(zone)
        if fields.repeat not in REPEATS:
            raise ValueError
    except (ValueError, OverflowError, ValidationError):
        return failure("Give message, at as 2026-12-31T09:00, and repeat: once, daily, weekdays, weekly or monthly.")
    if moment <= context.now:
        return failure(f"That has passed. It is {context.now:%Y-%m-%dT%H:%M, %A}.")
    times = {"at": f"{moment:%Y-%m-%dT%H:%M}", "timezone": str(zone), "repeat": fields.repeat}
    proposal = {"prompt": fields.message, **times}
    return {"status": "proposed", "detail": "Shown to the user, who decides.", "schedule": proposal}


BUILT_IN = (
    Tool(definition_of("calculate", Calculate), "home", _calculate),
    Tool(definition_of("dates", Dates), "home", _calculate_date),
    Tool(definition_of("propose_schedule", ProposeSchedule), "home", _propose_schedule),
)


MIN_WINDOW = 4_096
"""In a model's window of fewer tokens, results from outside would leave no room for a prompt."""
DEFINITIONS_SHARE = 0.15

_MEMORY = tuple(Tool(definition, "memory") for definition in DEFINITIONS)
_OURS = {tool.name for tool in (*_MEMORY, *BUILT_IN)} | set(WEB_NAMES)


def toolset_for(
    settings: UserSettings,
    *,
    remembers: bool,
    builtin: bool = True,
    web: bool = False,
    servers_for: int = 0,
    window: int = 16_000,
) -> Toolset:
    """Return a turn's tools: `builtin` arithmetic and dates, the `web`, servers' tools of the user `servers_for`.

    In a small `window` there is no room for tools that reach out.
    """
    tools = [*(_MEMORY if remembers else ())]
    if builtin and settings.builtin_tools_enabled:
        tools += BUILT_IN
    roomy = window >= MIN_WINDOW
    if roomy and web:
        tools += web_of_site()
    if roomy and servers_for:
        tools += tools_for(servers_for, int(window * DEFINITIONS_SHARE), _OURS)
    return Toolset(tools, datetime.now(dates.zone(settings.timezone)))
