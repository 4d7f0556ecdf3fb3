"""Input and output of imports and exports."""

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from webapp.http.validation import (
    MAX_ID,
    Flag,
    Id,
    Input,
    Instant,
    Line,
    ListOut,
    OptionalAmount,
    OptionalInteger,
    Output,
    PageQuery,
    Time,
    Upload,
)
from webapp.transfer.models import Import, ImportItem

MAX_PASTED = 1_000_000


class _NewImport(Input):
    format: Line | None = Field(None, max_length=30, description="Recognised where it is not given.")


class UploadedExport(_NewImport):
    file: Upload


class PastedImport(_NewImport):
    text: str = Field(min_length=1, max_length=MAX_PASTED, description="A list of memories, one per line.")


class Range(Input):
    """Only conversations that were active between two moments."""

    model_config = ConfigDict(populate_by_name=True)

    first: Time | None = Field(None, alias="from")
    last: Time | None = Field(None, alias="to")


class LearnFields(Input):
    """Up to how much is to be learned for; both left out is as much as it takes."""

    most_tokens: OptionalInteger = Field(None, ge=1_000, le=MAX_ID)
    most_dollars: OptionalAmount = Field(None, gt=0, le=100_000)


class Estimate(BaseModel):
    """The likely cost of learning from an import."""

    conversations: int
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None = Field(description="Null where the price of the model is not known.")
    model: str | None


class LearningOut(Estimate):
    """The likely cost of learning, its progress, and what it has taken and found so far."""

    status: str | None
    progress: dict[str, Any] | None


ImportedKind = Literal["conversations", "memories", "projects"]


class StartImport(Input):
    take: list[ImportedKind] = list(get_args(ImportedKind))
    between: Range | None = None
    space_id: Id | None = Field(None, description="Put conversations and memories into this space.")
    learn: LearnFields | Flag | None = Field(
        None,
        description="Learn from the conversations once they are imported: true, or with limits. What is "
        "found waits for review.",
    )
    restore: Flag | None = Field(
        None,
        description="Whether a Commonplace export is restored as it was, which needs an empty account. By default: if "
        "that is possible and everything in the export is wanted.",
    )


class LeftOut(BaseModel):
    """A kind of thing that was not taken in, with its count."""

    kind: str
    count: int

    @classmethod
    def of(cls, counts: dict[str, int] | None) -> "list[LeftOut]":
        """Return counts by kind as a list."""
        return [cls(kind=kind, count=count) for kind, count in (counts or {}).items()]


class ImportOut(Output):
    import_id: int
    status: str
    format: str | None
    filename: str
    size: int
    preview: dict[str, Any] | None = Field(description="Counts, dates and a sample of what is in the file.")
    options: dict[str, Any] | None
    counts: dict[str, int]
    left_out: list[LeftOut]
    position: int = Field(description="Parts that are done; while it is being undone, parts that have been removed.")
    total: int | None
    learn_status: str | None = Field(description="running, paused, stopped or done; null where it was not asked for.")
    error: str | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, row: Import) -> "ImportOut":
        progress = (row.options or {}).get("undone") or {"parts": 0, "of": None}
        return cls.from_row(
            row,
            status=row.stage,
            left_out=LeftOut.of(row.left_out),
            position=progress["parts"] if row.stage == "undoing" else row.position,
            total=progress["of"] if row.stage == "undoing" else (row.preview or {}).get("total"),
        )


class ImportList(ListOut):
    imports: list[ImportOut]


Outcome = Literal["imported", "updated", "unchanged", "skipped", "incomplete"]


class ItemQuery(PageQuery):
    outcome: Outcome | None = Field(None, description="“incomplete”: those of which something was left out.")


class ItemOut(Output):
    item_id: int
    kind: str
    title: str | None
    outcome: str
    reason: str | None
    target_id: int | None
    message_count: int
    left_out: list[LeftOut]

    @classmethod
    def of(cls, row: ImportItem) -> "ItemOut":
        return cls.from_row(row, left_out=LeftOut.of(row.left_out))


class ItemList(ListOut):
    items: list[ItemOut]


class NewExport(Input):
    what: Literal["account", "conversation", "memories"]
    format: Literal["zip", "markdown", "json", "html", "pdf", "mem", "text"] | None = None
    conversation_id: Id | None = None


class ExportOut(Output):
    export_id: int
    what: str
    format: str
    conversation_id: int | None
    status: str
    filename: str | None
    size: int | None
    error: str | None
    created_at: Instant
    expires_at: Instant | None


class ExportList(ListOut):
    exports: list[ExportOut]
