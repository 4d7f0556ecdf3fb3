"""A reply in several parts: each except the last ends with calls handed to the client, which brings the results.

The parts are consecutive rows, all replying to one message. A part's prompt is that of the first one, followed by what
the model has said since, the tools it called and their results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from webapp.chat.context.values import Message as ContextMessage
from webapp.conversations.models import Message
from webapp.conversations.tool_records import outside_texts
from webapp.db.base import db
from webapp.text.tokens import estimate_tokens
from webapp.tools.client_tools import CLIENT, rounds_as_prompt
from webapp.tools.toolset import Toolset

RESULTS_SHARE = 0.4
"""Of the model's window, for the results of the client's tools."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The part of a prompt after its question, its size in tokens, and what the client's tools answered in it."""

    messages: Sequence[dict[str, Any]] = ()
    tokens: int = 0
    is_tainted: bool = False


@dataclass(frozen=True, slots=True)
class Earlier:
    """The parts of a reply before the one to be written: id, text and calls of each; `asked_id` is the user message."""

    asked_id: int
    rows: Sequence[tuple[int, str, Sequence[Mapping[str, Any]]]]

    def without(self, history: Sequence[ContextMessage], question: str) -> list[ContextMessage]:
        """Return a history that ends with the question."""
        before = [message for message in history if message.id < self.asked_id]
        return [*before, ContextMessage(self.asked_id, "user", question)]

    def prompt(self, window: int, toolset: Toolset) -> Tail:
        """Return the parts as they are sent, with the names that the client's tools have in this turn."""
        names = {tool.title: tool.name for tool in toolset.tools if tool.kind == CLIENT}
        rows = [
            (number, text, [{**call, "tool_name": _name(call, names)} for call in calls])
            for number, text, calls in self.rows
        ]
        sent = rounds_as_prompt(rows, int(window * RESULTS_SHARE))
        is_tainted = any(outside_texts(calls) for _, _, calls in self.rows)
        return Tail(sent, sum(estimate_tokens(str(message)) for message in sent), is_tainted)


def parts_before(reply: Message) -> Earlier | None:
    """Return the parts of a reply before this one; None if it is the first. One statement, if there are any."""
    if reply.reply_to_id is None or reply.parent_id in (None, reply.reply_to_id):
        return None
    rows = db.session.execute(
        select(Message.message_id, Message.content, Message.tool_calls)
        .where(
            Message.conversation_id == reply.conversation_id,
            Message.superseded_by_id.is_(None),
            Message.role == "assistant",
            Message.message_id > reply.reply_to_id,
            Message.message_id < reply.message_id,
        )
        .order_by(Message.message_id)
    ).all()
    return Earlier(reply.reply_to_id, [(row.message_id, row.content, row.tool_calls or []) for row in rows])


def _name(call: Mapping[str, Any], names: Mapping[str, str]) -> str:
    name = str(call.get("tool_name", ""))
    return names.get(name, name) if call.get("by") == CLIENT else name
