"""Reads from the tables what the pure context builder makes a prompt of."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from webapp.accounts.models import User
from webapp.chat.budget import Limits
from webapp.chat.context import Context, ContextInput, build_context
from webapp.chat.context_types import Message as ContextMessage
from webapp.chat.finish import Step
from webapp.config import Settings
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.database import db

SYSTEM_PROMPT = (
    "You are the assistant of Commonplace, a chat workspace. Answer the person you talk with helpfully, plainly and "
    "in their language, in Markdown where it helps. Say so when you do not know something."
)
PROMPT_VERSION = "chat/1"


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt ready to send and its account; `waits_for` names an earlier reply that is still being written."""

    messages: list[dict[str, Any]]
    model: str | None
    prompt_version: str
    step: Step
    waits_for: int | None = None


class TurnGone(Exception):
    """The reply to be written was deleted, finished or superseded in the meantime."""


def assemble(turn_id: int, settings: Settings) -> Assembled:
    """The prompt of a reply. Raises TurnGone, and BudgetTooSmall when the model's window cannot hold a prompt."""
    started = time.perf_counter()
    reply = db.session.get(Message, turn_id)
    if reply is None or reply.status != "streaming" or reply.superseded_by_id is not None:
        raise TurnGone
    conversation = db.session.get(Conversation, reply.conversation_id)
    owner = db.session.get(User, conversation.user_id)
    history = [row for row in messages.current_messages(reply.conversation_id) if row.message_id < turn_id]
    waits_for = next((row.message_id for row in history if row.status == "streaming"), None)
    if waits_for is not None:
        return Assembled([], reply.model, PROMPT_VERSION, Step("context", {}), waits_for)
    context = build_context(
        ContextInput(
            prompt=SYSTEM_PROMPT,
            custom_instructions=str((owner.settings or {}).get("custom_instructions") or ""),
            messages=[ContextMessage(row.message_id, row.role, row.content, row.status) for row in history],
            limits=Limits(window=settings.context_tokens, reply=settings.reply_tokens),
        )
    )
    return Assembled(
        messages=context.messages,
        model=reply.model,
        prompt_version=PROMPT_VERSION,
        step=_step(context, history, started),
    )


def _step(context: Context, history: list[Message], started: float) -> Step:
    stored = {(row.role, row.content): row.message_id for row in history}
    prompt = []
    for message in context.messages:
        message_id = stored.get((message["role"], message["content"]))
        prompt.append(message if message_id is None else {"role": message["role"], "message_id": message_id})
    data = {
        "tokens": context.tokens,
        "budget": context.budget,
        "sections": [asdict(section) for section in context.sections],
        "left_out": [asdict(item) for item in context.left_out],
        "prompt": prompt,
    }
    return Step("context", data, duration_ms=round((time.perf_counter() - started) * 1000))
