"""`/v1`: models and chat completions, in OpenAI's wire format, errors included."""

import time
from collections.abc import Iterator
from typing import Any

from flask import Flask, Response, jsonify

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.chat.api import limit_turns
from webapp.extensions import this_app
from webapp.gateway import requests, service, wire
from webapp.gateway.requests import ReplyEnd
from webapp.gateway.service import LaunchableReply, UserRequest
from webapp.http import problems
from webapp.http.views import PageBlueprint, ViewResult
from webapp.providers.catalogue import ENVIRONMENT_MODEL
from webapp.providers.model_choice import choices

blueprint = PageBlueprint("gateway", __name__, url_prefix="/v1", access="user")


def init_openai_errors(app: Flask) -> None:
    """Report errors under /v1 in OpenAI's format."""
    problems.set_error_format(app, "/v1/", requests.openai_error)


@blueprint.get("/models")
def list_models() -> ViewResult:
    """List the models you can choose, each also for a temporary conversation."""
    ids = dict.fromkeys([ENVIRONMENT_MODEL, *(offer.target.id for offer in choices())])
    names = [name for model_id in ids for name in (model_id, f"{model_id}:temporary")]
    return {"object": "list", "data": [_model(name) for name in names]}


@blueprint.get("/models/<path:name>")
def get_model(name: str) -> ViewResult:
    """Return one of the models."""
    service.find_model_id(wire.split_model(name)[0])
    return _model(name)


def _answer(body: wire.Completion, reply: LaunchableReply) -> Response:
    usage = bool(body.stream_options and body.stream_options.include_usage)
    answer = _stream_response(reply, body.model, usage) if body.stream else _full_response(reply, body.model)
    answer.headers[requests.CONVERSATION] = str(reply.conversation_id)
    return answer


@blueprint.post("/chat/completions")
@limit_turns
@idempotency.idempotent(replay=requests.replay(wire.Completion, _answer))
def complete() -> ViewResult:
    """Reply to the last message, streaming if asked to."""
    body = requests.read_body(wire.Completion)
    reply = service.begin(UserRequest(current_user_id(), wire.read(body), requests.read_preferences(body.model)))
    requests.launch(reply)
    return _answer(body, reply)


def _full_response(reply: LaunchableReply, model: str) -> Response:
    end = requests.wait_for(reply)
    if not isinstance(end, ReplyEnd):
        return end
    usage = service.usage_of(reply.conversation_id, reply.turn_id)
    return jsonify(wire.completion(reply.turn_id, int(time.time()), model, end.content, end.finish, usage, end.calls))


def _stream_response(reply: LaunchableReply, model: str, with_usage: bool) -> Response:
    app, header = this_app(), (reply.turn_id, int(time.time()), model)

    def chunk(delta: dict[str, Any]) -> bytes:
        return wire.chunk(*header, [wire.choice(delta)])

    def last(end: ReplyEnd) -> Iterator[bytes]:
        if end.kind == "error":
            yield wire.event(end.error[0])
        else:
            for delta in wire.call_deltas(end.calls):
                yield chunk(delta)
            yield wire.chunk(*header, [wire.choice({}, end.finish)])
            if with_usage:
                yield wire.chunk(*header, [], usage=requests.usage_in(app, reply))
        yield b"data: [DONE]\n\n"

    start = chunk({"role": "assistant", "content": ""})
    return requests.stream_reply(reply, [start], lambda piece: [chunk({"content": piece})], last)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "commonplace"}
