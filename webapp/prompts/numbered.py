"""Messages of a conversation as a background call shows them: numbered from 1, in tags that no text can close; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

MARK = " […] "


@dataclass(frozen=True, slots=True)
class Said:
    """A message to be read by a call."""

    id: int
    role: str
    content: str
    at: datetime


def numbered_lines(said: Sequence[Said], limit: int) -> list[str]:
    """The messages by number; one that is longer than `limit` characters loses its middle."""
    return [
        f'<message n="{number}" role="{item.role}" date="{item.at:%Y-%m-%d}">'
        f"{inside(cut(item.content, limit))}</message>"
        for number, item in enumerate(said, 1)
    ]


def cut(text: str, limit: int) -> str:
    """A text without its middle, if it is longer than `limit` characters; at word boundaries where there are some."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3 - len(MARK)) :]
    return head.rsplit(" ", 1)[0] + MARK + tail.split(" ", 1)[-1]


def inside(text: str) -> str:
    """A text that cannot end the block it stands in."""
    return text.replace("<", "&lt;")
