"""Answers to the tool calls of a turn: results from the client that made it, and permission from the person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm.attributes import flag_modified

from webapp.chat.service import StartedTurn, get_reply
from webapp.chat.turns import turnlog
from webapp.chat.turns.runtime import runtime
from webapp.chat.turns.tool_calls import ASK_SECONDS, Decision
from webapp.conversations import messages
from webapp.conversations.models import Message
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.extensions import redis
from webapp.tools import servers
from webapp.tools.client_tools import CLIENT, result_of
from webapp.usage import service as usage


@dataclass(frozen=True, slots=True)
class ExternalRound:
    """A part of a reply written elsewhere: its text, its calls as waiting records, and their results by call id."""

    text: str
    calls: Sequence[dict[str, Any]]
    results: Mapping[str, str]


def continue_reply(user_id: int, reply: Message, results: Mapping[str, str]) -> StartedTurn:
    """Return the next part of a reply, from its calls' results by id. Raises Conflict, TooMany, Unavailable."""
    runtime().runner.require_room()
    conversation = get_conversation(user_id, reply.conversation_id, lock=True)
    usage.require_room(user_id)
    db.session.refresh(reply)
    rest = messages.current_messages(conversation.conversation_id, after=reply.message_id)
    if reply.superseded_by_id is not None or any(row.role == "user" for row in rest):
        raise Conflict("The conversation went on without these answers.")
    if any(row.status == "streaming" for row in rest):
        raise Conflict("The reply to these answers is being written.")
    store_results(reply, results)
    following = messages.add_part(conversation, reply)
    if rest:
        messages.supersede_from(conversation, rest[0].message_id, following)
    db.session.flush()
    return StartedTurn(conversation, None, following)


def store_client_parts(turn: StartedTurn, parts: Sequence[ExternalRound]) -> StartedTurn:
    """Store the earlier parts of the reply to a question just asked, which the client brings along."""
    reply = turn.reply
    for part in parts:
        reply.status, reply.content = "complete", part.text
        reply.tool_calls = list(part.calls)
        store_results(reply, part.results)
        reply = messages.add_part(turn.conversation, reply)
    db.session.flush()
    return StartedTurn(turn.conversation, turn.question, reply)


def store_results(reply: Message, results: Mapping[str, str]) -> None:
    """Store the results of a reply's calls with them."""
    for call in reply.tool_calls or ():
        if call.get("by") == CLIENT and call.get("call_id") in results:
            call["output"] = result_of(results[str(call["call_id"])])
    flag_modified(reply, "tool_calls")


def answer(user_id: int, turn_id: int, number: int, decision: Decision) -> None:
    """Record a decision about a call, which the caller commits and then sends. Raises NotFound, Conflict."""
    reply = get_reply(user_id, turn_id)
    question = None
    if reply.status == "streaming":
        db.session.rollback()
        for item in turnlog.read(redis(), turn_id):
            if item.kind in ("tool_start", "tool") and item.data.get("number") == number:
                question = item.data if item.data.get("asks") else None
    tool = (int(question["server_id"]), str(question["title"])) if question else None
    # A tool that was removed or switched off since is not called any more.
    if tool is None or (decision != "never" and not servers.is_offered(user_id, *tool)):
        raise Conflict("This question is no longer open.")
    if decision == "always":
        servers.grant(user_id, *tool)


def send_decision(turn_id: int, number: int, decision: Decision) -> None:
    redis().set(turnlog.consent_key(turn_id, number), decision.encode(), ex=int(ASK_SECONDS))
