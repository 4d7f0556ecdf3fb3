"""Reads from the tables what the pure context builder makes into a prompt."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select

from webapp.accounts.schemas import UserSettings
from webapp.chat.context.composition import ComposedPrompt, ReplyAdditions, compose, opening_of
from webapp.chat.context.rows import PROMPT, read_rows
from webapp.chat.context.values import Chunk, Context, Message as ContextMessage, Step
from webapp.chat.redaction import PromptMemories
from webapp.config import Settings
from webapp.conversations import messages
from webapp.conversations.current_messages import with_last_answers
from webapp.conversations.models import Message
from webapp.conversations.tool_records import outside_texts
from webapp.db.base import db
from webapp.llm.settings import Target
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.parameters import Parameters, longest_reply, reply_parameters
from webapp.prompts import service as prompts
from webapp.providers.catalogue import targets_for, tour_targets, with_parameters
from webapp.retrieval.passages import ReceiptItem
from webapp.summaries.service import chunks_of
from webapp.text.tokens import estimate_tokens
from webapp.tools.client_tools import CLIENT, ClientTools, rounds_as_prompt, with_clients
from webapp.tools.registry import toolset_for
from webapp.tools.toolset import Toolset
from webapp.tour import answers


@dataclass(frozen=True, slots=True)
class AssembledPrompt:
    """A prompt ready to send, its account, the tools to offer, and the receipt of what is in it.

    `waits_for` names an earlier reply that is still being written; `offers` tells whether the model may offer answers
    and actions at the end of its text; `is_tainted`: others' words are in the prompt; a reply of more than `spare`
    tokens makes a summary due.
    """

    messages: list[dict[str, Any]]
    targets: Sequence[Target]
    prompt_version: str
    step: Step
    waits_for: int | None = None
    toolset: Toolset = Toolset()
    tool_tokens: int = 0
    receipt: Sequence[ReceiptItem] = ()
    retrieval: Step | None = None
    seen: PromptMemories = PromptMemories()
    offers: bool = False
    tokens: int = 0
    spare: int = 0
    is_tainted: bool = False
    words: Sequence[str] = ()


class TurnGone(Exception):
    """The reply to be written was deleted, finished or superseded in the meantime."""


def assemble(turn_id: int, settings: Settings, client: ClientTools | None = None) -> AssembledPrompt:
    """Return the prompt of a reply, with the `client`'s tools. Raises TurnGone, BudgetTooSmall for a small window."""
    start = time.perf_counter()
    rows = read_rows(turn_id)
    if rows is None or rows.reply.status != "streaming" or rows.reply.superseded_by_id is not None:
        raise TurnGone
    reply, conversation, owner, question, request, tool_servers, has_chunks, marks, active = rows
    chunks = [Chunk(*row) for row in chunks_of(reply.conversation_id)] if has_chunks else []
    summary_end = chunks[-1].end if chunks else 0
    is_first_exchange = conversation.message_count == 2
    if is_first_exchange and question is not None and reply.reply_to_id is not None:
        history = [ContextMessage(reply.reply_to_id, "user", question, "complete")]
    else:
        history = _history(reply, after=summary_end)
    waits_for = next((message.id for message in history if message.status == "streaming"), None)
    if waits_for is not None:
        return AssembledPrompt([], [], "", Step("context", {}), waits_for)
    earlier = parts_before(reply)
    if earlier is not None:
        history = earlier.without(history, str(question or ""))
    remembers = memory_is_on(conversation)
    prompt = prompts.active_of(PROMPT, *active)
    opening = opening_of(conversation, reply, remembers=remembers)
    targets = targets_for(reply.model or conversation.model, owner.user_id, is_admin=owner.is_admin)
    targets = targets or tour_targets(owner.settings, is_admin=owner.is_admin)
    parameters = reply_parameters(request, reply.custom_payload)
    if conversation.parameters or parameters:
        targets = with_parameters(targets, Parameters.of(conversation.parameters).non_empty | parameters)
    window = targets[0].context_window if targets else None
    toolset, size = Toolset(), window or settings.context_tokens
    if settings.model_tools:
        toolset = toolset_for(
            UserSettings.of(owner.settings),
            remembers=remembers,
            builtin=not targets or targets[0].builtin_tools,
            web=conversation.uses_web,
            servers_for=owner.user_id if tool_servers else 0,
            window=size,
        )
    toolset = with_clients(toolset, client)
    tool_tokens = toolset.result_tokens(size)
    tail = earlier.prompt(size, toolset) if earlier is not None else Tail()
    is_tainted = reply.is_tainted or tail.is_tainted or any(message.is_tainted for message in history)
    # The last use of the rows: retrieval may give the connection back, after which each would be read again.
    composed = compose(
        conversation,
        owner,
        history,
        chunks,
        prompt.text,
        settings,
        ReplyAdditions(
            opening=opening,
            request=request,
            instruction=str((reply.custom_payload or {}).get("instruction", "")),
            window=window,
            tool_tokens=tool_tokens + toolset.definition_tokens + tail.tokens,
            addition=targets[0].system if targets else "",
            longest=longest_reply(targets[0].parameters) if targets else 0,
            position=marks.position,
        ),
    )
    label = composed.place.label or prompt.label
    return AssembledPrompt(
        messages=[*composed.context.messages, *tail.messages],
        targets=targets,
        prompt_version=f"{label}, {opening.label}" if opening else label,
        step=Step(
            "context",
            partial(_account, composed.context),
            duration_ms=round((time.perf_counter() - start) * 1000),
        ),
        toolset=toolset if composed.place.has_tools else with_clients(Toolset(), client),
        tool_tokens=tool_tokens,
        receipt=composed.context.receipt,
        words=composed.context.words,
        seen=PromptMemories(
            _memories_of_prompt(composed),
            marks.memory_version,
            any("by" in item.extra for item in composed.result.items),
        ),
        retrieval=Step(
            "retrieval", composed.result.account, duration_ms=round(sum(composed.result.durations.values()))
        ),
        offers=composed.offers,
        tokens=composed.context.tokens + tail.tokens,
        spare=composed.context.spare,
        is_tainted=is_tainted or composed.is_tainted,
    )


def _memories_of_prompt(prompt: ComposedPrompt) -> list[tuple[int, str]]:
    """Return the memories that the prompt may hold: id and content."""
    items = [(item.id, item.content) for item in prompt.place.known]
    items += [(item.id, item.content) for item in prompt.place.facts]
    return items + [(item.id, item.content) for item in prompt.result.items if item.kind == "memory"]


def _history(reply: Message, *, after: int) -> list[ContextMessage]:
    return [
        ContextMessage(row.message_id, row.role, row.content, row.status, is_tainted=row.is_tainted)
        for row in with_last_answers(messages.current_messages(reply.conversation_id, after=after))
        if row.message_id < reply.message_id and row.model != answers.MODEL
    ]


def _account(context: Context) -> dict[str, Any]:
    """Return what is stored of a prompt: sections, what was left out, and messages with marks for what they quote."""
    return {
        "tokens": context.tokens,
        "budget": context.budget,
        "sections": [section._asdict() for section in context.sections],
        "left_out": [item._asdict() for item in context.left_out],
        "prompt": context.record(),
    }


RESULTS_SHARE = 0.4
"""Of the model's window, for the results of the client's tools."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The part of a prompt after its question, its size in tokens, and what the client's tools answered in it."""

    messages: Sequence[dict[str, Any]] = ()
    tokens: int = 0
    is_tainted: bool = False


@dataclass(frozen=True, slots=True)
class EarlierParts:
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


def parts_before(reply: Message) -> EarlierParts | None:
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
    return EarlierParts(reply.reply_to_id, [(row.message_id, row.content, row.tool_calls or []) for row in rows])


def _name(call: Mapping[str, Any], names: Mapping[str, str]) -> str:
    name = str(call.get("tool_name", ""))
    return names.get(name, name) if call.get("by") == CLIENT else name
