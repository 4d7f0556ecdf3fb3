"""Draws pictures of files as they are shown and sent, in a separate process, and stores them with the file's bytes."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.db.base import db
from webapp.errors import Invalid, NotFound, Unavailable
from webapp.extensions import app_settings
from webapp.files.picture import Picture, picture_tokens
from webapp.files.schemas import PictureQuery
from webapp.files.storage import file_storage, key_of, picture_key
from webapp.files.subprocesses import run_bounded

PREVIEW_MODULE = "webapp.files.previews"
THUMBNAIL = 320
MAX_KEPT = 400
"""How many pictures of one file are kept; beyond that the oldest is dropped for each new one."""


@dataclass(frozen=True, slots=True)
class PictureRequest:
    """A picture to draw: a page (0 for a file that is a picture), how large, and the words to highlight on it."""

    page: int = 0
    edge: int = 0
    words: str = ""

    @property
    def name(self) -> str:
        """Return the name it is stored under."""
        marked = f"-{hashlib.sha256(self.words.encode()).hexdigest()[:16]}" if self.words else ""
        return f"{self.page}-{self.edge}{marked}.jpg"


def draw_view(digest: str, media_type: str, page: int, query: PictureQuery) -> bytes:
    """Return the picture of a page, or (0) of a picture. Raises NotFound, Invalid, Unavailable."""
    db.session.rollback()  # drawing takes a moment
    edge = THUMBNAIL if query.size == "small" else app_settings().image_edge
    try:
        return draw_picture(digest, media_type, PictureRequest(page, edge, query.words))
    except FileNotFoundError:
        raise NotFound("This file’s content no longer exists.") from None


def draw_picture(digest: str, media_type: str, picture_request: PictureRequest) -> bytes:
    """Return the picture, drawn if need be. Raises Invalid, FileNotFoundError if its bytes are gone, Unavailable."""
    try:
        return file_storage().read(picture_key(digest, picture_request.name))
    except FileNotFoundError:
        with file_storage().on_disk(key_of(digest)) as path:
            (picture,) = draw(path, media_type, [picture_request])
    return _store(digest, picture_request, picture)


def draw_new_picture(path: Path, digest: str, media_type: str) -> int:
    """Draw a picture at a path in the sizes shown and sent, and store both; return its tokens. Raises as `draw`."""
    requests = [PictureRequest(edge=app_settings().image_edge), PictureRequest(edge=THUMBNAIL)]
    pictures = draw(path, media_type, requests)
    for picture_request, picture in zip(requests, pictures, strict=True):
        _store(digest, picture_request, picture)
    return picture_tokens(pictures[0]["width"], pictures[0]["height"])


def page_tokens() -> int:
    """Return what a page that is a picture takes in a prompt, assuming the usual shape."""
    edge = app_settings().image_edge
    return picture_tokens(edge * 5 // 7, edge)


def fill_pictures(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages ready to be sent: each picture becomes a part with its bytes, or a note if there are none."""
    return [
        {**message, "content": [part for item in message["content"] for part in _parts(item)]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def pictures_as_notes(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with the names of pictures in their place."""

    def describe(content: Any) -> Any:
        if not isinstance(content, list):
            return content
        return "\n".join(
            item["picture"].note if item["type"] == "picture" else item["text"]
            for item in content
            if item.get("text") != ""
        )

    return [{**message, "content": describe(message.get("content"))} for message in messages]


def _parts(item: dict[str, Any]) -> list[dict[str, Any]]:
    if item["type"] != "picture":
        return [item] if item.get("text") != "" else []
    picture: Picture = item["picture"]
    if not picture.is_shown:
        return [{"type": "text", "text": picture.note}]
    try:
        data = base64.b64encode(
            draw_picture(picture.digest, picture.media_type, PictureRequest(picture.page, app_settings().image_edge))
        ).decode()
    except (Invalid, Unavailable, OSError):
        return [{"type": "text", "text": f"[Picture attached: {picture.label}. It could not be read.]"}]
    return [
        {"type": "text", "text": f"[{picture.label}]"},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}},
    ]


def draw(path: Path, media_type: str, requests: Sequence[PictureRequest]) -> list[dict[str, Any]]:
    """Draw pictures of the file at a path, which are not kept. Raises Invalid, Unavailable."""
    request = json.dumps([{"page": p.page, "edge": p.edge, "words": p.words} for p in requests])
    answer = run_bounded(PREVIEW_MODULE, str(path), media_type, request)
    if "error" in answer:
        raise Invalid.field("file", str(answer["error"])[:255])
    pictures: list[dict[str, Any]] = answer["pictures"]
    return pictures


def _store(digest: str, picture_request: PictureRequest, picture: dict[str, Any]) -> bytes:
    data = base64.b64decode(picture["data"])
    views = sorted(file_storage().entries(picture_key(digest)), key=lambda entry: entry[1])
    if len(views) >= MAX_KEPT:
        file_storage().delete(views[0][0])
    file_storage().write(picture_key(digest, picture_request.name), data)
    return data
