"""A conversation written out for a prompt, in tags that what was said cannot close; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from webapp.text.tokens import estimate_tokens, shorten, without_middle

MESSAGE_SHARE = 0.25
"""The share of the whole budget that one message may take."""
_TAG = re.compile(r"<(?=\s*/?\s*(?:message|turn|msg|user|assistant)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message to be read by a call."""

    id: int
    role: str
    content: str
    at: datetime


def numbered_lines(messages: Sequence[TranscriptMessage], limit: int) -> list[str]:
    """Return the messages by number; one longer than `limit` characters loses its middle."""
    return [
        f'<message n="{number}" role="{item.role}" date="{item.at:%Y-%m-%d}">'
        f"{escape_block(without_middle(item.content, limit))}</message>"
        for number, item in enumerate(messages, 1)
    ]


def escape_block(text: str) -> str:
    """Return a text that cannot end the block it is in."""
    return text.replace("<", "&lt;")


def transcript(messages: Sequence[tuple[str, str]], budget: int) -> str:
    """Return the newest (role, text) in `budget` tokens, oldest first, with the number left out."""
    longest = max(40, int(budget * MESSAGE_SHARE))
    rows: list[str] = []
    left = budget
    for role, text in reversed(messages):
        row = f'<message role="{role}">{_TAG.sub("&lt;", shorten(text.strip(), longest))}</message>'
        left -= estimate_tokens(row) + 1
        if left < 0 and rows:
            break
        rows.append(row)
    missing = len(messages) - len(rows)
    if missing:
        rows.append(f"[{missing} earlier {'message is' if missing == 1 else 'messages are'} not shown]")
    return "\n".join(reversed(rows))
