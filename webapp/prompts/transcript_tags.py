"""Messages of a conversation for a background call: numbered from 1, in tags that no text can close; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from webapp.text.truncation import without_middle


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message to be read by a call."""

    id: int
    role: str
    content: str
    at: datetime


def numbered_lines(messages: Sequence[TranscriptMessage], limit: int) -> list[str]:
    """The messages by number; one longer than `limit` characters loses its middle."""
    return [
        f'<message n="{number}" role="{item.role}" date="{item.at:%Y-%m-%d}">'
        f"{escape_block(without_middle(item.content, limit))}</message>"
        for number, item in enumerate(messages, 1)
    ]


def escape_block(text: str) -> str:
    """A text that cannot end the block it is in."""
    return text.replace("<", "&lt;")
