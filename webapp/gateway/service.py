"""An OpenAI client's request as a turn in the conversation that its history belongs to."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

from sqlalchemy import select

from webapp.chat import service as chat, tool_answers
from webapp.conversations import messages
from webapp.conversations.models import Message
from webapp.conversations.schemas import NewConversation
from webapp.db.base import db
from webapp.errors import DomainError, Invalid, NotFound
from webapp.files import service as files
from webapp.files.uploads import store_upload
from webapp.gateway import threads
from webapp.gateway.fingerprints import fingerprint
from webapp.gateway.functions import Round
from webapp.gateway.wire import GatewayRequest
from webapp.memories.rules.tombstones import TombstoneSet
from webapp.memories.store.copies import FORGOTTEN_MARK
from webapp.memories.store.tombstones import tombstone_set
from webapp.parameters import PAYLOAD
from webapp.providers.catalogue import ENVIRONMENT_MODEL
from webapp.providers.model_choice import choices
from webapp.tools.client_tools import waiting_record
from webapp.usage.models import UsageRecord


class UnknownModel(NotFound):
    """There is no such model, or not for this caller."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """The choices of a request: a model's id (None: the default), where it is held, and how memory is used there."""

    model: str | None = None
    space_id: int | None = None
    memory: str = "on"
    is_temporary: bool = False
    conversation_id: int | None = None
    chosen: frozenset[str] = frozenset()
    """The fields that the request set itself."""
    note: dict[str, Any] | None = None
    """What is stored with the reply."""

    @property
    def seed(self) -> str:
        """Return what tells two conversations with the same history apart."""
        return f"{self.space_id or 0}/{self.memory}/{int(self.is_temporary)}"

    @property
    def fields(self) -> NewConversation:
        """Return the conversation to create for it."""
        return NewConversation(
            space_id=self.space_id,
            is_temporary=self.is_temporary,
            uses_memory=self.memory != "off",
            makes_memory=self.memory == "on",
        )


@dataclass(frozen=True, slots=True)
class LaunchableReply:
    """The reply to follow, and the turn to launch for it; None if the reply is already being written."""

    turn_id: int
    conversation_id: int
    turn: chat.StartedTurn | None
    is_new: bool = True
    """Whether the question was added to the conversation, rather than being there already."""


@dataclass(frozen=True, slots=True)
class UserRequest:
    """A request of a user's program; `pictures` are those of the question once they are stored: modes by file id."""

    user_id: int
    body: GatewayRequest
    preferences: Preferences
    pictures: Mapping[int, str] = field(default_factory=dict)


def find_model_id(name: str) -> str | None:
    """Return the id of a model that the caller may choose, by its id or its own name. Raises UnknownModel."""
    if name == ENVIRONMENT_MODEL:
        return None
    for offer in choices():
        if name in (offer.target.id, offer.target.model):
            return None if offer.target.id == ENVIRONMENT_MODEL else offer.target.id
    raise UnknownModel(f"There is no model '{name[:100]}'. GET /v1/models lists the available ones.")


def begin(request: UserRequest) -> LaunchableReply:
    """Return the rows of a turn for a history; the caller commits and launches it. Raises what `start_turn` raises.

    The same question replaces its reply; an edited or unknown history begins a new conversation.
    """
    if request.body.rounds and (reply := _continue_with_answers(request)) is not None:
        return reply
    return _prepare_and_return(request, with_pictures(request, _begin))


def with_pictures(request: UserRequest, begin: Callable[[UserRequest], LaunchableReply]) -> LaunchableReply:
    """Store a question's pictures, before anything is locked, and begin; if either fails they are deleted. Raises
    Invalid for what is no picture, and as `store_upload` and `begin` do.
    """
    pictures: list[int] = []
    try:
        for number, data in enumerate(request.body.pictures, 1):
            row = store_upload(request.user_id, f"image-{number}", BytesIO(data))
            pictures.append(row.file_id)
            problem = "" if row.is_picture else row.reason or "This is no image."
            db.session.commit()
            if problem:
                raise Invalid.field(request.body.place, problem)
        reply = begin(replace(request, pictures=dict.fromkeys(pictures, "whole")))
    except DomainError:
        db.session.rollback()
        _delete_files(request.user_id, pictures)
        db.session.commit()
        raise
    if not reply.is_new:  # the same question again, which has its pictures
        _delete_files(request.user_id, pictures)
    return reply


def prepare(reply: LaunchableReply, request: UserRequest) -> None:
    """Attach to a turn what came with the request."""
    if reply.turn is not None:
        reply.turn.consent = "given"  # these programs cannot answer a question in the middle of a reply
        reply.turn.client = request.body.tools
        payload = {name: value for name, value in (reply.turn.reply.custom_payload or {}).items() if name != PAYLOAD}
        if request.body.parameters:
            payload[PAYLOAD] = dict(request.body.parameters)
        reply.turn.reply.custom_payload = {**payload, **(request.preferences.note or {})} or None


def _prepare_and_return(request: UserRequest, reply: LaunchableReply) -> LaunchableReply:
    body, preferences = request.body, request.preferences
    prepare(reply, request)
    if reply.turn is not None and (not preferences.conversation_id or body.tools or body.rounds):
        mark = fingerprint(preferences.seed, body.lines)
        threads.record(request.user_id, mark, reply.conversation_id, reply.turn_id)
    return reply


def _continue_with_answers(request: UserRequest) -> LaunchableReply | None:
    """Return the next part of a reply from its calls' answers; None if it is unknown or has been followed."""
    reply = threads.find_part(request.user_id, request.body, request.preferences.seed)
    if reply is None or request.preferences.conversation_id not in (None, reply.conversation_id):
        return None
    rest = messages.current_messages(reply.conversation_id, after=reply.message_id)
    if any(row.role == "user" for row in rest):
        return None
    if rest and rest[-1].status == "streaming":
        return LaunchableReply(rest[-1].message_id, reply.conversation_id, None, is_new=False)
    return _prepare_and_return(request, answer_calls(request, reply, request.body.rounds[-1].results))


def answer_calls(request: UserRequest, reply: Message, results: Mapping[str, str]) -> LaunchableReply:
    """Write the next part of a reply whose calls have these results, by call id."""
    turn = tool_answers.continue_reply(request.user_id, reply, results)
    return _write_another_reply(request, turn, reply.conversation_id)


def _write_another_reply(request: UserRequest, turn: chat.StartedTurn, conversation_id: int) -> LaunchableReply:
    """Write another reply to what was asked before."""
    turn.reply.model = request.preferences.model
    turn.conversation.seen_at = None
    db.session.flush()
    return LaunchableReply(turn.turn_id, conversation_id, turn, is_new=False)


def _delete_files(user_id: int, file_ids: Iterable[int]) -> None:
    for file_id in file_ids:
        files.delete_file(user_id, file_id)


def _begin(request: UserRequest) -> LaunchableReply:
    user_id, body, preferences = request.user_id, request.body, request.preferences
    if body.rounds:
        conversation_id = preferences.conversation_id
        if not conversation_id and body.history:
            conversation_id = threads.begin_with_history(user_id, preferences.fields, body.history).conversation_id
        return start(request, conversation_id)
    if preferences.conversation_id or not body.history:
        return start(request, preferences.conversation_id)
    thread = threads.find(user_id, preferences.seed, body.history)
    if thread is not None:
        conversation, reply_id = thread
        existing = threads.existing_reply(conversation.conversation_id, reply_id, body.question)
        if existing is not None:
            return continue_conversation(request, conversation.conversation_id, *existing)
    other = threads.find_question(user_id, fingerprint(preferences.seed, body.lines))
    if other is not None:
        return continue_conversation(request, *other)
    return start(request, threads.begin_with_history(user_id, preferences.fields, body.history).conversation_id)


def continue_conversation(request: UserRequest, conversation_id: int, reply_id: int, status: str) -> LaunchableReply:
    """Ask a question after the last reply of a conversation or, given `reply_id` and its status, repeat that reply."""
    if not reply_id:
        return start(request, conversation_id)
    if status == "streaming":
        return LaunchableReply(reply_id, conversation_id, None, is_new=False)
    repeat = chat.regenerate if status == "complete" else chat.retry_turn
    return _write_another_reply(request, repeat(request.user_id, reply_id), conversation_id)


def start(request: UserRequest, conversation_id: int | None) -> LaunchableReply:
    """Ask a question at the end of a conversation; None: of a new one."""
    body, preferences = request.body, request.preferences
    turn = chat.start_turn(
        request.user_id,
        body.question,
        conversation_id=conversation_id,
        new=preferences.fields,
        model=preferences.model,
        custom_payload={"client_prompt": body.instructions} if body.instructions else None,
        file_ids=request.pictures,
        spans=body.spans,
        is_followed=True,
    )
    if body.rounds:
        tombstones = tombstone_set(request.user_id)
        turn = tool_answers.store_client_parts(turn, [_part(item, tombstones) for item in body.rounds])
        turn.reply.model = preferences.model
        db.session.flush()
    return LaunchableReply(turn.turn_id, turn.header["conversation_id"], turn)


def _part(item: Round, tombstones: TombstoneSet) -> tool_answers.ExternalRound:
    """Return a round as a part of the reply, without what the person has forgotten."""
    records = [waiting_record(call.name[:64], call.arguments, call.id, call.returned) for call in item.calls]
    calls = [
        record
        | {name: _without_forgotten(record[name], tombstones) for name in ("input", "arguments") if name in record}
        for record in records
    ]
    results = {call_id: tombstones.without_forgotten(text, FORGOTTEN_MARK) for call_id, text in item.results.items()}
    return tool_answers.ExternalRound(tombstones.without_forgotten(item.text, FORGOTTEN_MARK), calls, results)


def _without_forgotten(value: Any, tombstones: TombstoneSet) -> Any:
    if isinstance(value, dict):
        return {name: _without_forgotten(part, tombstones) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_forgotten(part, tombstones) for part in value]
    return tombstones.without_forgotten(value, FORGOTTEN_MARK) if isinstance(value, str) else value


def usage_of(conversation_id: int, turn_id: int) -> dict[str, Any]:
    """Return the tokens of a reply in OpenAI's terms; zeros if no model was asked."""
    row = db.session.scalar(
        select(UsageRecord).where(UsageRecord.conversation_id == conversation_id, UsageRecord.message_id == turn_id)
    )
    input_tokens, output_tokens, cached = (row.input_tokens, row.output_tokens, row.cached_tokens) if row else (0, 0, 0)
    return {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
