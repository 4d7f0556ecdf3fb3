"""JSON endpoints of turns: send, stream, resume, stop, retry, regenerate, edit, versions, inspect, open a point."""

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from typing import TypeVar, cast

from flask import jsonify, request

from webapp.accounts import idempotency
from webapp.accounts.access import View
from webapp.accounts.auth import current_user_id, require_identity
from webapp.chat import opening_messages, service, sse
from webapp.chat.schemas import (
    Again,
    AttachedFile,
    CallNumber,
    ChatRequest,
    EditedMessage,
    FollowOnly,
    FollowQuery,
    MessageStarted,
    NewMessage,
    PipelineStepOut,
    PipelineSteps,
    Reasoning,
    ResponseStarted,
    Restored,
    StillWriting,
    ToolDecision,
    TurnId,
    Version,
    Versions,
    WaitQuery,
    spans_within,
)
from webapp.chat.tool_answers import answer, send_decision
from webapp.chat.turns import turnlog
from webapp.chat.turns.follow import follow, watch
from webapp.chat.turns.runtime import runtime
from webapp.chat.turns.start_queue import starts_turn
from webapp.chat.turns.turnlog import STREAM_START, Cursor
from webapp.conversations import messages
from webapp.conversations.messages import get_reasoning
from webapp.conversations.schemas import MessageOut, NewConversation
from webapp.db.base import db
from webapp.extensions import app_settings, limiter, redis, this_app
from webapp.http.json_api import Answer, Responses, api_blueprint
from webapp.http.validation import Id
from webapp.http.views import ViewResult
from webapp.journeys.schemas import Slug
from webapp.retrieval.receipts import receipt_of

blueprint = api_blueprint("chat_api", __name__, tag="Chat", access="user")

M = TypeVar("M", bound=ResponseStarted)

STREAM: Responses = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


def message_rate() -> str:
    """Return how many turns a user may start, and how many digests they may ask for."""
    return app_settings().message_rate


_limit_rate = limiter.shared_limit(message_rate, scope="turns", key_func=lambda: f"user:{current_user_id()}")


def limit_turns(view: View) -> View:
    """Mark a view that starts a turn: rate-limited by user, and served one at a time in a process."""
    return cast(View, starts_turn(_limit_rate(view)))


def file_modes(files: Sequence[int | AttachedFile]) -> dict[int, str]:
    """Return how each attached file is to be used, by its id."""
    return {
        item if isinstance(item, int) else item.file_id: "whole" if isinstance(item, int) else item.mode
        for item in files
    }


@blueprint.post("/conversations/<int:conversation_id>/messages", status=202)
@limit_turns
@idempotency.idempotent
def send_message(conversation_id: Id, body: NewMessage) -> MessageStarted:
    """Send a message; the reply is written in the background."""
    turn = service.start_turn(
        current_user_id(),
        body.content,
        conversation_id=conversation_id,
        model=body.model,
        custom_payload=body.payload,
        file_ids=file_modes(body.file_ids),
        spans=spans_within(body.content, body.spans),
    )
    service.store_reply_options(turn, {service.MODEL: body.model})
    return _accept_question(turn)


@blueprint.post("/chat/stream", responses=STREAM)
@limit_turns
@idempotency.idempotent(replay=lambda answer, _status: _stream_of(answer["assistant_message_id"]))
def chat_stream(body: ChatRequest, query: FollowOnly) -> ViewResult:
    """Send a message, in a new conversation if none is named, and stream the reply."""
    turn = service.start_turn(
        current_user_id(),
        body.message,
        conversation_id=body.conversation_id,
        new=NewConversation(space_id=body.space_id),
        model=body.model,
        custom_payload=body.payload,
        file_ids=file_modes(body.file_ids),
        spans=spans_within(body.message, body.spans),
        is_followed=True,
    )
    service.store_reply_options(turn, {service.MODEL: body.model})
    idempotency.commit(turn.header)
    service.launch(turn)
    return _stream(turn.turn_id, launched=True)


@blueprint.get("/chat/turns/<int:turn_id>/stream", responses=STREAM)
def resume_stream(turn_id: TurnId, query: FollowQuery) -> ViewResult:
    """Stream the events of a turn, from `Last-Event-ID` or `after` on, or from the start."""
    return _stream_of(turn_id, Cursor.parse(request.headers.get("Last-Event-ID") or query.after))


@blueprint.post("/chat/turns/<int:turn_id>/stop", status=202)
def stop(turn_id: TurnId) -> ResponseStarted:
    """Stop a reply; what has arrived is kept."""
    return ResponseStarted(response_id=service.stop_turn(current_user_id(), turn_id).message_id)


@blueprint.post("/chat/turns/<int:turn_id>/tools/<int:number>")
def decide_tool(turn_id: TurnId, number: CallNumber, body: ToolDecision) -> None:
    """Allow or refuse a tool call that a running turn asks about."""
    answer(current_user_id(), turn_id, number, body.decision)
    db.session.commit()
    send_decision(turn_id, number, body.decision)


@blueprint.post("/chat/turns/<int:turn_id>/retry", status=202)
@limit_turns
@idempotency.idempotent
def retry(turn_id: TurnId) -> ResponseStarted:
    """Answer again where a reply failed, was interrupted or was stopped."""
    turn = service.retry_turn(current_user_id(), turn_id)
    return _accept(turn, ResponseStarted(response_id=turn.turn_id))


@blueprint.post("/chat/turns/<int:turn_id>/regenerate", status=202)
@limit_turns
@idempotency.idempotent
def regenerate(turn_id: TurnId, body: Again) -> ResponseStarted:
    """Write another version of a reply, with an instruction or by another model if named; the earlier one is kept."""
    values = body.parameters.non_empty if body.parameters else {}
    turn = service.regenerate(
        current_user_id(), turn_id, instruction=body.instruction, model=body.model, parameters=values
    )
    return _accept(turn, ResponseStarted(response_id=turn.turn_id))


@blueprint.post("/messages/<int:message_id>/edit", status=202)
@limit_turns
@idempotency.idempotent
def edit_message(message_id: Id, body: EditedMessage) -> MessageStarted:
    """Change a message of yours and have it answered anew; what followed is superseded, not lost."""
    spans = spans_within(body.content, body.spans)
    return _accept_question(service.edit_message(current_user_id(), message_id, body.content, spans))


@blueprint.get("/messages/<int:message_id>/versions")
def list_versions(message_id: Id) -> Versions:
    """List the versions of a message, oldest first."""
    return Versions(
        versions=[
            Version.of(row, is_current=row.superseded_by_id is None)
            for row in messages.versions_of(messages.get_message(current_user_id(), message_id))
        ]
    )


@blueprint.post("/messages/<int:message_id>/versions/<int:version_id>/restore")
def restore_version(message_id: Id, version_id: Id) -> Restored:
    """Put an earlier version back, with what followed it then."""
    row = service.restore_version(current_user_id(), message_id, version_id)
    return Restored(message=MessageOut.of(row))


@blueprint.get("/messages/<int:message_id>/response", responses={200: MessageOut, 202: StillWriting})
def get_response(message_id: Id, query: WaitQuery) -> Answer:
    """Return the reply to a message once it is complete, waiting for it if asked to."""
    user_id = current_user_id()
    reply = service.reply_to(user_id, message_id)
    if reply.status == "streaming" and query.wait:
        reply_id = reply.message_id
        db.session.remove()  # no connection is held while waiting
        with closing(
            sse.viewer_stream(user_id, follow(this_app(), runtime().hub, reply_id, patience=query.wait))
        ) as waiting:
            deque(waiting, maxlen=0)
        reply = service.reply_to(user_id, message_id)
    if reply.status == "streaming":
        response = jsonify(StillWriting(status=reply.status, response_id=reply.message_id).model_dump())
        response.headers["Retry-After"] = "1"
        return response, 202
    return MessageOut.of(reply)


@blueprint.get("/messages/<int:message_id>/pipeline_steps")
def get_pipeline_steps(message_id: Id) -> PipelineSteps:
    """Return how a reply was made: the prompt as it was sent, its sections with token counts, the model, durations."""
    return PipelineSteps(
        message_id=message_id,
        pipeline_steps=[
            PipelineStepOut(
                name=step.name,
                model=step.model,
                duration_ms=step.duration_ms,
                prompt=step.data.get("prompt"),
                data={name: value for name, value in step.data.items() if name != "prompt"},
            )
            for step in service.pipeline_steps(current_user_id(), message_id)
        ],
        receipt=receipt_of(current_user_id(), message_id),
    )


@blueprint.get("/messages/<int:message_id>/reasoning")
def get_message_reasoning(message_id: Id) -> Reasoning:
    """Return what the model thought before and while it wrote a reply; 404 where nothing of it is kept."""
    row = get_reasoning(current_user_id(), message_id)
    return Reasoning(message_id=row.message_id, text=row.content, duration_ms=row.duration_ms)


def _accept_question(turn: service.StartedTurn) -> MessageStarted:
    question = turn.question
    assert question is not None
    return _accept(turn, MessageStarted(message=MessageOut.of(question), response_id=turn.turn_id))


def _accept(turn: service.StartedTurn, answer: M) -> M:
    """Commit a started turn and launch it."""
    idempotency.commit(answer)
    service.launch(turn)
    return answer


def _stream_of(turn_id: int, cursor: Cursor = STREAM_START) -> ViewResult:
    return _stream(service.get_reply(current_user_id(), turn_id).message_id, cursor)


def _stream(turn_id: int, cursor: Cursor = STREAM_START, *, launched: bool = False) -> ViewResult:
    app, hub = this_app(), runtime().hub
    jobs = request.args.get("follow") == "jobs"
    seen = cursor.length or 0
    if cursor.id and cursor.length is None:
        seen = len(turnlog.text_of(turnlog.read(redis(), turn_id, last_id=cursor.id)))
    db.session.remove()
    entries = follow(app, hub, turn_id, after=cursor.id, jobs=jobs, launched=launched)
    identity = require_identity()
    events = sse.json_events(watch(app, identity, entries), seen=seen, resumed=bool(cursor.id))
    return sse.response(events if launched else sse.viewer_stream(identity.user_id, events))


points_blueprint = api_blueprint("chat_points_api", __name__, tag="Journeys", url_prefix="/memory", access="user")


@points_blueprint.post(
    "/conversation/<int:conversation_id>/points/<point_slug>/initiate/", strict_slashes=False, status=202
)
@limit_turns
@idempotency.idempotent
def initiate_point(conversation_id: Id, point_slug: Slug) -> ResponseStarted:
    """Have the assistant ask about a point; a second click before the answer gives the question that is there."""
    turn, is_new = opening_messages.start_point(current_user_id(), conversation_id, point_slug)
    answer = idempotency.commit(ResponseStarted(response_id=turn.reply.message_id))
    if is_new:
        service.launch(turn)
    return answer
