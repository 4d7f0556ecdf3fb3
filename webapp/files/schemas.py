"""What goes out about files."""

from __future__ import annotations

from pydantic import BaseModel, Field

from webapp.files.models import File
from webapp.validation import Id, Instant


class FilePath(BaseModel):
    file_id: Id


class PagePath(BaseModel):
    file_id: Id
    number: Id


class FileOut(BaseModel):
    file_id: int
    name: str
    media_type: str
    size: int
    status: str = Field(description="`ready`, or `unreadable` with the reason.")
    reason: str | None
    pages: int
    tokens: int = Field(description="What it takes of a prompt when it is put there whole.")
    created_at: Instant

    @classmethod
    def of(cls, row: File) -> FileOut:
        return cls(
            file_id=row.file_id,
            name=row.name,
            media_type=row.media_type,
            size=row.size,
            status=row.status,
            reason=row.reason,
            pages=row.pages,
            tokens=row.tokens,
            created_at=row.created_at,
        )


class FileList(BaseModel):
    files: list[FileOut]
    next_cursor: str | None


class PageOut(BaseModel):
    file_id: int
    page: int
    pages: int
    text: str
