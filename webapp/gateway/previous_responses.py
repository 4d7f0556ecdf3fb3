"""Turns after a response that is named by its id; `service` finds the place by what was said before it."""

from collections.abc import Mapping

from sqlalchemy import select

from webapp.chat import service as chat, tool_answers
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import get_conversation
from webapp.conversations.tool_records import open_client_calls
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound
from webapp.gateway import threads
from webapp.gateway.fingerprints import fingerprint
from webapp.gateway.responses_input import ItemQuery, item_message
from webapp.gateway.service import (
    LaunchableReply,
    Preferences,
    UserRequest,
    answer_calls,
    continue_conversation,
    prepare,
    start,
    with_pictures,
)
from webapp.gateway.wire import GatewayRequest
from webapp.tools.client_tools import CLIENT

RESPONSE = "response"
"""Where a reply keeps what only this protocol asks for: `store`, `metadata`, `previous`."""


def get_reply(user_id: int, reply_id: int) -> Message:
    """Return the reply of a response that is kept. Raises NotFound."""
    row = messages.get_message(user_id, reply_id)
    response = (row.custom_payload or {}).get(RESPONSE) or {}
    if row.role != "assistant" or response.get("store") is False:
        raise NotFound("There is no such response.")
    return row


def discard_reply(user_id: int, reply_id: int) -> Message:
    """Delete a stored response; its reply stays. Raises NotFound, Conflict while it is written."""
    row = get_reply(user_id, reply_id)
    if row.status == "streaming":
        raise Conflict("This response is still being written. Cancel it first.")
    payload = row.custom_payload or {}
    row.custom_payload = {**payload, RESPONSE: {**(payload.get(RESPONSE) or {}), "store": False}}
    return row


def list_inputs(user_id: int, reply_id: int, query: ItemQuery) -> tuple[list[Message], bool]:
    """Return a page of the messages before the reply of a response, and whether there are more. Raises NotFound."""
    reply = get_reply(user_id, reply_id)
    rows = db.session.execute(
        select(Message.message_id, Message.parent_id).where(
            Message.conversation_id == reply.conversation_id, Message.message_id < reply_id
        )
    )
    parents = {row.message_id: row.parent_id for row in rows}
    ids: list[int] = []
    parent_id = reply.parent_id
    while parent_id is not None and parent_id in parents:
        ids.append(parent_id)
        parent_id = parents[parent_id]
    ids = ids if query.order == "desc" else ids[::-1]
    after = item_message(query.after)
    if query.after is not None and after not in ids:
        raise Invalid.field("after", "There is no such item before this response.")
    rest = ids if after is None else ids[ids.index(after) + 1 :]
    page = rest[: query.limit]
    by_id = {row.message_id: row for row in db.session.scalars(select(Message).where(Message.message_id.in_(page)))}
    return [by_id[number] for number in page], len(rest) > len(page)


def reply_awaiting_results(user_id: int, conversation_id: int) -> Message | None:
    """Return the last reply of a conversation if it waits for the results of a client's calls; else None. Whoever names
    the conversation may continue it, even if it is not kept as a response. Raises NotFound."""
    get_conversation(user_id, conversation_id)
    last = db.session.get(Message, messages.last_message_id(conversation_id) or 0)
    return last if last is not None and open_client_calls(last.tool_calls) else None


def begin_after_response(reply: Message, request: UserRequest, results: Mapping[str, str]) -> LaunchableReply:
    """Return the rows of a turn that follows a reply of this user's, `results` by the ids of its calls.

    A conversation that went on is branched; a repeated request replaces its reply. Raises Invalid, Conflict, and what
    `start_turn` raises.
    """
    user_id = request.user_id
    _check_preferences(get_conversation(user_id, reply.conversation_id), request.preferences)
    if reply.superseded_by_id is not None:
        raise Conflict("Another version of this response has taken its place.")
    if reply.status == "streaming":
        raise Conflict("This response is still being written.")
    called = [str(call["call_id"]) for call in reply.tool_calls or () if call.get("by") == CLIENT]
    if missing := [name for name in called if name not in results]:
        raise Invalid.field("input", f"No tool output found for function call {missing[0]}.")
    if strange := [name for name in results if name not in called]:
        raise Invalid.field("input", f"No tool call found for function call output with call_id {strange[0]}.")
    reply_id = reply.message_id
    if request.body.question:
        launchable = with_pictures(request, lambda request: _ask(reply_id, request, results))
    else:
        launchable = _answer(reply, request, results)
    prepare(launchable, request)
    if launchable.turn is not None:
        mark = _request_fingerprint(user_id, reply, request.body)
        threads.record(user_id, mark, launchable.conversation_id, launchable.turn_id)
    return launchable


def _request_fingerprint(user_id: int, reply: Message, body: GatewayRequest) -> str:
    """Return the fingerprint of a request that follows a response, or the id of one begun on the page."""
    seed = threads.fingerprint_of(user_id, reply) or fingerprint(f"{RESPONSE}/{reply.message_id}", [])
    lines = [("assistant", reply.content)] if reply.content else []
    return fingerprint("", [*lines, ("user", body.question)] if body.question else lines, origin=seed)


def _check_preferences(conversation: Conversation, preferences: Preferences) -> None:
    """Raise Invalid if a request chooses other settings for its conversation than the response was held with."""
    memory = "off" if not conversation.uses_memory else "on" if conversation.makes_memory else "read"
    stored = {
        "space_id": conversation.space_id,
        "memory": memory,
        "is_temporary": conversation.is_temporary,
        "conversation_id": conversation.conversation_id,
    }
    for name in preferences.chosen:
        if getattr(preferences, name) != stored[name]:
            raise Invalid.field(
                "previous_response_id",
                "Space, memory and temporary are chosen with the first response of a conversation, and this one is "
                "held otherwise. Begin a new one without previous_response_id.",
            )


def _ask(reply_id: int, request: UserRequest, results: Mapping[str, str]) -> LaunchableReply:
    user_id, body = request.user_id, request.body
    reply = messages.get_message(user_id, reply_id)
    conversation = get_conversation(user_id, reply.conversation_id, lock=True)
    existing = threads.existing_reply(conversation.conversation_id, reply_id, body.question)
    if (
        existing is None
        and not results
        and (thread := threads.find_question(user_id, _request_fingerprint(user_id, reply, body)))
    ):
        return continue_conversation(request, *thread)
    if existing is None:
        reply = _branch_copy(user_id, reply)
    if existing in (None, (0, "")) and results:
        tool_answers.store_results(reply, results)
    if existing is None:
        return start(request, reply.conversation_id)
    return continue_conversation(request, conversation.conversation_id, *existing)


def _answer(reply: Message, request: UserRequest, results: Mapping[str, str]) -> LaunchableReply:
    get_conversation(request.user_id, reply.conversation_id, lock=True)
    rest = messages.current_messages(reply.conversation_id, after=reply.message_id)
    if any(row.role == "user" for row in rest):
        reply = _branch_copy(request.user_id, reply)
    elif rest and rest[-1].status == "streaming":
        return LaunchableReply(rest[-1].message_id, reply.conversation_id, None, is_new=False)
    return answer_calls(request, reply, results)


def _branch_copy(user_id: int, reply: Message) -> Message:
    """Return the copy of a reply, at the end of a new conversation that begins with what was said up to it."""
    copy = chat.branch(user_id, reply.message_id)
    return messages.get_message(user_id, messages.last_message_id(copy.conversation_id) or 0)
