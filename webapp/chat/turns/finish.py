"""The end of a turn: one transaction that makes the reply final, whoever gets there first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlalchemy import Select, Update, bindparam, func, insert, select, update
from sqlalchemy.orm import load_only

from webapp.accounts.models import User
from webapp.background import events
from webapp.background.events import Kind
from webapp.background.job_specs import Ids, JobRequest
from webapp.chat.context.values import Step
from webapp.chat.models import PipelineStep
from webapp.chat.redaction import PromptMemories, TurnScope, redact
from webapp.chat.suggestions import Offer
from webapp.conversations.messages import store_reasoning
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import MessageOut
from webapp.conversations.tool_records import open_client_calls
from webapp.db.base import db, now, read_columns, rows_changed, table_of
from webapp.db.columns import Timestamp
from webapp.extensions import app_settings
from webapp.http.validation import MAX_TEXT_BYTES
from webapp.llm.errors import ContextTooLong, MissingKey, ModelNotFound, RefusedByModel, Unauthorized
from webapp.memories.models import MemoryVersion
from webapp.memories.prompt.conversation_memory import is_extraction_on
from webapp.retrieval import changes, receipts
from webapp.retrieval.changes import Change
from webapp.retrieval.passages import ReceiptItem
from webapp.summaries import service as summaries
from webapp.usage.records import record_reply

FIRST_EXCHANGE = 2
"""Messages in a conversation that has just begun."""
FINAL_ERRORS = frozenset(
    kind.code for kind in (ContextTooLong, MissingKey, ModelNotFound, RefusedByModel, Unauthorized)
)
"""Error codes for which trying again does not help."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a turn: the status of the reply, its text, and what is kept with it."""

    status: str
    text: str
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_version: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    retryable: bool = True
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    receipt: Sequence[ReceiptItem] = ()
    steps: list[Step] = field(default_factory=list)
    truncated: bool = False
    seen: PromptMemories = PromptMemories()
    offer: Offer = field(default_factory=Offer)
    filtered: bool = False
    target: str | None = None
    cached_tokens: int | None = None
    estimated_tokens: int = 0
    prompt_characters: int = 0
    thoughts: str = ""
    thought_ms: int = 0
    is_tainted: bool = True
    """Whether others' words were in the prompt or came from a tool; so they may have been, where nobody knows."""
    fills_prompt: bool = False
    """Whether the conversation now takes up so much of a prompt that its beginning should be summarised."""
    stands_in_for: str | None = None
    """The model that was asked but did not answer, if another one did."""


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """The final event of a turn, the jobs it asks for, and the ids of the memories in its prompt."""

    kind: str
    data: dict[str, Any]
    jobs: list[JobRequest]
    memory_ids: list[int]
    rewritten: str | None = None
    """The reply as stored, if that is not what was streamed: something was forgotten in the meantime."""


def finish_turn(turn_id: int, outcome: Outcome) -> FinishedTurn | None:
    """Make a streaming reply final; None if it already is, or is gone. The caller commits."""
    # Before anything is locked: a long prompt takes a while to serialise, and SQLite has one writer.
    steps = [_step_values(turn_id, ordinal, step) for ordinal, step in enumerate(outcome.steps, 1)]
    # The conversation first, like everyone who changes one: two orders of locking end in deadlocks.
    conversation: Any = read_columns(_conversation_of(), {"turn": turn_id}).one_or_none()
    if conversation is None:
        return None
    scope = TurnScope(conversation.user_id, conversation.space_id, conversation.began_at, conversation.version or 0)
    text, thoughts, tool_calls = redact(outcome.text, outcome.thoughts, outcome.tool_calls, outcome.seen, scope)
    values: dict[str, Any] = {
        "status": outcome.status,
        "content": fit_column(text),
        "model": outcome.model[:200] if outcome.model else None,
        "prompt_version": outcome.prompt_version,
        "prompt_tokens": outcome.prompt_tokens,
        "completion_tokens": outcome.completion_tokens,
        "error_code": outcome.error_code,
        "error_detail": outcome.error_detail[:500] if outcome.error_detail else None,
        "tool_calls": tool_calls or None,
        "is_tainted": outcome.is_tainted,
    }
    offer = outcome.offer if text == outcome.text else Offer()  # it may contain what was forgotten in the meantime
    if offer:
        values |= {"suggested_values": offer.values or None, "suggested_actions": offer.actions or None}
    cut: dict[str, Any] = {"truncated": True} if outcome.truncated else {"filtered": True} if outcome.filtered else {}
    thought = {"reasoning": {"duration_ms": outcome.thought_ms}} if thoughts.strip() else {}
    if outcome.stands_in_for:
        cut = {**cut, "stands_in_for": outcome.stands_in_for[:200]}
    if cut or offer.payload or thought:
        payload = db.session.scalar(select(Message.custom_payload).where(Message.message_id == turn_id))
        values["custom_payload"] = {**(offer.payload or {}), **(payload or {}), **cut, **thought}
    if rows_changed(_claim(), {"turn": turn_id, **values}) != 1:
        return None
    row, owner = db.session.execute(_reply_and_owner(), {"turn": turn_id, "owner": conversation.user_id}).one()
    due = _due_work(conversation, row, outcome)
    changed = {"conversation": row.conversation_id, "moment": now(), **due}
    db.session.connection().execute(_update_conversation(), changed)
    if not conversation.is_temporary:
        first_id = min(row.reply_to_id or turn_id, turn_id)
        # Whatever makes its vectors announces it.
        changes.note(conversation.user_id, Change("conversation", row.conversation_id, first_id), channel=None)
    if steps:
        db.session.execute(insert(table_of(PipelineStep)), steps)
    receipts.store(turn_id, outcome.receipt)
    if thought:
        store_reasoning(turn_id, thoughts, outcome.thought_ms)
    record_reply(
        conversation.user_id,
        row.conversation_id,
        turn_id,
        target=outcome.target,
        model=outcome.model,
        tokens=(outcome.prompt_tokens, outcome.cached_tokens, outcome.completion_tokens),
        prompt_tokens=outcome.estimated_tokens,
        characters=outcome.prompt_characters,
        text=outcome.text + outcome.thoughts,
    )
    _report_events(conversation, row, owner.has_webhooks)
    kind, data = final_event(row, retryable=outcome.retryable)
    memory_ids = [item.id for item in outcome.receipt if item.kind == "memory" and item.injected]
    is_changed = (text, thoughts) != (outcome.text, outcome.thoughts)
    jobs = _jobs_of_turn(conversation, row, _job_with_model(row, due, has_title=conversation.title_source != "none"))
    return FinishedTurn(kind, data, jobs, memory_ids, text if is_changed else None)


def _report_events(conversation: Any, reply: Message, hooked: bool) -> None:
    if conversation.is_temporary:
        return
    ids = {"conversation_id": conversation.conversation_id}
    if conversation.message_count <= FIRST_EXCHANGE:
        events.note(conversation.user_id, Kind.CONVERSATION_STARTED, ids, hooked=hooked)
    if open_client_calls(reply.tool_calls):  # it continues once the client has answered
        return
    state: dict[str, int | str] = {"message_id": reply.message_id, "status": reply.status}
    events.note(conversation.user_id, Kind.REPLY_FINISHED, {**ids, **state}, hooked=hooked)


# Building a statement costs about as much as sending it: those of every reply are built once.
# And the columns of a conversation are read and written past the ORM, which takes twice the code.
@cache
def _conversation_of() -> Select[*tuple[Any, ...]]:
    """Return the conversation of a turn and the version of its user's memory, both locked, and when the turn began."""
    conversation_id = select(Message.conversation_id).where(Message.message_id == bindparam("turn")).scalar_subquery()
    began_at = select(Message.created_at).where(Message.message_id == bindparam("turn")).scalar_subquery()
    return (
        select(
            Conversation.conversation_id,
            Conversation.user_id,
            Conversation.message_count,
            Conversation.uses_memory,
            Conversation.makes_memory,
            Conversation.is_temporary,
            Conversation.deleted_at,
            Conversation.space_id,
            Conversation.title_source,
            Conversation.extracted_through,
            MemoryVersion.version,
            began_at.label("began_at"),
        )
        .outerjoin(MemoryVersion, MemoryVersion.user_id == Conversation.user_id)
        .where(Conversation.conversation_id == conversation_id)
        .with_for_update()
    )


@cache
def _update_conversation() -> Update:
    table, moment = table_of(Conversation), bindparam("moment", type_=Timestamp)
    values = {"updated_at": moment, "seen_at": func.coalesce(table.c.seen_at, moment)}
    return update(table).where(table.c.conversation_id == bindparam("conversation")).values(values)


@cache
def _claim() -> Update:
    table = table_of(Message)  # given the class, SQLAlchemy would track it in the session, which reads the row below
    return update(table).where(table.c.message_id == bindparam("turn"), table.c.status == "streaming")


@cache
def _reply_and_owner() -> Select[Message, User]:
    return (
        select(Message, User)
        .join(User, User.user_id == bindparam("owner"))
        .where(Message.message_id == bindparam("turn"))
        .options(load_only(User.settings, User.has_webhooks))
        .execution_options(populate_existing=True)
    )


def _step_values(turn_id: int, ordinal: int, step: Step) -> dict[str, Any]:
    return {
        "message_id": turn_id,
        "ordinal": ordinal,
        "name": step.name,
        "duration_ms": step.duration_ms,
        "model": step.model[:200] if step.model else None,
        "data": step.record,
        "created_at": now(),
    }


def _due_work(conversation: Any, reply: Message, outcome: Outcome) -> dict[str, Any]:
    """Return the conversation's columns that say which work a final reply asks for.

    While memory is off only the watermark of its extraction moves.
    """
    # With so few messages in all there cannot be more of them open: most turns need not count.
    may_be_due = outcome.fills_prompt or conversation.message_count > app_settings().summary_threshold
    is_due = may_be_due and summaries.is_due(conversation.conversation_id, outcome.fills_prompt)
    due: dict[str, Any] = {"summary_due": is_due}
    due["extraction_due"] = is_extraction_on(conversation)
    if not due["extraction_due"]:
        due["extracted_through"] = max(conversation.extracted_through or 0, reply.message_id)
    return due if conversation.is_temporary else {**due, "index_due": True}


def final_event(row: Message, *, retryable: bool | None = None) -> tuple[str, dict[str, Any]]:
    """Return `done`, or `error` for a failed or interrupted reply, by default as `retryable` as its code says."""
    message = MessageOut.of(row).model_dump(mode="json")
    if row.status in ("complete", "stopped"):
        return "done", {"message": message}
    return "error", {
        "code": row.error_code or row.status,
        "detail": row.error_detail or "",
        "retryable": row.error_code not in FINAL_ERRORS if retryable is None else retryable,
        "message": message,
    }


def _jobs_of_turn(conversation: Any, reply: Message, with_model: str | None) -> list[JobRequest]:
    """Return the background work a final reply asks for: one job that may report to the turn, and vectors."""
    owner = conversation.user_id
    ids: Ids = {"conversation_id": reply.conversation_id}
    jobs = [JobRequest(with_model, ids, reply.message_id, person=owner)] if with_model else []
    return jobs if conversation.is_temporary else [*jobs, JobRequest("index", {"user_id": owner}, person=owner)]


def _job_with_model(reply: Message, due: Mapping[str, Any], *, has_title: bool) -> str | None:
    """Return the job that calls the model, at most once: the extraction also titles.

    Work with a call of its own replaces the extraction, which waits for the next turn or the sweep.
    """
    if reply.status not in ("complete", "stopped") or not reply.content or reply.superseded_by_id is not None:
        return None
    if open_client_calls(reply.tool_calls):
        return None
    if due["summary_due"]:
        return "summary"
    if due["extraction_due"]:
        return "extract"
    return None if has_title else "title"


def fit_column(text: str) -> str:
    """Return the longest prefix that fits a message's column."""
    raw = text.replace("\x00", "").encode("utf-8", "replace")
    if len(raw) <= MAX_TEXT_BYTES:
        return raw.decode()
    return raw[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
