"""A picture that goes with a message: what a prompt knows about it before its bytes are read; pure."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

NOTE_TOKENS = 30
MAX_PAGES_FOUND = 4
"""How many pages are shown of a retrieved document that consists of pictures."""
PIXELS_A_TOKEN = 750
"""As several providers count; others charge less for a picture of this size."""

MAX_DATA_URL = 64 * 1024**2
_DATA_URL = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, or a page that is one; models that see get it if it `is_shown`, otherwise it is only named."""

    file_id: int
    digest: str
    media_type: str
    name: str
    page: int = 0
    tokens: int = NOTE_TOKENS
    is_shown: bool = True

    @property
    def label(self) -> str:
        """Return the picture's name in a prompt."""
        return f"{self.name}, page {self.page}" if self.page else self.name

    @property
    def note(self) -> str:
        """Return what replaces the picture where it is not shown."""
        return f"[Picture attached: {self.label}. There was no room to show it.]"


def pictures_of_document(name: str, digest: str, media_type: str, pages: Sequence[int], edge: int) -> list[Picture]:
    """Return how a retrieved document without text, or pages of one, is shown: the picture, or the first few pages."""
    if media_type.startswith("image/"):
        return [Picture(0, digest, media_type, name, tokens=picture_tokens(edge, edge))]
    tokens = picture_tokens(edge * 5 // 7, edge)
    return [Picture(0, digest, media_type, name, page, tokens) for page in pages[:MAX_PAGES_FOUND]]


def picture_tokens(width: int, height: int) -> int:
    """Estimate the tokens of a picture in a prompt."""
    return ceil(width * height / PIXELS_A_TOKEN) + NOTE_TOKENS


def with_parts(text: str, pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    """Return the content of a message with pictures, whose bytes are filled in before it is sent."""
    parts: list[dict[str, Any]] = [{"type": "picture", "picture": picture} for picture in pictures]
    return [*parts, {"type": "text", "text": text}]


def read_data_url(url: Any) -> tuple[str, bytes] | None:
    """Return the kind of the picture in a data URL, and its bytes; None for anything else."""
    if not isinstance(url, str) or len(url) > MAX_DATA_URL or (head := _DATA_URL.match(url)) is None:
        return None
    try:
        return head[1].lower(), base64.b64decode(url[head.end() :], validate=True)
    except ValueError:
        return None


def picture_in(part: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of an image in a data URL; None for any other part. Nothing is fetched from elsewhere."""
    if part.get("type") not in ("image_url", "input_image"):
        return None
    image = part.get("image_url")
    picture = read_data_url(image.get("url") if isinstance(image, dict) else image)
    return (picture[1] or None) if picture else None
