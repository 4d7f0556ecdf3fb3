"""Responses about files."""

from typing import Literal

from pydantic import BaseModel, Field

from webapp.http.validation import Id, Input, Instant, Line, ListOut, Output, Upload


class PictureQuery(BaseModel):
    page: int = Field(0, ge=0, le=100_000, description="Of a PDF; 0 for a file that is a picture.")
    words: str = Field("", max_length=500, description="Highlighted on the page where they occur.")
    size: Literal["small", "full"] = "full"


class UploadedFile(Input):
    file: Upload


class FileAsDocument(Input):
    file_id: Id
    title: Line = Field("", max_length=255, description="Without one, the name of the file.")


class FileOut(Output):
    file_id: int
    name: str
    media_type: str
    size: int
    status: str = Field(description="`ready`, or `unreadable` with the reason.")
    reason: str | None
    pages: int
    picture_pages: int = Field(description="Pages without text, such as scanned ones.")
    tokens: int = Field(description="Tokens it takes in a prompt when all of it is included; a high estimate.")
    created_at: Instant


class FileList(ListOut):
    files: list[FileOut]


class PageOut(BaseModel):
    file_id: int
    page: int
    pages: int
    text: str


class DocumentPageOut(BaseModel):
    document_id: int
    page: int
    pages: int
    text: str
