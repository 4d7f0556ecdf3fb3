"""The tools that the model is offered in a turn, and carrying out what it calls."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from pydantic import BaseModel, ValidationError

from webapp.conversations.models import Message
from webapp.database import db, write_transaction
from webapp.llm.chat import ToolCall
from webapp.llm.errors import ModelError
from webapp.memories.learning import forget_tool
from webapp.memories.learning import tools as toolbox
from webapp.model_clients import embedder

log = logging.getLogger(__name__)

EMBEDDING_SECONDS = 3.0
MAX_ARGUMENTS = 8_000

_ARGUMENTS: dict[str, type[BaseModel]] = {
    "remember": toolbox.Remember,
    "forget": forget_tool.Forget,
    "search_memories": toolbox.Search,
}
_CHECKED_ANYWAY = ("title", "default", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum")


def definition_of(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """A tool as the model is told of it: from the model that parses its arguments, with what costs tokens left out."""
    schema = arguments.model_json_schema()
    properties = {field: _short(value) for field, value in schema["properties"].items()}
    parameters = {"type": "object", "properties": properties, "required": schema["required"]}
    return {
        "type": "function",
        "function": {"name": name, "description": (arguments.__doc__ or "").strip(), "parameters": parameters},
    }


def _short(value: dict[str, Any]) -> dict[str, Any]:
    """A field's schema without what is checked when the call comes, and without the null that leaving it out means."""
    kinds = [kind for kind in value.get("anyOf", ()) if kind.get("type") != "null"]
    if len(kinds) == 1:
        value = kinds[0] | {key: kept for key, kept in value.items() if key != "anyOf"}
    return {key: kept for key, kept in value.items() if key not in _CHECKED_ANYWAY}


TOOLS = [definition_of(name, arguments) for name, arguments in _ARGUMENTS.items()]


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A call as recorded with the reply, and the answer for the model as JSON text."""

    record: dict[str, Any]

    @property
    def answer(self) -> str:
        """What the model is told."""
        return json.dumps(self.record["output"], ensure_ascii=False)


def run_tool(turn_id: int, call: ToolCall) -> ToolRun:
    """Carry out a call in a transaction of its own; a call that makes no sense is answered, not raised.

    Raises SQLAlchemyError when the database is away.
    """
    given = _parsed(call.arguments)
    try:
        model = _ARGUMENTS[call.name]
        args = model.model_validate(given)
    except KeyError:
        return _run(call, given, _error("There is no such tool."))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        return _run(call, given, _error(f"These arguments do not fit: {wrong}"))
    vectors = _vectors(args) if isinstance(args, toolbox.Remember) else {}
    with write_transaction():
        turn = db.session.get(Message, turn_id)
        if turn is None:
            return _run(call, given, _error("The conversation is gone."))
        if isinstance(args, toolbox.Remember):
            output = toolbox.remember(turn, args, vectors, embedder().model if vectors else None)
        elif isinstance(args, forget_tool.Forget):
            output = forget_tool.forget(turn, args)
        else:
            output = toolbox.search(turn, cast(toolbox.Search, args))
    if output.get("status") in ("refused", "forgotten"):
        given = _without_text(given, output)
    log.info("tool used", extra={"turn_id": turn_id, "tool": call.name, "status": output.get("status", "ok")})
    return _run(call, given, output)


def _without_text(given: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """What was forgotten, or must not be kept, is not to be kept in the record of the call either."""
    kept = output.get("reason") not in (None, "secret", "forgotten")
    return given if kept else {name: value if name == "memory_id" else "[not kept]" for name, value in given.items()}


def _vectors(args: toolbox.Remember) -> dict[str, np.ndarray]:
    try:
        return {args.content: embedder().embed_query(args.content, timeout=EMBEDDING_SECONDS)}
    except ModelError:
        return {}


def _parsed(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments[:MAX_ARGUMENTS] or "{}")
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _run(call: ToolCall, given: dict[str, Any], output: dict[str, Any]) -> ToolRun:
    clean = json.loads(json.dumps(given).replace("\\u0000", ""))
    return ToolRun({"tool_name": call.name[:100], "input": clean, "output": output})


def _error(detail: str) -> dict[str, Any]:
    return {"status": "error", "detail": detail}
