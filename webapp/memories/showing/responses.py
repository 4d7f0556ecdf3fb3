"""Responses about memories; never embeddings."""

from datetime import date, datetime
from typing import Any

from pydantic import BaseModel, Field, RootModel

from webapp.http.validation import Instant, ListOut, Output, utc_text
from webapp.memories.history.change_sets import ChangeSetView
from webapp.memories.history.revisions import QuotedEvidence
from webapp.memories.models import Memory, MemoryRevision
from webapp.memories.store.forgetting import ForgetReport
from webapp.memories.store.journal import TIME_FIELDS


class MemoryOut(Output):
    memory_id: int
    user_id: int
    memory_type: str
    category: str | None
    content: str
    source_conversation_id: int | None
    source_message_id: int | None
    created_at: Instant
    updated_at: Instant
    last_accessed_at: Instant | None
    access_count: int
    is_pinned: bool
    is_archived: bool
    confidence: float
    space_id: int | None
    only_conversation_id: int | None = Field(description="Of an instruction: the conversation it is limited to.")
    visibility: str
    fact_key: str | None
    fact_value: str | None
    importance: float
    valid_from: Instant | None
    valid_to: Instant | None
    until: date | None
    superseded_by_id: int | None
    contradicts_id: int | None
    needs_review: bool
    origin: str
    edited_by_user: bool
    revision: int
    evidence_count: int
    score: float | None = Field(None, exclude_if=lambda score: score is None, description="Relevance; only with `q`.")

    @classmethod
    def of(cls, row: Memory, score: float | None = None) -> "MemoryOut":
        # Single-precision columns: 0.95 comes back as 0.949999988.
        rounded = {"confidence": round(row.confidence, 4), "importance": round(row.importance, 4)}
        return cls.from_row(row, **rounded, score=None if score is None else round(score, 4))

    @classmethod
    def for_reader(cls, row: Memory, reader_id: int, score: float | None = None) -> "MemoryOut":
        """Return a memory as a reader sees it: the source and use of another person's shared memory stay private."""
        result = cls.of(row, score)
        if row.user_id == reader_id:
            return result
        hidden = (
            "source_conversation_id",
            "source_message_id",
            "only_conversation_id",
            "last_accessed_at",
            "superseded_by_id",
            "contradicts_id",
        )
        defaults: dict[str, Any] = {"access_count": 0, "evidence_count": 0, "is_pinned": False}
        return result.model_copy(update=defaults | dict.fromkeys(hidden))


class MemoryList(ListOut):
    memories: list[MemoryOut]


class EvidenceOut(Output):
    evidence_id: int
    message_id: int
    conversation_id: int
    conversation_title: str | None
    quote: str
    start: int
    end: int
    said_at: Instant
    is_current: bool = Field(description="False when the message has since been edited away.")

    @classmethod
    def of(cls, item: QuotedEvidence) -> "EvidenceOut":
        return cls.from_row(
            item.row,
            conversation_id=item.conversation_id,
            conversation_title=item.title,
            is_current=item.is_current,
        )


class EvidenceList(BaseModel):
    evidence: list[EvidenceOut]


class RevisionOut(Output):
    revision: int
    actor: str
    cause: str
    change_set_id: int | None
    created_at: Instant
    fields: dict[str, Any]

    @classmethod
    def of(cls, row: MemoryRevision) -> "RevisionOut":
        times = {name: value for name in TIME_FIELDS if (value := row.snapshot.get(name))}
        return cls.from_row(
            row, fields=row.snapshot | {name: utc_text(datetime.fromisoformat(value)) for name, value in times.items()}
        )


class History(BaseModel):
    memory_id: int
    revisions: list[RevisionOut] = Field(description="Oldest first.")
    values: list[MemoryOut] = Field(description="Every value its key has had, or what it replaced; oldest first.")


class ChangeOut(BaseModel):
    memory_id: int
    before: int | None = Field(description="Revision before; null when it was created.")
    after: int | None = Field(description="Revision after; null when it was forgotten.")
    content: str | None = Field(description="What it says now; null when it is gone.")


class ChangeSetOut(Output):
    change_set_id: int
    cause: str
    conversation_id: int | None
    conversation_title: str | None
    counts: dict[str, int]
    reasons: dict[str, int]
    changes: list[ChangeOut]
    created_at: Instant
    undone_at: Instant | None
    undoes_id: int | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None

    @classmethod
    def of(cls, view: ChangeSetView) -> "ChangeSetOut":
        changes = [ChangeOut(**change, content=view.contents.get(change["memory_id"])) for change in view.row.changes]
        return cls.from_row(view.row, conversation_title=view.title, changes=changes)


class ChangeSetList(ListOut):
    changes: list[ChangeSetOut]


class ExtractionResult(BaseModel):
    change_set: ChangeSetOut | None = Field(description="Null when nothing changed.")
    counts: dict[str, int]
    title: str | None = Field(None, description="The title the conversation was given meanwhile.")
    job_id: str | None = Field(
        None, description="The job that continues reading when the conversation is long; otherwise null."
    )


class ExtractionQueued(BaseModel):
    job_id: str


class ForgottenOrMemory(RootModel[ForgetReport | MemoryOut]):
    """The report; or the memory, if it was not forgotten."""


class Dependents(BaseModel):
    memories: list[MemoryOut] = Field(description="Memories that rest on it.")
    only_here: list[int] = Field(description="Those of them with no other evidence, by id.")
