"""An OpenAI client's request as a turn in the conversation that its history belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

from sqlalchemy import select

from webapp.chat import client_tool_results
from webapp.chat import service as chat
from webapp.conversations import messages
from webapp.conversations.schemas import NewConversation
from webapp.db.base import db
from webapp.errors import DomainError, Invalid, NotFound
from webapp.files import service as files
from webapp.files.uploads import take_in
from webapp.gateway import threads
from webapp.gateway.fingerprints import fingerprint
from webapp.gateway.functions import Round
from webapp.gateway.wire import GatewayRequest
from webapp.memories.rules.tombstones import TombstoneSet
from webapp.memories.store.copies import GONE
from webapp.memories.store.tombstone_secrets import tombstone_set
from webapp.parameters import PAYLOAD
from webapp.providers.catalogue import HOME_ID
from webapp.providers.model_choice import choices
from webapp.tools.client_tools import waiting_record
from webapp.usage.models import UsageRecord
from webapp.usage.service import require_room


class UnknownModel(NotFound):
    """There is no such model, or not for this caller."""


@dataclass(frozen=True, slots=True)
class Wish:
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
        """The conversation to create for it."""
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
    started: chat.StartedTurn | None
    is_new: bool = True
    """Whether the question was added to the conversation, rather than being there already."""


def find_model_id(name: str) -> str | None:
    """The id of a model that the caller may choose, by its id or its own name. Raises UnknownModel."""
    if name == HOME_ID:
        return None
    for offered in choices():
        if name in (offered.target.id, offered.target.model):
            return None if offered.target.id == HOME_ID else offered.target.id
    raise UnknownModel(f"There is no model '{name[:100]}'. GET /v1/models lists the available ones.")


def begin(user_id: int, asked: GatewayRequest, wish: Wish) -> LaunchableReply:
    """The rows of a turn; the caller commits and launches it.

    A history that continues a conversation is not stored again; the same question asked again replaces the earlier
    reply; an edited or unknown history begins a new conversation. Raises what `start_turn` raises.
    """
    require_room(user_id)
    if asked.rounds and (begun := _go_on_with_answers(user_id, asked, wish)) is not None:
        return begun
    begun = with_pictures(user_id, asked, partial(_begin, user_id, asked, wish))
    return _noted(user_id, asked, wish, begun)


def with_pictures(
    user_id: int, asked: GatewayRequest, begin: Callable[[Mapping[int, str]], LaunchableReply]
) -> LaunchableReply:
    """Store the pictures of a question and begin with them; if that fails they are deleted again.

    They are stored before anything is locked: reading one takes a while.
    """
    pictures = _take_in(user_id, asked)
    try:
        begun = begin(dict.fromkeys(pictures, "whole"))
    except DomainError:
        db.session.rollback()
        _drop(user_id, pictures)
        db.session.commit()
        raise
    if not begun.is_new:  # the same question again, which has its pictures
        _drop(user_id, pictures)
    return begun


def prepare(begun: LaunchableReply, asked: GatewayRequest, wish: Wish) -> None:
    """Give a turn what came with the request."""
    if begun.started is not None:
        begun.started.consent = "given"  # these programs cannot answer a question in the middle of a reply
        begun.started.client = asked.tools
        payload = {name: value for name, value in (begun.started.reply.custom_payload or {}).items() if name != PAYLOAD}
        if asked.parameters:
            payload[PAYLOAD] = dict(asked.parameters)
        begun.started.reply.custom_payload = {**payload, **(wish.note or {})} or None


def _noted(user_id: int, asked: GatewayRequest, wish: Wish, begun: LaunchableReply) -> LaunchableReply:
    prepare(begun, asked, wish)
    if begun.started is not None and (not wish.conversation_id or asked.tools or asked.rounds):
        threads.note(user_id, fingerprint(wish.seed, asked.lines), begun.conversation_id, begun.turn_id)
    return begun


def _go_on_with_answers(user_id: int, asked: GatewayRequest, wish: Wish) -> LaunchableReply | None:
    """The next part of the reply whose calls are answered; None if that is unknown, or the conversation has gone on."""
    reply = threads.find_part(user_id, asked, wish.seed)
    if reply is None or wish.conversation_id not in (None, reply.conversation_id):
        return None
    rest = messages.current_messages(reply.conversation_id, after=reply.message_id)
    if any(row.role == "user" for row in rest):
        return None
    if rest and rest[-1].status == "streaming":
        return LaunchableReply(rest[-1].message_id, reply.conversation_id, None, is_new=False)
    started = client_tool_results.go_on(user_id, reply, asked.rounds[-1].results)
    started.reply.model = wish.model
    db.session.flush()
    return _noted(user_id, asked, wish, LaunchableReply(started.turn_id, reply.conversation_id, started, is_new=False))


def _take_in(user_id: int, asked: GatewayRequest) -> list[int]:
    """Store a question's images as files of the user's; returns their ids. Each is committed before the next is read.

    Raises Invalid for what is not an image, and what `take_in` raises; then none of them is kept.
    """
    taken: list[int] = []
    try:
        for number, data in enumerate(asked.pictures, 1):
            row = take_in(user_id, f"image-{number}", BytesIO(data))
            taken.append(row.file_id)
            problem = "" if row.is_picture else row.reason or "This is no image."
            db.session.commit()
            if problem:
                raise Invalid.field(asked.place, problem)
    except DomainError:
        db.session.rollback()
        _drop(user_id, taken)
        db.session.commit()
        raise
    return taken


def _drop(user_id: int, taken: Iterable[int]) -> None:
    for file_id in taken:
        files.delete_file(user_id, file_id)


def _begin(user_id: int, asked: GatewayRequest, wish: Wish, pictures: Mapping[int, str]) -> LaunchableReply:
    if asked.rounds:
        conversation_id = wish.conversation_id
        if not conversation_id and asked.history:
            conversation_id = threads.begin_with(user_id, wish.fields, asked.history).conversation_id
        return start(user_id, asked, wish, conversation_id, pictures)
    if wish.conversation_id or not asked.history:
        return start(user_id, asked, wish, wish.conversation_id, pictures)
    found = threads.find(user_id, wish.seed, asked.history)
    if found is not None:
        conversation, reply_id = found
        again = threads.existing_reply(conversation.conversation_id, reply_id, asked.question)
        if again is not None:
            return go_on(user_id, asked, wish, conversation.conversation_id, pictures, *again)
    elsewhere = threads.find_question(user_id, fingerprint(wish.seed, asked.lines))
    if elsewhere is not None:
        place, last = elsewhere
        return go_on(user_id, asked, wish, place, pictures, *last)
    conversation = threads.begin_with(user_id, wish.fields, asked.history)
    return start(user_id, asked, wish, conversation.conversation_id, pictures)


def go_on(
    user_id: int,
    asked: GatewayRequest,
    wish: Wish,
    conversation_id: int,
    pictures: Mapping[int, str],
    reply_id: int,
    status: str,
) -> LaunchableReply:
    """Ask a question after the last reply of a conversation or, given `reply_id` and its status, repeat that reply."""
    if not reply_id:
        return start(user_id, asked, wish, conversation_id, pictures)
    if status == "streaming":
        return LaunchableReply(reply_id, conversation_id, None, is_new=False)
    repeat = chat.regenerate if status == "complete" else chat.retry_turn
    started = repeat(user_id, reply_id)
    started.reply.model = wish.model
    started.consent = "given"
    db.session.flush()
    return LaunchableReply(started.turn_id, conversation_id, started, is_new=False)


def start(
    user_id: int, asked: GatewayRequest, wish: Wish, conversation_id: int | None, pictures: Mapping[int, str]
) -> LaunchableReply:
    """Ask a question at the end of a conversation; None: of a new one."""
    started = chat.start_turn(
        user_id,
        asked.question,
        conversation_id=conversation_id,
        new=wish.fields,
        model=wish.model,
        custom_payload={"client_prompt": asked.instructions} if asked.instructions else None,
        file_ids=pictures,
        spans=asked.spans,
    )
    if asked.rounds:
        yard = tombstone_set(user_id)
        started = client_tool_results.parts_from_elsewhere(started, [_part(one, yard) for one in asked.rounds])
        started.reply.model = wish.model
        db.session.flush()
    return LaunchableReply(started.turn_id, started.header["conversation_id"], started)


def _part(one: Round, yard: TombstoneSet) -> client_tool_results.RoundElsewhere:
    """A round as a part of the reply, without what the person has forgotten."""
    records = [waiting_record(call.name[:64], call.arguments, call.id) for call in one.calls]
    calls = [
        record | {name: _without_forgotten(record[name], yard) for name in ("input", "arguments") if name in record}
        for record in records
    ]
    results = {call_id: yard.without_forgotten(text, GONE) for call_id, text in one.results.items()}
    return client_tool_results.RoundElsewhere(yard.without_forgotten(one.text, GONE), calls, results)


def _without_forgotten(value: Any, yard: TombstoneSet) -> Any:
    if isinstance(value, dict):
        return {name: _without_forgotten(part, yard) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_forgotten(part, yard) for part in value]
    return yard.without_forgotten(value, GONE) if isinstance(value, str) else value


def usage_of(conversation_id: int, turn_id: int) -> dict[str, Any]:
    """The tokens of a reply in OpenAI's terms; zeros if no model was asked."""
    row = db.session.scalar(
        select(UsageRecord).where(UsageRecord.conversation_id == conversation_id, UsageRecord.message_id == turn_id)
    )
    given, made, cached = (row.input_tokens, row.output_tokens, row.cached_tokens) if row else (0, 0, 0)
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
