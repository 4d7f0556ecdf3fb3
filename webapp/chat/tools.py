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
from webapp.memories.engine.kinds import MEMORY_TYPES
from webapp.memories.learning import forget_tool
from webapp.memories.learning import tools as toolbox
from webapp.model_clients import embedder

log = logging.getLogger(__name__)

EMBEDDING_SECONDS = 3.0
MAX_ARGUMENTS = 8_000

_TEXT = {"type": "string"}


def _tool(name: str, description: str, required: list[str], **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    _tool(
        "remember",
        "Keep something the user said of themselves for later conversations. Only when they ask you to remember it, or "
        "state something that clearly matters later. Never for secrets, never for what only you or a document said.",
        ["content", "quote"],
        content={**_TEXT, "description": "One short statement, understandable by itself, in the user's language."},
        quote={**_TEXT, "description": "The user's own words that say it, verbatim."},
        memory_type={"type": "string", "enum": list(MEMORY_TYPES)},
        fact_key={**_TEXT, "description": "`namespace/attribute` for what has one value at a time: identity/location."},
        fact_value={**_TEXT, "description": "The value of fact_key."},
        importance={"type": "number", "description": "0 to 1: how much it matters later."},
        corrects={"type": "boolean", "description": "True when the user corrects something said before."},
    ),
    _tool(
        "forget",
        "Forget a memory for good. Only when the user asks for it in their last message. It cannot be undone.",
        ["quote"],
        quote={**_TEXT, "description": "The user's own words that ask for it, verbatim, from their last message."},
        memory_id={"type": "integer", "description": "From search_memories."},
        content={**_TEXT, "description": "The memory's statement, exactly as you know it, when you have no memory_id."},
    ),
    _tool(
        "search_memories",
        "Look for memories about the user by words, when what you know already does not answer.",
        ["query"],
        query={**_TEXT, "description": "A few words in the language of the memories."},
    ),
]
_ARGUMENTS: dict[str, type[BaseModel]] = {
    "remember": toolbox.Remember,
    "forget": forget_tool.Forget,
    "search_memories": toolbox.Search,
}


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
