"""Starts, retries, edits and branches turns, as rows; `launch` hands a committed turn to the runner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from webapp.chat.context.stored_prompts import fill_marks
from webapp.chat.models import PipelineStep
from webapp.chat.turns import turnlog
from webapp.chat.turns.follow import header
from webapp.chat.turns.runtime import ask_to_stop, runtime
from webapp.chat.turns.start_queue import pop_place
from webapp.chat.turns.tool_calls import Consent
from webapp.conversations import branches, messages
from webapp.conversations.current_messages import first_unfinished
from webapp.conversations.models import SAID_AT, Conversation, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation, get_conversation
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound, require
from webapp.extensions import redis
from webapp.files import service as files
from webapp.memories.learning.extraction import follow_version
from webapp.parameters import PAYLOAD
from webapp.providers.model_choice import check_choice
from webapp.retrieval import receipts
from webapp.retrieval.service import embed_ahead
from webapp.text.provenance import Spans, carry_spans
from webapp.tools.client_tools import ClientTools
from webapp.usage import service as usage

MODEL = "asked_model"
REPLY_OPTIONS = ("instruction", MODEL, PAYLOAD)
"""The keys under which a reply keeps what was asked for this version of it."""


@dataclass(slots=True)
class StartedTurn:
    """The rows of a turn that waits to be launched; `abandoned`: replies being written that it replaces.

    `header` and `turn_id` can be read after the commit without a query; `consent`: which calls that write it makes;
    `client`: the tools of the calling program.
    """

    conversation: Conversation
    question: Message | None
    reply: Message
    abandoned: Sequence[int] = ()
    consent: Consent = "ask"
    client: ClientTools | None = None
    header: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.header = header(self.reply)

    @property
    def turn_id(self) -> int:
        return int(self.header["assistant_message_id"])


def start_turn(
    user_id: int,
    content: str,
    *,
    conversation_id: int | None = None,
    new: NewConversation | None = None,
    model: str | None = None,
    custom_payload: dict[str, Any] | None = None,
    file_ids: Mapping[int, str] | None = None,
    spans: Spans = (),
    is_followed: bool = False,
) -> StartedTurn:
    """Add a user message and the reply to be written; one that `is_followed` is not unread. Raises NotFound, TooMany
    past a quota, Invalid for an unknown model or another space, Unavailable when no more turns are taken."""
    runtime().runner.require_room()
    existing = None if conversation_id is None else get_conversation(user_id, conversation_id, lock=True)
    usage.require_room(user_id)
    check_choice(model)
    embed_ahead(user_id, content)
    if existing is None:
        parent_id = None
        fields = new or NewConversation()
        conversation = create_conversation(user_id, fields, messages=2, first_words=content, is_followed=is_followed)
    else:
        if new and new.space_id not in (None, existing.space_id):
            raise Invalid.field("space_id", "is not that of the conversation")
        parent_id, conversation = messages.last_message_id(existing.conversation_id), existing
        if is_followed:
            conversation.seen_at = None
    question, reply = messages.add_exchange(
        conversation,
        content,
        parent_id=parent_id,
        custom_payload=custom_payload,
        model=model or None,
        spans=spans,
        is_counted=conversation_id is None,
    )
    if file_ids:
        names = files.attach(user_id, conversation.conversation_id, question.message_id, file_ids)
        conversation.has_files = True
        question.custom_payload = {**(custom_payload or {}), "files": names}
    return StartedTurn(conversation, question, reply)


def retry_turn(user_id: int, reply_id: int) -> StartedTurn:
    """Start a new reply in place of an unfinished one, with the same options. Raises NotFound, Conflict."""
    reply, conversation = _lock_reply(user_id, reply_id)
    if reply.status not in ("failed", "interrupted", "stopped"):
        raise Conflict("Only a reply that was not finished can be retried.")
    options = reply.custom_payload or {}
    return store_reply_options(_answer_again(conversation, reply), {name: options.get(name) for name in REPLY_OPTIONS})


def regenerate(
    user_id: int,
    reply_id: int,
    *,
    instruction: str = "",
    model: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> StartedTurn:
    """Write a finished reply anew, as an `instruction`, `model` (by default that asked before) or `parameters` ask; the
    old one and what followed are kept. Raises NotFound, Conflict, Invalid for an unknown model."""
    check_choice(model)
    reply, conversation = _lock_reply(user_id, reply_id)
    if reply.status == "streaming":
        raise Conflict("This reply is still being written. Stop it first.")
    options = {MODEL: model or (reply.custom_payload or {}).get(MODEL), PAYLOAD: dict(parameters or {})}
    return store_reply_options(_answer_again(conversation, reply), {"instruction": instruction, **options})


def store_reply_options(turn: StartedTurn, options: Mapping[str, Any]) -> StartedTurn:
    """Store the REPLY_OPTIONS of a reply, which its retries and later versions use again; return the turn."""
    if options := {name: value for name, value in options.items() if value}:
        payload = (turn.reply.custom_payload or {}) | options
        turn.reply.custom_payload, turn.reply.model = payload, str(payload.get(MODEL) or "")[:200] or None
        db.session.flush()
    return turn


def continue_reply(user_id: int, reply_id: int, words: str) -> StartedTurn:
    """Return a turn that asks the model to continue the last reply, which was cut short. Raises NotFound, Conflict."""
    reply, conversation = _lock_reply(user_id, reply_id)
    if not reply.can_continue or messages.last_message_id(conversation.conversation_id) != reply.message_id:
        raise Conflict("Only a last reply that was cut short can be continued.")
    conversation_id = conversation.conversation_id
    return start_turn(user_id, words, conversation_id=conversation_id, custom_payload={"purpose": "continue"})


def _answer_again(conversation: Conversation, reply: Message) -> StartedTurn:
    runtime().runner.require_room()
    usage.require_room(conversation.user_id)
    if (point := messages.point_opened_by(reply)) is not None:
        first_id, abandoned = reply.message_id, _streaming_after(reply)
        new_reply = messages.add_opening(conversation, {"point": point}, parent_id=reply.parent_id)
    else:
        question = db.session.get(Message, reply.reply_to_id) if reply.reply_to_id else None
        if question is None or question.superseded_by_id is not None:
            raise Conflict("What this reply answered is no longer part of the conversation.")
        embed_ahead(conversation.user_id, question.content)
        first_id, abandoned = question.message_id + 1, _streaming_after(question)
        new_reply = messages.add_reply(conversation, question)
    messages.supersede_from(conversation, first_id, new_reply)
    db.session.flush()
    return StartedTurn(conversation, None, new_reply, abandoned)


def _streaming_after(message: Message) -> Sequence[int]:
    return db.session.scalars(
        select(Message.message_id).where(
            Message.conversation_id == message.conversation_id,
            Message.status == "streaming",
            Message.superseded_by_id.is_(None),
            Message.message_id > message.message_id,
        )
    ).all()


def edit_message(user_id: int, message_id: int, content: str, spans: Spans = ()) -> StartedTurn:
    """Add a new version of a user message, and a reply; the rest is superseded. Raises NotFound, Conflict, TooMany."""
    runtime().runner.require_room()
    message = messages.get_message(user_id, message_id)
    if message.role != "user":
        raise Invalid.field("message_id", "only a message of your own can be edited")
    conversation = _lock(message, user_id)
    usage.require_room(user_id)
    embed_ahead(user_id, content)
    abandoned = _streaming_after(message)
    question, reply = messages.add_exchange(
        conversation,
        content,
        parent_id=message.parent_id,
        custom_payload={name: value for name, value in (message.custom_payload or {}).items() if name != SAID_AT},
        spans=[*spans, *carry_spans(message.content, content, message.provenance)],
    )
    messages.supersede_from(conversation, message.message_id, question, keep=[reply.message_id])
    db.session.flush()
    if attached := (message.custom_payload or {}).get("files"):
        ids = [file["file_id"] for file in attached]
        files.attach_again(conversation.conversation_id, conversation.conversation_id, {question.message_id: ids})
    return StartedTurn(conversation, question, reply, abandoned)


def restore_version(user_id: int, message_id: int, version_id: int) -> Message:
    """Put an earlier version of a message back, with what followed it then. Raises NotFound, Conflict."""
    message = messages.get_message(user_id, message_id)
    conversation = get_conversation(user_id, message.conversation_id, lock=True)
    version = messages.restore_version(conversation, message, version_id)
    follow_version(conversation, version)
    return version


def branch(user_id: int, message_id: int) -> Conversation:
    """Copy a conversation up to a message into a new one, with its files and receipts. Raises as `branches.branch`."""
    source = messages.get_message(user_id, message_id)
    conversation, copies = branches.branch(user_id, message_id)
    payloads = {row.message_id: row.custom_payload or {} for row in copies.values()}
    file_ids = {number: [f["file_id"] for f in data["files"]] for number, data in payloads.items() if "files" in data}
    if file_ids:
        conversation.has_files = files.attach_again(source.conversation_id, conversation.conversation_id, file_ids)
    receipts.copy({original: row.message_id for original, row in copies.items() if row.role == "assistant"})
    return conversation


def launch(turn: StartedTurn) -> None:
    """Hand a committed turn to this process's runner, and ask the replies that it replaces to stop."""
    ask_to_stop(turn.abandoned)
    place = pop_place()
    runtime().runner.submit(turn.turn_id, turn.header, place=place, consent=turn.consent, client=turn.client)


def stop_turn(user_id: int, reply_id: int) -> Message:
    """Ask for a reply to stop; its runner does so within half a second. Raises NotFound."""
    reply = get_reply(user_id, reply_id)
    if reply.status == "streaming":
        turnlog.request_stop(redis(), reply.message_id)
    return reply


def stop_current(user_id: int, conversation_id: int) -> int | None:
    """Ask the reply that is being written to stop; return its id, None if there is none. Raises NotFound."""
    get_conversation(user_id, conversation_id)
    if (reply_id := first_unfinished(conversation_id)) is not None:
        turnlog.request_stop(redis(), reply_id)
    return reply_id


def get_reply(user_id: int, reply_id: int) -> Message:
    """Return a reply in one of the user's conversations. Raises NotFound."""
    message = messages.get_message(user_id, reply_id)
    if message.role != "assistant":
        raise NotFound("There is no such reply.")
    return message


def reply_to(user_id: int, message_id: int) -> Message:
    """Return the current reply to a user message; for a reply, the reply itself. Raises NotFound."""
    message = messages.get_message(user_id, message_id)
    if message.role == "assistant":
        return message
    reply = db.session.scalar(
        select(Message)
        .where(Message.reply_to_id == message_id)
        .order_by(Message.superseded_by_id.is_(None).desc(), Message.message_id.desc())
        .limit(1)
    )
    return require(reply, "There is no reply to this message.")


def pipeline_steps(user_id: int, message_id: int) -> list[PipelineStep]:
    """Return the steps that made a reply, with the marks in the stored prompt replaced by texts. Raises NotFound."""
    message = messages.get_message(user_id, message_id)
    conversation = get_conversation(user_id, message.conversation_id)
    steps = db.session.scalars(
        select(PipelineStep).where(PipelineStep.message_id == message.message_id).order_by(PipelineStep.ordinal)
    ).all()
    for step in steps:
        db.session.expunge(step)
        if "prompt" in step.data:
            step.data = {**step.data, "prompt": fill_marks(user_id, conversation, step.data["prompt"])}
    return list(steps)


def _lock_reply(user_id: int, reply_id: int) -> tuple[Message, Conversation]:
    reply = get_reply(user_id, reply_id)
    return reply, _lock(reply, user_id)


def _lock(message: Message, user_id: int) -> Conversation:
    """Return the locked conversation of a current message. Raises NotFound, Conflict for an earlier version."""
    conversation = get_conversation(user_id, message.conversation_id, lock=True)
    db.session.refresh(message)  # it may have changed before we held the conversation
    if message.superseded_by_id is not None:
        raise Conflict("This is an earlier version. Restore it first.")
    return conversation
