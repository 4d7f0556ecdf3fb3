"""What comes in and goes out about imports and exports."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from webapp.transfer.models import Export, Import, ImportItem
from webapp.validation import Flag, Id, Instant, Line
from webapp.web import PageQuery

MAX_PASTED = 1_000_000


class ImportPath(BaseModel):
    import_id: Id


class ExportPath(BaseModel):
    export_id: Id


class PastedImport(BaseModel):
    text: str = Field(min_length=1, max_length=MAX_PASTED, description="A list of memories, one a line.")
    format: Line | None = Field(None, max_length=30)


class Range(BaseModel):
    """Only conversations that were active between two moments."""

    model_config = ConfigDict(populate_by_name=True)

    first: datetime | None = Field(None, alias="from")
    last: datetime | None = Field(None, alias="to")


class StartImport(BaseModel):
    take: list[Literal["conversations", "memories", "projects"]] = ["conversations", "memories", "projects"]
    between: Range | None = None
    space_id: Id | None = Field(None, description="Put conversations and memories into this space.")
    restore: Flag | None = Field(
        None,
        description="Whether an export of Commonplace is taken in as it was, which takes an empty account. Left out: "
        "where it is possible, and all of the export is wanted.",
    )


class ImportOut(BaseModel):
    import_id: int
    status: str
    format: str | None
    filename: str
    size: int
    preview: dict[str, Any] | None = Field(description="Counts, dates and a sample of what is in the file.")
    options: dict[str, Any] | None
    counts: dict[str, int]
    position: int = Field(description="Parts that are done.")
    total: int | None
    error: str | None
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of(cls, row: Import) -> ImportOut:
        return cls(
            import_id=row.import_id,
            status=row.status,
            format=row.format,
            filename=row.filename,
            size=row.size,
            preview=row.preview,
            options=row.options,
            counts=row.counts,
            position=row.position,
            total=(row.preview or {}).get("total"),
            error=row.error,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )


class ImportList(BaseModel):
    imports: list[ImportOut]
    next_cursor: str | None


class ItemQuery(PageQuery):
    outcome: Literal["imported", "updated", "unchanged", "skipped"] | None = None


class ItemOut(BaseModel):
    item_id: int
    kind: str
    title: str | None
    outcome: str
    reason: str | None
    target_id: int | None
    message_count: int

    @classmethod
    def of(cls, row: ImportItem) -> ItemOut:
        return cls(
            item_id=row.item_id,
            kind=row.kind,
            title=row.title,
            outcome=row.outcome,
            reason=row.reason,
            target_id=row.target_id,
            message_count=row.message_count,
        )


class ItemList(BaseModel):
    items: list[ItemOut]
    next_cursor: str | None


class NewExport(BaseModel):
    what: Literal["account", "conversation", "memories"]
    format: Literal["zip", "markdown", "json", "html", "pdf", "mem", "text"] | None = None
    conversation_id: Id | None = None


class ExportOut(BaseModel):
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

    @classmethod
    def of(cls, row: Export) -> ExportOut:
        return cls(
            export_id=row.export_id,
            what=row.what,
            format=row.format,
            conversation_id=row.conversation_id,
            status=row.status,
            filename=row.filename,
            size=row.size,
            error=row.error,
            created_at=row.created_at,
            expires_at=row.expires_at,
        )


class ExportList(BaseModel):
    exports: list[ExportOut]
    next_cursor: str | None
