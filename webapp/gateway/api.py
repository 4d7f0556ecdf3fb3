"""`/v1`: models and chat completions, in OpenAI's wire format, errors included."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Flask, Response, jsonify, request
from pydantic import ValidationError

from webapp import problems
from webapp.accounts.auth import current_user_id, signed_in
from webapp.chat import service as chat
from webapp.chat import sse
from webapp.chat.api import limit_turns
from webapp.chat.follow import follow
from webapp.chat.gate import leave
from webapp.chat.runtime import runtime
from webapp.chat.turnlog import FINAL_KINDS, TEXT_KINDS, Entry
from webapp.conversations.service import get_conversation
from webapp.conversations.tool_records import handed_over
from webapp.database import db, expect_writes
from webapp.errors import Invalid
from webapp.extensions import this_app
from webapp.gateway import service, wire
from webapp.gateway.functions import Unsupported
from webapp.gateway.service import Begun, Wish
from webapp.models.catalogue import HOME_ID
from webapp.models.choosing import choices
from webapp.validation import parse_id
from webapp.web import ViewResult

blueprint = Blueprint("gateway", __name__, url_prefix="/v1")

PATIENCE = 600.0
"""Seconds for which a reply that is not streamed is waited for."""
SPACE, MEMORY, CONVERSATION = "X-Commonplace-Space", "X-Commonplace-Memory", "X-Commonplace-Conversation"


@dataclass(frozen=True, slots=True)
class End:
    """How a reply ended: the kind of its last event, and its data."""

    kind: str
    data: dict[str, Any]

    @property
    def finish(self) -> str:
        """OpenAI's word for why it ended."""
        if self.calls:
            return "tool_calls"
        payload = self.data["message"].get("custom_payload") or {}
        return "length" if payload.get("truncated") else "content_filter" if payload.get("filtered") else "stop"

    @property
    def calls(self) -> Sequence[Mapping[str, Any]]:
        """The calls that the client is to answer."""
        return handed_over(self.data["message"].get("tool_calls"))

    @property
    def error(self) -> tuple[dict[str, Any], int]:
        """The error of a reply that failed, with its status."""
        status = wire.status_of(self.data["code"])
        return wire.error(self.data["detail"] or "The reply failed.", status, code=self.data["code"]), status


def init_gateway(app: Flask) -> None:
    """Register the addresses; errors under /v1 are said in OpenAI's shape."""
    app.register_blueprint(blueprint)
    problems.speak(app, "/v1/", _error)


@blueprint.get("/models")
@signed_in
def list_models() -> ViewResult:
    """The models you can choose, each also for a temporary conversation."""
    ids = [name for known in _ids() for name in (known, f"{known}:temporary")]
    return {"object": "list", "data": [_model(name) for name in ids]}


@blueprint.get("/models/<path:name>")
@signed_in
def get_model(name: str) -> ViewResult:
    """One of them."""
    service.model_named(wire.split_model(name)[0])
    return _model(name)


@blueprint.post("/chat/completions")
@signed_in
@limit_turns
def complete() -> ViewResult:
    """A reply to the last message, streamed if asked for."""
    try:
        body = wire.Completion.model_validate(request.get_json())
        asked = wire.read(body)
    except Unsupported as error:
        raise Invalid.field(error.param, str(error)) from None
    except ValidationError as error:
        found = problems.field_errors(error)
        raise Invalid(f"{'.'.join(found[0]['loc'])}: {found[0]['msg']}", errors=found) from None
    user_id = current_user_id()
    begun = service.begin(user_id, asked, _wish(body.model))
    db.session.commit()
    if begun.started is not None:
        chat.launch(begun.started)
    leave()
    db.session.remove()  # no connection is held while the reply is written
    usage = bool(body.stream_options and body.stream_options.include_usage)
    answer = _streamed(user_id, begun, body.model, usage) if body.stream else _whole(begun, body.model)
    answer.headers[CONVERSATION] = str(begun.conversation_id)
    return answer


def _wish(model: str) -> Wish:
    """What the headers and the model's suffixes choose. Raises Invalid, NotFound."""
    name, chosen = wire.split_model(model)
    wishes: dict[str, Any] = {"model": service.model_named(name)}
    for header, field in ((SPACE, "space_id"), (CONVERSATION, "conversation_id")):
        if given := request.headers.get(header, "").strip():
            wishes[field] = parse_id(given)
            if wishes[field] is None:
                raise Invalid.field(header, f"{header} has to be an id.")
    if memory := request.headers.get(MEMORY, "").strip().lower():
        if memory not in wire.MEMORY:
            raise Invalid.field(MEMORY, f"{MEMORY} has to be one of {', '.join(wire.MEMORY)}.")
        wishes["memory"] = memory
    wish = Wish(**{**wishes, **chosen})
    if wish.conversation_id:
        get_conversation(current_user_id(), wish.conversation_id)
    return wish


def _whole(begun: Begun, model: str) -> Response:
    text, end = "", None
    for piece in _pieces(_entries(begun, PATIENCE)):
        if isinstance(piece, str):
            text += piece
        elif piece is not None:
            end = piece
    if end is None:
        return _refusal(wire.error("The reply takes too long. It goes on in the conversation.", 504), 504)
    if end.kind == "error":
        return _refusal(*end.error)
    usage = service.usage_of(begun.conversation_id, begun.turn_id)
    # What is stored, not what came: something may have been forgotten meanwhile.
    content = end.data["message"]["content"]
    return jsonify(wire.completion(begun.turn_id, int(time.time()), model, content, end.finish, usage, end.calls))


def _streamed(user_id: int, begun: Begun, model: str, with_usage: bool) -> Response:
    app = this_app()
    entries = _entries(begun, None)
    about = (begun.turn_id, int(time.time()), model)

    def chunks() -> Iterator[bytes]:
        ended = False
        try:
            yield wire.chunk(*about, [wire.choice({"role": "assistant", "content": ""})])
            for piece in _pieces(entries):
                if piece is None:
                    yield b": waiting\n\n"
                elif isinstance(piece, str):
                    yield wire.chunk(*about, [wire.choice({"content": piece})])
                else:
                    ended = True
                    yield from last(piece)
            ended = True
        finally:
            if not ended:  # the client hung up, which to these clients means: stop
                with app.app_context():
                    expect_writes(False)
                    chat.stop_turn(user_id, begun.turn_id)

    def last(end: End) -> Iterator[bytes]:
        if end.kind == "error":
            yield wire.event(end.error[0])
        else:
            for delta in wire.call_deltas(end.calls):
                yield wire.chunk(*about, [wire.choice(delta)])
            yield wire.chunk(*about, [wire.choice({}, end.finish)])
            if with_usage:
                with app.app_context():
                    usage = service.usage_of(begun.conversation_id, begun.turn_id)
                yield wire.chunk(*about, [], usage=usage)
        yield b"data: [DONE]\n\n"

    return sse.response(chunks())


def _entries(begun: Begun, patience: float | None) -> Iterator[Entry | None]:
    launched = begun.started is not None
    return follow(this_app(), runtime().hub, begun.turn_id, patience=patience, launched=launched)


def _pieces(entries: Iterator[Entry | None]) -> Iterator[str | End | None]:
    """The text of a reply as it comes, each character once, then its end; None while nothing happens."""
    length = 0
    for item in entries:
        if item is None:
            yield None
        elif item.kind in TEXT_KINDS:
            grown = item.offset + len(item.data["text"])
            if item.offset <= length < grown:
                yield item.data["text"][length - item.offset :]
                length = grown
        elif item.kind in FINAL_KINDS:
            content = (item.data.get("message") or {}).get("content", "")
            if len(content) > length:
                yield content[length:]
            yield End(item.kind, item.data)
            return


def _ids() -> list[str]:
    return list(dict.fromkeys([HOME_ID, *(offered.target.id for offered in choices())]))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "commonplace"}


def _refusal(body: dict[str, Any], status: int) -> Response:
    """A reply that failed: it is in the conversation, so a client that tried again by itself would ask twice."""
    response = jsonify(body)
    response.status_code = status
    response.headers["x-should-retry"] = "false"
    return response


def _error(status: int, message: str, errors: Sequence[dict[str, Any]] | None) -> Response:
    param = ".".join(errors[0]["loc"]) if errors else None
    status = 400 if status == 422 else status
    response = jsonify(wire.error(message, status, param=param))
    response.status_code = status
    return response
