"""The end of a turn: one transaction that makes the reply final, whoever gets there first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, update

from webapp.chat.models import PipelineStep
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import MessageOut
from webapp.database import db, now
from webapp.validation import MAX_TEXT_BYTES


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline step to be stored with the reply; duration in milliseconds."""

    name: str
    data: dict[str, Any]
    model: str | None = None
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended: the status of the reply, its text, and what is kept with it."""

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
    steps: list[Step] = field(default_factory=list)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """The final event of the turn, and the names and ids of the jobs it asks for."""

    kind: str
    data: dict[str, Any]
    jobs: list[tuple[str, dict[str, Any]]]


def finish_turn(turn_id: int, outcome: Outcome) -> Finished | None:
    """Make a streaming reply final; None when it is final already or gone. The caller commits."""
    values: dict[str, Any] = {
        "status": outcome.status,
        "content": fit_column(outcome.text),
        "model": outcome.model,
        "prompt_version": outcome.prompt_version,
        "prompt_tokens": outcome.prompt_tokens,
        "completion_tokens": outcome.completion_tokens,
        "error_code": outcome.error_code,
        "error_detail": outcome.error_detail,
        "tool_calls": outcome.tool_calls or None,
    }
    if outcome.truncated or len(values["content"]) < len(outcome.text):
        values["custom_payload"] = {"truncated": True}
    claimed = db.session.execute(
        update(Message)
        .where(Message.message_id == turn_id, Message.status == "streaming")
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    if claimed.rowcount != 1:
        return None
    row = db.session.scalar(
        select(Message).where(Message.message_id == turn_id).execution_options(populate_existing=True)
    )
    db.session.execute(
        update(Conversation).where(Conversation.conversation_id == row.conversation_id).values(updated_at=now())
    )
    for ordinal, step in enumerate(outcome.steps, 1):
        db.session.add(
            PipelineStep(
                message_id=turn_id, ordinal=ordinal, name=step.name, model=step.model,
                duration_ms=step.duration_ms, data=step.data,
            )
        )
    db.session.flush()
    kind, data = final_event(row, retryable=outcome.retryable)
    return Finished(kind, data, jobs_of_turn(row) if kind == "done" else [])


def final_event(row: Message, *, retryable: bool = True) -> tuple[str, dict[str, Any]]:
    """The last event of a reply's text: `done`, or `error` for one that failed or was interrupted."""
    message = MessageOut.of(row).model_dump(mode="json")
    if row.status in ("complete", "stopped"):
        return "done", {"message": message}
    return "error", {
        "code": row.error_code or row.status,
        "detail": row.error_detail or "",
        "retryable": retryable,
        "message": message,
    }


def jobs_of_turn(reply: Message) -> list[tuple[str, dict[str, Any]]]:
    """The background work a finished reply asks for: a title, when the conversation has none."""
    conversation = db.session.get(Conversation, reply.conversation_id)
    if conversation is None or not reply.content:
        return []
    jobs = []
    if conversation.title_source == "none":
        jobs.append(("title", {"conversation_id": conversation.conversation_id}))
    return jobs


def fit_column(text: str) -> str:
    """The longest prefix that fits into the documented TEXT column."""
    raw = text.replace("\x00", "").encode("utf-8", "replace")
    if len(raw) <= MAX_TEXT_BYTES:
        return raw.decode()
    return raw[:MAX_TEXT_BYTES].decode("utf-8", "ignore")
