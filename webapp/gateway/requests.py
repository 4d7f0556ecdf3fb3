"""Shared steps of the gateway's endpoints: reading a request's choices, launching a turn, following a reply."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import Flask, Response, current_app, request
from pydantic import BaseModel, ValidationError

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, require_identity
from webapp.chat import service as chat, sse
from webapp.chat.turns.follow import follow, watch
from webapp.chat.turns.runtime import runtime
from webapp.chat.turns.start_queue import pop_place
from webapp.chat.turns.turnlog import FINAL_KINDS, TEXT_KINDS, Entry
from webapp.conversations.service import get_conversation
from webapp.conversations.tool_records import open_client_calls
from webapp.db.base import db, expect_writes
from webapp.errors import Invalid
from webapp.extensions import this_app
from webapp.gateway import service, wire
from webapp.gateway.service import LaunchableReply, Preferences
from webapp.http import problems
from webapp.http.validation import parse_id

WAIT_SECONDS = 600.0
"""How many seconds to wait for a reply that is not streamed."""
SPACE, MEMORY, CONVERSATION = "X-Commonplace-Space", "X-Commonplace-Memory", "X-Commonplace-Conversation"
_Body = TypeVar("_Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ReplyEnd:
    """The end of a reply: the kind of its last event, and its data."""

    kind: str
    data: dict[str, Any]

    @property
    def finish(self) -> str:
        """Return OpenAI's word for why it ended."""
        return "tool_calls" if self.calls else wire.finish_of(self.data["message"].get("custom_payload"))

    @property
    def calls(self) -> Sequence[Mapping[str, Any]]:
        """Return the calls that the client has to answer."""
        return open_client_calls(self.data["message"].get("tool_calls"))

    @property
    def content(self) -> str:
        """Return what is stored, not what was streamed: something may have been forgotten in the meantime."""
        return str(self.data["message"]["content"])

    @property
    def model(self) -> str | None:
        """Return the id of the model that wrote it, whatever was asked for."""
        name = self.data["message"].get("model")
        return str(name) if name else None

    @property
    def error(self) -> tuple[dict[str, Any], int]:
        """Return the error of a failed reply, with its status."""
        status = wire.status_of(self.data["code"])
        return wire.error(self.data["detail"] or "The reply failed.", status, code=self.data["code"]), status


def read_body(shape: type[_Body]) -> _Body:
    """Return the request's body. Raises Invalid."""
    return _validate(shape, request.get_json())


def read_query(shape: type[_Body]) -> _Body:
    """Return the request's parameters. Raises Invalid."""
    return _validate(shape, request.args.to_dict())


def _validate(shape: type[_Body], values: Any) -> _Body:
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        errors = problems.field_errors(error, values)
        raise Invalid(f"{'.'.join(errors[0]['loc'])}: {errors[0]['msg']}", errors=errors) from None


def read_preferences(model: str, conversation_id: int | None = None) -> Preferences:
    """Return what headers and the model's suffixes choose, with the body's conversation. Raises Invalid, NotFound."""
    name, suffixes = wire.split_model(model)
    values: dict[str, Any] = {"model": service.find_model_id(name)}
    for header, field in ((SPACE, "space_id"), (CONVERSATION, "conversation_id")):
        if value := request.headers.get(header, "").strip():
            values[field] = parse_id(value)
            if values[field] is None:
                raise Invalid.field(header, "has to be an id")
    if memory := request.headers.get(MEMORY, "").strip().lower():
        if memory not in wire.MEMORY:
            raise Invalid.field(MEMORY, f"has to be one of {', '.join(wire.MEMORY)}")
        values["memory"] = memory
    values |= suffixes | ({"conversation_id": conversation_id} if conversation_id else {})
    result = Preferences(**values, chosen=frozenset(values) - {"model"})
    if result.conversation_id:
        get_conversation(current_user_id(), result.conversation_id)
    return result


def launch(reply: LaunchableReply) -> None:
    """Commit a turn and hand it to the runner; no connection is held while the reply is written."""
    idempotency.commit({"turn_id": reply.turn_id, "conversation_id": reply.conversation_id})
    if reply.turn is not None:
        chat.launch(reply.turn)
    _release_place()


def replay(
    kind: type[_Body], show: Callable[[_Body, LaunchableReply], Response]
) -> Callable[[dict[str, Any], int], Response]:
    """Return how the answer to a repeated Idempotency-Key is shown; that raises NotFound if its reply is gone."""

    def repeat(first: dict[str, Any], _status: int) -> Response:
        chat.get_reply(current_user_id(), first["turn_id"])
        _release_place()
        return show(read_body(kind), LaunchableReply(**first, turn=None))

    return repeat


def _release_place() -> None:
    pop_place().close()  # the next one does not wait for this reply
    db.session.remove()


def _entries(reply: LaunchableReply, patience: float | None) -> Iterator[Entry | None]:
    entries = follow(this_app(), runtime().hub, reply.turn_id, patience=patience, launched=reply.turn is not None)
    return watch(this_app(), require_identity(), entries)


def stream_reply(
    reply: LaunchableReply,
    first: Iterable[bytes],
    text: Callable[[str], Iterable[bytes]],
    last: Callable[[ReplyEnd], Iterable[bytes]],
) -> Response:
    """Return the events of a reply as they happen: `first`, those of each piece of its text, those of its end.

    A reader that hangs up stops the reply it asked for, unless an Idempotency-Key says that the request may come again.
    """
    pieces = _pieces(_entries(reply, None))
    if request.method == "POST" and idempotency.HEADER not in request.headers:
        pieces = _read_or_stop(this_app(), current_user_id(), reply.turn_id, pieces)

    def events() -> Iterator[bytes]:
        with closing(pieces):
            yield from first
            for piece in pieces:
                if piece is None:
                    yield b": waiting\n\n"
                elif isinstance(piece, str):
                    yield from text(piece)
                else:
                    yield from last(piece)

    return sse.response(events() if request.method == "POST" else sse.viewer_stream(current_user_id(), events()))


def _read_or_stop(
    app: Flask, user_id: int, turn_id: int, pieces: Iterator[str | ReplyEnd | None]
) -> Generator[str | ReplyEnd | None]:
    is_open = True
    try:
        for piece in pieces:
            is_open = not isinstance(piece, ReplyEnd)
            yield piece
        is_open = False
    finally:
        if is_open:
            with app.app_context():
                expect_writes(False)
                chat.stop_turn(user_id, turn_id)


def _pieces(pieces: Iterator[Entry | None]) -> Generator[str | ReplyEnd | None]:
    """Yield a reply's text as it arrives, each character once, then its end; None while nothing happens."""
    length = 0
    for item in pieces:
        if item is None:
            yield None
        elif item.kind in TEXT_KINDS:
            grown = item.offset + len(item.data["text"])
            if item.kind == "snapshot":
                length = min(length, grown)  # what was sent of a thought stays: the protocol takes nothing back
            if item.offset <= length < grown:
                yield item.data["text"][length - item.offset :]
                length = grown
        elif item.kind in FINAL_KINDS:
            content = (item.data.get("message") or {}).get("content", "")
            if len(content) > length:
                yield content[length:]
            yield ReplyEnd(item.kind, item.data)
            return


def wait_for(reply: LaunchableReply) -> ReplyEnd | Response:
    """Return the end of a reply that is not streamed; if it failed or takes too long, the response to send instead."""
    end = next((piece for piece in _pieces(_entries(reply, WAIT_SECONDS)) if isinstance(piece, ReplyEnd)), None)
    if end is None:
        return refusal(wire.error("The reply takes too long. It goes on in the conversation.", 504), 504)
    return refusal(*end.error) if end.kind == "error" else end


def usage_in(app: Flask, reply: LaunchableReply) -> dict[str, Any]:
    """Return the reply's usage, from within a stream."""
    with app.app_context():
        return service.usage_of(reply.conversation_id, reply.turn_id)


def refusal(body: dict[str, Any], status: int) -> Response:
    """Return a response for a failed reply that clients do not retry, since the turn is in the conversation."""
    return current_app.make_response((body, status, {"x-should-retry": "false"}))


def openai_error(status: int, message: str, errors: Sequence[dict[str, Any]] | None) -> tuple[dict[str, Any], int]:
    """Return an error in OpenAI's shape."""
    status = 400 if status == 422 else status
    return wire.error(message, status, param=".".join(errors[0]["loc"]) if errors else None), status
