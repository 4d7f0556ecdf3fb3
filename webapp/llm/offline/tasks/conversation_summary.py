"""A summary by extraction: what the user said, in their own first sentences, and what it was answered with."""

from __future__ import annotations

import re
from typing import Any

from .request import TaskRequest

NAME = "conversation_summary"

MAX_CHARS = 1_400
SENTENCES = 2
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_MARKUP = re.compile(r"```.*?(?:```|\Z)|[*_`#>|]+", re.DOTALL)
# Sentences that say something of the user, which a summary should keep before others.
_OWN = re.compile(r"\b(?:i|i['’]m|i['’]ve|my|we|our|me)\b|\d", re.IGNORECASE)
_SMALL_TALK = re.compile(
    r"^\W*(?:hi|hello|hey|thanks|thank you|ok(?:ay)?|yes|no|great|cool|bye)\b[\s\w]{0,12}\W*$", re.IGNORECASE
)


def run(request: TaskRequest) -> dict[str, Any]:
    """`{"summary": …}`, and no facts: rules do not know what lasts."""
    answer: dict[str, Any] = {"summary": summary_of(request.turns())}
    if "facts" in (request.schema.get("properties") or {}):
        answer["facts"] = []
    return answer


def summary_of(turns: list[tuple[str, str]]) -> str:
    """At most MAX_CHARS of the user's own sentences, those about themselves first to stay; never empty."""
    said = [sentence for role, text in turns if role == "user" for sentence in _sentences(text)]
    said = list(dict.fromkeys(said))
    kept = _within(said, MAX_CHARS)
    if not kept:
        return f"{len(turns)} messages without any statement of the user's."
    return "The user said: " + " ".join(sentence for sentence in said if sentence in kept)


def _sentences(text: str) -> list[str]:
    """The first sentences of a message, without markup; greetings and thanks are none."""
    text = _MARKUP.sub(" ", text.replace("&lt;", "<"))
    parts = [" ".join(part.split()) for part in _SENTENCE.split(text)]
    parts = [part for part in parts if any(char.isalnum() for char in part) and not _SMALL_TALK.match(part)]
    return [part if part[-1] in ".!?…。！？" else f"{part}." for part in (cut[:300] for cut in parts[:SENTENCES])]


def _within(sentences: list[str], limit: int) -> set[str]:
    """Those that fit, up to the first that does not: statements about the user before others, and questions last."""
    kept: set[str] = set()
    for sentence in sorted(sentences, key=lambda item: (not _OWN.search(item), item.endswith("?"))):
        limit -= len(sentence) + 1
        if limit < 0:
            break
        kept.add(sentence)
    return kept
