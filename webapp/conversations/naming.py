"""What a conversation is called until the model, or its user, names it; pure."""

from __future__ import annotations

import re

MAX_WORDS = 12
FIRST_WORDS = 6
FIRST_CHARACTERS = 60


def is_of(title: str, source: str) -> bool:
    """Whether a title names no number that nobody said."""
    return all(number in source for number in re.findall(r"\d+", title))


def tidy(title: str) -> str:
    """One line without quotation marks, a label or a full stop, of a length that fits the sidebar."""
    line = " ".join(title.split())
    if line.lower().startswith("title:"):
        line = line[6:].strip()
    line = line.strip("\"'“”‘’«»*#` ").removesuffix(".").strip()
    words = line.split(" ")
    if len(words) > MAX_WORDS:  # one that runs on is cut where a clause ends
        words = re.split(r"(?<=\w)[,;:.!?–—]\s|\s-\s", line, maxsplit=1)[0].split(" ")
    return " ".join(words[:MAX_WORDS])[:120].strip()


def from_words(text: str) -> str:
    """A title from the first words of a message."""
    words = " ".join(text.split())[:200].split(" ")
    title = " ".join(words[:FIRST_WORDS])
    is_cut = len(words) > FIRST_WORDS or len(title) > FIRST_CHARACTERS
    return (title[:FIRST_CHARACTERS].rstrip() + "…") if is_cut else title
