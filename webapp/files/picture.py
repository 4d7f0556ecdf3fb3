"""A picture that goes along with a message: what a prompt knows of it before its bytes are read; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

NOTE_TOKENS = 30
MOST_PAGES_FOUND = 4
"""Pages shown of a document that search found and that is pictures only."""
PIXELS_A_TOKEN = 750
"""As several providers count; others take less for a picture of this size."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, or a page of a file that is one; one that `is_shown` goes to models that see, else it is named."""

    file_id: int
    digest: str
    media_type: str
    name: str
    page: int = 0
    tokens: int = NOTE_TOKENS
    is_shown: bool = True

    @property
    def label(self) -> str:
        """What it is called in a prompt."""
        return f"{self.name}, page {self.page}" if self.page else self.name

    @property
    def note(self) -> str:
        """What stands in its place where it is not shown."""
        return f"[Picture attached: {self.label}. There was no room to show it.]"


def pictures_of_document(name: str, digest: str, media_type: str, pages: Sequence[int], edge: int) -> list[Picture]:
    """A document, or pages of one, without text as it is shown when search found it: itself, or the first of them."""
    if media_type.startswith("image/"):
        return [Picture(0, digest, media_type, name, tokens=picture_tokens(edge, edge))]
    tokens = picture_tokens(edge * 5 // 7, edge)
    return [Picture(0, digest, media_type, name, page, tokens) for page in pages[:MOST_PAGES_FOUND]]


def picture_tokens(width: int, height: int) -> int:
    """An estimate of what a picture takes of a prompt."""
    return ceil(width * height / PIXELS_A_TOKEN) + NOTE_TOKENS


def with_parts(text: str, pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """The content of a message with pictures, whose bytes are put in by whoever sends it."""
    parts: list[dict[str, Any]] = [{"type": "picture", "picture": picture} for picture in pictures]
    return [*parts, {"type": "text", "text": text}]
