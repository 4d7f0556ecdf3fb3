"""Pictures of files as they are shown and sent: drawn in a process of their own, kept beside the file's bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.errors import Invalid, Unavailable
from webapp.extensions import app_settings
from webapp.files.bounded import run_bounded
from webapp.files.picture import Picture, picture_tokens

DRAWING = "webapp.files.drawing"
THUMBNAIL = 320
MOST_KEPT = 400
"""Pictures kept of one file; more are drawn anew each time one is asked for."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be drawn: a page (0 for a file that is a picture), how large, and the words to be marked on it."""

    page: int = 0
    edge: int = 0
    words: str = ""

    @property
    def name(self) -> str:
        """Its file in the folder of pictures."""
        marked = f"-{hashlib.sha256(self.words.encode()).hexdigest()[:16]}" if self.words else ""
        return f"{self.page}-{self.edge}{marked}.jpg"


def place(digest: str) -> Path:
    """Where the bytes of a file lie."""
    return app_settings().var_dir.absolute() / "files" / digest[:2] / digest


def folder(digest: str) -> Path:
    """Where the pictures of a file lie."""
    return place(digest).with_suffix(".pictures")


def size_of_views() -> int:
    """The edge of pictures as models and readers see them."""
    return app_settings().image_edge


def drawn(digest: str, media_type: str, wishes: Sequence[Wish]) -> list[Path]:
    """The pictures that are wished for, drawn where they are not there yet.

    Raises Invalid where a file cannot be drawn, Unavailable while too many are.
    """
    paths = [folder(digest) / wish.name for wish in wishes]
    lacking = [wish for wish, path in zip(wishes, paths, strict=True) if not path.exists()]
    if lacking:
        found = _draw(digest, media_type, lacking)
        for wish, picture in zip(lacking, found, strict=True):
            _keep(folder(digest) / wish.name, base64.b64decode(picture["data"]))
    return paths


def first_look(digest: str, media_type: str) -> int:
    """Draw a new picture as it will be shown and sent; the tokens it takes. Raises Invalid, Unavailable."""
    wishes = [Wish(edge=size_of_views()), Wish(edge=THUMBNAIL)]
    found = _draw(digest, media_type, wishes)
    for wish, picture in zip(wishes, found, strict=True):
        _keep(folder(digest) / wish.name, base64.b64decode(picture["data"]))
    return picture_tokens(found[0]["width"], found[0]["height"])


def page_tokens() -> int:
    """What a page that is a picture takes of a prompt, for one of the usual shape."""
    edge = size_of_views()
    return picture_tokens(edge * 5 // 7, edge)


def drop(digest: str) -> None:
    """Delete the pictures of a file that nobody names any more."""
    shutil.rmtree(folder(digest), ignore_errors=True)


def filled(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages ready to be sent: what names a picture is a part with its bytes, or a note where there are none."""
    return [
        {**message, "content": [part for item in message["content"] for part in _parts(item)]}
        if isinstance(message.get("content"), list)
        else message
        for message in messages
    ]


def as_notes(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages in which pictures are named and not shown."""

    def told(content: Any) -> Any:
        if not isinstance(content, list):
            return content
        return "\n".join(
            item["picture"].note if item["type"] == "picture" else item["text"]
            for item in content
            if item.get("text") != ""
        )

    return [{**message, "content": told(message.get("content"))} for message in messages]


def _parts(item: dict[str, Any]) -> list[dict[str, Any]]:
    if item["type"] != "picture":
        return [item] if item.get("text") != "" else []
    picture: Picture = item["picture"]
    if not picture.is_shown:
        return [{"type": "text", "text": picture.note}]
    try:
        (path,) = drawn(picture.digest, picture.media_type, [Wish(picture.page, size_of_views())])
        data = base64.b64encode(path.read_bytes()).decode()
    except (Invalid, Unavailable, OSError):
        return [{"type": "text", "text": f"[Picture attached: {picture.label}. It could not be read.]"}]
    return [
        {"type": "text", "text": f"[{picture.label}]"},
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}},
    ]


def _draw(digest: str, media_type: str, wishes: Sequence[Wish]) -> list[dict[str, Any]]:
    asked = json.dumps([{"page": wish.page, "edge": wish.edge, "words": wish.words} for wish in wishes])
    answer = run_bounded(DRAWING, str(place(digest)), media_type, asked)
    if "error" in answer:
        raise Invalid.field("file", str(answer["error"])[:255])
    found: list[dict[str, Any]] = answer["pictures"]
    return found


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if len(kept := sorted(path.parent.iterdir(), key=lambda there: there.stat().st_mtime)) >= MOST_KEPT:
        kept[0].unlink(missing_ok=True)
    part = path.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    part.replace(path)
