"""Reads from the tables what the pure context builder makes a prompt of."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.chat.beginning import PROMPT, beginning
from webapp.chat.budget import Limits
from webapp.chat.context import Context, ContextInput, build_context
from webapp.chat.context_types import Chunk, ReceiptItem
from webapp.chat.context_types import Message as ContextMessage
from webapp.chat.finish import Step
from webapp.chat.offers import INSTRUCTION
from webapp.chat.opening_prompt import Opening, opening_of
from webapp.chat.parts import Tail, parts_before
from webapp.chat.request_block import about_request
from webapp.chat.retrieved import learned, retrieved, with_found_pictures
from webapp.chat.segments import Line, Segment, filled_mark, joined
from webapp.chat.space_context import Place, Spot, place_of
from webapp.chat.unsaying import Seen
from webapp.config import Settings
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.database import db
from webapp.files.prompting import FileTexts, file_texts
from webapp.files.seeing import SHARE, pictures_of
from webapp.journeys.guides import guidance_for
from webapp.journeys.prompting import journey_prompt
from webapp.llm.target import Target
from webapp.memories.always import NEW
from webapp.memories.known import memory_is_on
from webapp.models.catalogue import targets_for, with_parameters
from webapp.parameters import Parameters, longest_reply, of_one_reply
from webapp.prompts import service as prompts
from webapp.prompts.values import pieces_for
from webapp.retrieval.service import Question, Result, retrieve
from webapp.summaries.service import chunks_of
from webapp.tools.of_clients import ClientTools, with_clients
from webapp.tools.registry import toolset_for
from webapp.tools.toolset import Toolset


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt ready to send, its account, the tools to offer, and the receipt of what is in it.

    `waits_for` names an earlier reply that is still being written; `offers` tells whether the model may offer answers
    and actions at the end of its text, `told` is what tools of a client answered before.
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
    seen: Seen = Seen()
    offers: bool = False
    tokens: int = 0
    told: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Composed:
    """A prompt with what went into it: what was looked up, and where it is for."""

    context: Context
    found: Result
    place: Place
    offers: bool = False


class TurnGone(Exception):
    """The reply to be written was deleted, finished or superseded in the meantime."""


def assemble(turn_id: int, settings: Settings, client: ClientTools | None = None) -> Assembled:
    """The prompt of a reply, with the tools of the `client` that asks.

    Raises TurnGone, and BudgetTooSmall when the model's window cannot hold a prompt.
    """
    started = time.perf_counter()
    found = db.session.execute(beginning(), {"turn": turn_id}).one_or_none()
    if found is None or found.Message.status != "streaming" or found.Message.superseded_by_id is not None:
        raise TurnGone
    reply, conversation, owner, asked, request, memory_version, tool_servers, *active = found
    # A summary closes a batch of messages, which still count: there is none where fewer have been said.
    has_chunks = conversation.message_count >= settings.summary_batch
    chunks = [Chunk(*row) for row in chunks_of(reply.conversation_id)] if has_chunks else []
    closed = chunks[-1].end if chunks else 0
    if conversation.message_count == 2 and asked is not None:  # this exchange: many have no other
        history = [ContextMessage(reply.reply_to_id, "user", asked, "complete")]
    else:
        history = _history(reply, after=closed)
    waits_for = next((message.id for message in history if message.status == "streaming"), None)
    if waits_for is not None:
        return Assembled([], [], "", Step("context", {}), waits_for)
    earlier = parts_before(reply)
    if earlier is not None:
        history = earlier.without(history, str(asked or ""))
    remembers = memory_is_on(conversation, owner)
    prompt = prompts.active_of(PROMPT, *active)
    opening = opening_of(conversation, reply, remembers=remembers)
    targets = targets_for(reply.model or conversation.model, owner.user_id, is_admin=owner.is_admin)
    wanted = of_one_reply(request, reply.custom_payload)
    if conversation.parameters or wanted:
        targets = with_parameters(targets, Parameters.of(conversation.parameters).given | wanted)
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
    # The last look at the rows: looking things up may give the connection back.
    instruction = str((reply.custom_payload or {}).get("instruction", ""))
    made = compose(
        conversation,
        owner,
        history,
        chunks,
        prompt.text,
        settings,
        opening,
        request,
        instruction,
        window,
        tool_tokens + toolset.definition_tokens + tail.tokens,
        targets[0].system if targets else "",
        longest_reply(targets[0].parameters) if targets else 0,
    )
    label = made.place.label or prompt.label
    return Assembled(
        messages=[*made.context.messages, *tail.messages],
        targets=targets,
        prompt_version=f"{label}, {opening.label}" if opening else label,
        step=Step(
            "context",
            partial(_account, made.context),
            duration_ms=round((time.perf_counter() - started) * 1000),
        ),
        toolset=toolset if made.place.has_tools else with_clients(Toolset(), client),
        tool_tokens=tool_tokens,
        receipt=made.context.receipt,
        seen=Seen(_shown(made), memory_version or 0),
        retrieval=Step("retrieval", made.found.account, duration_ms=round(sum(made.found.took.values()))),
        offers=made.offers,
        tokens=made.context.tokens + tail.tokens,
        told=tail.told,
    )


def _shown(made: Composed) -> list[tuple[int, str]]:
    """The memories that the prompt may hold, by id, with what they say."""
    known = [(item.id, item.content) for item in made.place.known]
    known += [(item.id, item.content) for item in made.place.facts]
    return known + [(item.id, item.content) for item in made.found.items if item.kind == "memory"]


def _history(reply: Message, *, after: int) -> list[ContextMessage]:
    return [
        ContextMessage(row.message_id, row.role, row.content, row.status)
        for row in messages.current_messages(reply.conversation_id, after=after)
        if row.message_id < reply.message_id
    ]


def compose(
    conversation: Conversation,
    owner: User,
    history: Sequence[ContextMessage],
    chunks: Sequence[Chunk],
    prompt: str,
    settings: Settings,
    opening: Opening | None = None,
    request: dict[str, Any] | None = None,
    instruction: str = "",
    window: int | None = None,
    tool_tokens: int = 0,
    addition: str = "",
    longest: int = 0,
) -> Composed:
    """What is sent after some messages, and the summaries of those before them, with this text as the prompt.

    `instruction` is what the user asks of this version of a reply, `tool_tokens` what stays free for
    what tools answer, `longest` the tokens that a reply was said to take at most. May give the connection back. Raises
    BudgetTooSmall.
    """
    remembers = memory_is_on(conversation, owner)
    question = _question(conversation, owner, history, remembers, chunks[-1].end if chunks else 0)
    if opening:
        question = replace(question, text=opening.about, before="")
    # Opening a point is a task of its own; every other reply of a journey is told where it stands.
    task = opening or (guidance_for(conversation, question.text) if conversation.journey_id is not None else None)
    pieces = pieces_for(conversation, prompt)
    opens: list[Line] = [[Segment(text, filled_mark(of) if of else None) for text, of in pieces]]
    opens += [[Segment(text)] for text in journey_prompt(conversation)]
    custom = str((owner.settings or {}).get("custom_instructions") or "")
    # A summary breaks the prompt's unchanged beginning anyway: that is when what was learned since moves into it.
    fixed_at = (chunks[-1].made_at if chunks else None) or conversation.created_at
    may_offer = settings.suggestions and UserSettings.of(owner.settings).suggestions_enabled
    spot, has_files = Spot.of(conversation), conversation.has_files
    # No look at the rows from here on: when the connection is given back, each is read anew.
    found = retrieve(question, settings.index_wait_seconds)
    # After that look-up, which takes a moment: what others withdrew meanwhile is not in it.
    place = place_of(spot, remembers=remembers, since=fixed_at, version=found.memory_version)
    limits = Limits(
        window=window or settings.context_tokens,
        reply=max(settings.reply_tokens, longest),
        retrieved=settings.retrieved_tokens,
        tools=tool_tokens,
    )
    files = FileTexts()
    if has_files:
        files = file_texts(spot.conversation_id, question.text, limits.prompt)
        looks = pictures_of([message.id for message in history], limits.prompt)
        history = [replace(message, pictures=looks.get(message.id, ())) for message in history] if looks else history
    history = with_found_pictures(history, found, int(limits.prompt * SHARE))
    if place.opens:
        opens[0] = [Segment(place.opens)]
    if addition:
        opens.append([Segment(addition)])
    offers = may_offer and not place.opens
    if offers:
        opens.append([Segment(INSTRUCTION)])
    source = ContextInput(
        prompt=joined("\n\n", opens),
        space_instructions=place.instructions,
        directive="\n\n".join(filter(None, (about_request(request), task.text if task else "", _wanted(instruction)))),
        # What was known of the point then is not kept: it may be forgotten one day.
        directive_kept="\n\n".join(part for part in (about_request(request), task.kept) if part) if task else None,
        custom_instructions=custom,
        messages=history,
        standing=place.standing,
        known=[item for item in place.known if item.group != NEW],
        facts=place.facts,
        facts_heading=place.facts_heading,
        chunks=chunks,
        retrieved=[*learned(place), *retrieved(found)],
        files=Segment(files.stable, files.stable_kept),
        file_pages=Segment(files.excerpts, files.excerpts_kept),
        limits=limits,
    )
    return Composed(build_context(source), found, place, offers)


def _wanted(instruction: str) -> str:
    return f"[For this reply the user asks: {instruction}]" if instruction else ""


def _question(
    conversation: Conversation, owner: User, history: Sequence[ContextMessage], remembers: bool, closed: int
) -> Question:
    """What to look up: the last user message, with the one before it in case it says little by itself."""
    said = [message.content for message in history if message.role == "user"]
    wished = UserSettings.of(owner.settings)
    elsewhere = wished.past_conversations_enabled and not conversation.is_temporary
    return Question(
        user_id=owner.user_id,
        text=said[-1] if said else "",
        before=said[-2] if len(said) > 1 else "",
        conversation_id=conversation.conversation_id,
        verbatim_from=closed + 1,
        memories=remembers,
        other_conversations=elsewhere,
        space_documents=wished.space_documents_enabled or conversation.space_id is not None,
        space_id=conversation.space_id,
    )


def _account(context: Context) -> dict[str, Any]:
    """What is kept of a prompt: its sections, what was left out, its messages without what has a place elsewhere."""
    return {
        "tokens": context.tokens,
        "budget": context.budget,
        "sections": [asdict(section) for section in context.sections],
        "left_out": [asdict(item) for item in context.left_out],
        "prompt": context.kept(),
    }
