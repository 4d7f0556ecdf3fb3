"""A conversation written out for a prompt, in tags that what was said cannot close; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from webapp.text.tokens import Count, estimate_tokens
from webapp.text.truncation import shorten

MESSAGE_SHARE = 0.25
"""The share of the whole budget that one message may take."""
_TAG = re.compile(r"<(?=\s*/?\s*(?:message|turn|msg|user|assistant)\b)", re.IGNORECASE)


def transcript(messages: Sequence[tuple[str, str]], budget: int, count: Count = estimate_tokens) -> str:
    """The newest (role, text) that fit into `budget` tokens, oldest first; says how many earlier ones were left out."""
    longest = max(40, int(budget * MESSAGE_SHARE))
    rows: list[str] = []
    left = budget
    for role, text in reversed(messages):
        row = f'<message role="{role}">{_TAG.sub("&lt;", shorten(text.strip(), longest, count))}</message>'
        left -= count(row) + 1
        if left < 0 and rows:
            break
        rows.append(row)
    missing = len(messages) - len(rows)
    if missing:
        rows.append(f"[{missing} earlier {'message is' if missing == 1 else 'messages are'} not shown]")
    return "\n".join(reversed(rows))
