"""The tools by which the model remembers, forgets and searches: each call in a transaction of its own."""

import logging
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.llm.errors import ModelError
from webapp.llm.partial_calls import ToolCall
from webapp.memories.learning import tools
from webapp.memories.learning.model_call import reply_is_trusted
from webapp.memories.store.writing import Vectors
from webapp.providers.clients import embedder
from webapp.tools.calls import ToolRun, call_record, definition_of, failure, parse_arguments

log = logging.getLogger(__name__)

EMBEDDING_SECONDS = 3.0

_ARGUMENTS: dict[str, type[BaseModel]] = {
    "remember": tools.Remember,
    "forget": tools.Forget,
    "search_memories": tools.Search,
}
DEFINITIONS = [definition_of(name, arguments) for name, arguments in _ARGUMENTS.items()]


def run_tool(turn_id: int, call: ToolCall, is_tainted: bool = False, model_id: str | None = None) -> ToolRun:
    """Make a call in a transaction of its own; an invalid one is answered. Raises SQLAlchemyError.

    `model_id` is the replying model's, None for the environment's. `is_tainted`: this turn's prompt holds words of
    others.
    """
    arguments = parse_arguments(call.arguments)
    try:
        args = _ARGUMENTS[call.name].model_validate(arguments)
    except KeyError:
        return call_record(call, arguments, failure("There is no such tool."))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        return call_record(call, arguments, failure(f"These arguments do not fit: {wrong}"))
    vectors = _vectors(args.content) if isinstance(args, tools.Remember) else Vectors()
    with write_transaction():
        turn = db.session.get(Message, turn_id)
        if turn is None:
            return call_record(call, arguments, failure("The conversation is gone."))
        if isinstance(args, tools.Remember):
            is_trusted = reply_is_trusted(model_id)
            output = tools.remember(turn, args, vectors, is_trusted=is_trusted, is_tainted=is_tainted)
        elif isinstance(args, tools.Forget):
            output = tools.forget(turn, args)
        else:
            output = tools.search(turn, cast(tools.Search, args))
    if output.get("status") == "refused":
        arguments = _without_text(arguments, output)
    log.info("tool used", extra={"turn_id": turn_id, "tool": call.name, "status": output.get("status", "ok")})
    return call_record(call, arguments, output)


def _without_text(arguments: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without forgotten or secret text, which the record of the call must not hold either."""
    return (
        arguments
        if output.get("reason") not in (None, "secret", "forgotten")
        else {name: value if name == "memory_id" else "[not kept]" for name, value in arguments.items()}
    )


def _vectors(content: str) -> Vectors:
    client = embedder()
    try:
        return Vectors({content: client.embed_query(content, timeout=EMBEDDING_SECONDS)}, client.model)
    except ModelError:
        return Vectors()
