"""The tools that a turn has: those of memory, the built-in ones, and those that were added."""

import logging
from datetime import datetime
from typing import Any, cast

from pydantic import BaseModel, Field, ValidationError

from webapp.accounts.schemas import UserSettings
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.i18n import dates
from webapp.llm.errors import ModelError
from webapp.llm.partial_calls import ToolCall
from webapp.memories.learning import tools
from webapp.memories.learning.model_call import reply_is_trusted
from webapp.memories.store.writing import Vectors
from webapp.providers.clients import embedder
from webapp.tools.calculator import Unanswerable, calculate
from webapp.tools.calls import ToolRun, call_record, definition_of, failure, parse_arguments
from webapp.tools.date_arithmetic import UnclearDate, calculate_date
from webapp.tools.servers import tools_for
from webapp.tools.toolset import Output, Tool, ToolContext, Toolset
from webapp.tools.web.definitions import NAMES as WEB_NAMES
from webapp.tools.web.service import web_of_site

log = logging.getLogger(__name__)

EMBEDDING_SECONDS = 3.0

_ARGUMENTS: dict[str, type[BaseModel]] = {
    "remember": tools.Remember,
    "forget": tools.Forget,
    "search_memories": tools.Search,
}


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


async def _calculate(arguments: dict[str, Any], _context: ToolContext) -> Output:
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
    Tool(definition_of("calculate", Calculate), "local", _calculate),
    Tool(definition_of("dates", Dates), "local", _calculate_date),
    Tool(definition_of("propose_schedule", ProposeSchedule), "local", _propose_schedule),
)


MIN_WINDOW = 4_096
"""In a model's window of fewer tokens, results from outside would leave no room for a prompt."""
DEFINITIONS_SHARE = 0.15

_MEMORY = tuple(Tool(definition_of(name, arguments), "memory") for name, arguments in _ARGUMENTS.items())
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
    """Return a turn's tools, with the servers' of the user `servers_for`; in a small `window` none reach out."""
    offered = [*(_MEMORY if remembers else ())]
    if builtin and settings.builtin_tools_enabled:
        offered += BUILT_IN
    roomy = window >= MIN_WINDOW
    if roomy and web:
        offered += web_of_site()
    if roomy and servers_for:
        offered += tools_for(servers_for, int(window * DEFINITIONS_SHARE), _OURS)
    return Toolset(offered, datetime.now(dates.zone(settings.timezone)))


def run_tool(turn_id: int, call: ToolCall, is_tainted: bool = False, model_id: str | None = None) -> ToolRun:
    """Make a call in a transaction of its own, for the model of this id; raises SQLAlchemyError, answers all else."""
    arguments = parse_arguments(call.arguments)
    try:
        args = _ARGUMENTS[call.name].model_validate(arguments)
    except KeyError:
        return call_record(call, arguments, failure("There is no such tool."))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        return call_record(call, arguments, failure(f"These arguments do not fit: {wrong}"))
    content = args.content if isinstance(args, tools.Remember | tools.Forget) else None
    vectors = _vectors(content) if content else Vectors()
    with write_transaction():
        turn = db.session.get(Message, turn_id)
        if turn is None:
            return call_record(call, arguments, failure("The conversation is gone."))
        if isinstance(args, tools.Remember):
            is_trusted = reply_is_trusted(model_id)
            output = tools.remember(turn, args, vectors, is_trusted=is_trusted, is_tainted=is_tainted)
        elif isinstance(args, tools.Forget):
            output = tools.forget(turn, args, vectors)
        else:
            output = tools.search(turn, cast(tools.Search, args))
    if output.get("status") == "refused" and output.get("reason") in (None, "secret", "forgotten"):
        # The record of the call must not hold the text either.
        arguments = {name: value if name == "memory_id" else "[not kept]" for name, value in arguments.items()}
    log.info("tool used", extra={"turn_id": turn_id, "tool": call.name, "status": output.get("status", "ok")})
    return call_record(call, arguments, output)


def _vectors(content: str) -> Vectors:
    client = embedder()
    try:
        return Vectors({content: client.embed_query(content, timeout=EMBEDDING_SECONDS)}, client.model)
    except ModelError:
        return Vectors()
