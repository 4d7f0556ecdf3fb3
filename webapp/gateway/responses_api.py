"""`/v1/responses`: OpenAI's Responses API, over the same turns as chat completions."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flask import Response, jsonify

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.chat import service as chat
from webapp.chat.api import limit_turns
from webapp.conversations.models import Message
from webapp.conversations.tool_records import open_client_calls
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.extensions import this_app
from webapp.gateway import previous_responses, requests, responses_input, responses_output, service, wire
from webapp.gateway.functions import UnsupportedRequest
from webapp.gateway.previous_responses import RESPONSE
from webapp.gateway.requests import ReplyEnd
from webapp.gateway.responses_output import ResponseHeader
from webapp.gateway.service import LaunchableReply, Preferences, UserRequest
from webapp.http.views import PageBlueprint, ViewResult
from webapp.parameters import PAYLOAD

blueprint = PageBlueprint("responses", __name__, url_prefix="/v1", access="user")

_STATUSES = {"complete": "completed", "streaming": "in_progress", "stopped": "cancelled", "interrupted": "incomplete"}


def _answer(body: responses_input.ResponseRequest, reply: LaunchableReply) -> Response:
    place = reply.conversation_id
    header = ResponseHeader(reply.turn_id, int(time.time()), body.model, body.parameters, body.note, place, body)
    if body.background:
        answer = jsonify(responses_output.response(header, "in_progress"))
    else:
        answer = _stream_response(reply, header) if body.stream else _full_response(reply, header)
    answer.headers[requests.CONVERSATION] = str(place)
    return answer


@blueprint.post("/responses")
@limit_turns
@idempotency.idempotent(replay=requests.replay(responses_input.ResponseRequest, _answer))
def create() -> ViewResult:
    """Respond to the last message or to the results of function calls, streaming if asked to."""
    body = requests.read_body(responses_input.ResponseRequest)
    note = {RESPONSE: body.note} if body.note else None
    preferences = replace(requests.read_preferences(body.model, body.conversation_id), note=note)
    reply = _begin(current_user_id(), body, preferences)
    requests.launch(reply)
    return _answer(body, reply)


@blueprint.get("/responses/<name>")
def retrieve(name: str) -> ViewResult:
    """Return a response that was made before, as it stands now; stream it from its beginning if asked to."""
    query = requests.read_query(responses_input.ResponseQuery)
    reply = previous_responses.get_reply(current_user_id(), responses_input.reply_id(name))
    if not query.stream:
        return _stored_response(reply)
    if query.starting_after is not None:
        raise UnsupportedRequest("starting_after", "A stream begins with its first event here.")
    header, launchable = _header_of(reply), LaunchableReply(reply.message_id, reply.conversation_id, None)
    requests.launch(launchable)
    return _stream_response(launchable, header)


@blueprint.post("/responses/<name>/cancel")
def cancel(name: str) -> ViewResult:
    """Stop a response that is being written; the answer is what there is of it. One that has ended stays as it is."""
    user_id = current_user_id()
    reply = previous_responses.get_reply(user_id, responses_input.reply_id(name))
    if reply.status == "streaming":
        launchable = LaunchableReply(reply.message_id, reply.conversation_id, None)
        chat.stop_turn(user_id, launchable.turn_id)
        requests.launch(launchable)
        requests.wait_for(launchable)
        reply = previous_responses.get_reply(user_id, launchable.turn_id)
    return _stored_response(reply)


@blueprint.delete("/responses/<name>")
def delete(name: str) -> ViewResult:
    """Delete a response: it can be neither fetched nor continued any more. What was said stays in its conversation."""
    reply = previous_responses.discard_reply(current_user_id(), responses_input.reply_id(name))
    db.session.commit()
    return {"id": f"{responses_input.PREFIX}{reply.message_id}", "object": "response", "deleted": True}


@blueprint.get("/responses/<name>/input_items")
def list_input_items(name: str) -> ViewResult:
    """List the messages before a response, the last first unless asked otherwise."""
    query = requests.read_query(responses_input.ItemQuery)
    rows, has_more = previous_responses.list_inputs(current_user_id(), responses_input.reply_id(name), query)
    items = [responses_output.input_item(row.message_id, row.role, row.content) for row in rows]
    return responses_output.item_page(items, has_more=has_more)


def _header_of(reply: Message) -> ResponseHeader:
    payload, created = reply.custom_payload or {}, int(reply.created_at.timestamp())
    parameters, note = payload.get(PAYLOAD) or {}, payload.get(RESPONSE) or {}
    return ResponseHeader(reply.message_id, created, reply.model or "default", parameters, note, reply.conversation_id)


def _begin(user_id: int, body: responses_input.ResponseRequest, preferences: Preferences) -> LaunchableReply:
    previous = None
    if body.previous is not None:
        try:
            previous = previous_responses.get_reply(user_id, body.previous)
        except NotFound as error:
            raise NotFound(error.detail, errors=[{"loc": ["previous_response_id"], "msg": error.detail}]) from None
    elif body.conversation_id:
        previous = previous_responses.reply_awaiting_results(user_id, body.conversation_id)
    if previous is None:
        return service.begin(UserRequest(user_id, responses_input.read(body), preferences))
    request, results = responses_input.read_next(body)
    return previous_responses.begin_after_response(previous, UserRequest(user_id, request, preferences), results)


def _stored_response(reply: Message) -> dict[str, Any]:
    header = _header_of(reply)
    if reply.status == "failed":
        error = {"code": reply.error_code or "", "message": reply.error_detail or "The reply failed."}
        return responses_output.response(header, "failed", error=error)
    status = _STATUSES[reply.status]
    if status == "in_progress":
        return responses_output.response(header, status)
    finish = wire.finish_of(reply.custom_payload)
    output = responses_output.output_of(
        header.turn_id, reply.content, open_client_calls(reply.tool_calls), finish=finish
    )
    usage = service.usage_of(reply.conversation_id, reply.message_id)
    return responses_output.response(header, status, output, finish=finish, usage=usage)


def _full_response(reply: LaunchableReply, header: ResponseHeader) -> Response:
    end = requests.wait_for(reply)
    if not isinstance(end, ReplyEnd):
        return end
    output = responses_output.output_of(header.turn_id, end.content, end.calls, finish=end.finish)
    usage = service.usage_of(reply.conversation_id, reply.turn_id)
    header = replace(header, model=end.model or header.model)
    return jsonify(responses_output.response(header, "completed", output, finish=end.finish, usage=usage))


def _stream_response(reply: LaunchableReply, header: ResponseHeader) -> Response:
    app, stream = this_app(), responses_output.Stream(header)

    def last(end: ReplyEnd) -> Iterator[bytes]:
        if end.kind == "error":
            yield from stream.fail(end.error[0]["error"])
        else:
            stream.about = replace(header, model=end.model or header.model)
            yield from stream.end(end.content, end.calls, end.finish, requests.usage_in(app, reply))

    return requests.stream_reply(reply, stream.begin(), stream.text, last)
