"""What a conversation is called until the model, or its user, names it; pure."""

from __future__ import annotations

import re

from webapp.text.languages import ENGLISH
from webapp.text.vocabulary import query_language
from webapp.text.words import words

MAX_WORDS = 12
_ENGLISH = frozenset(("how", "to", "the", "of", "your", "for", "and", "without", "with", "in", "a", "is", "from", "on"))
_NO_TITLES = {
    "new conversation",
    "new chat",
    "untitled",
    "untitled conversation",
    "conversation",
    "chat",
    "title",
    "none",
}
FIRST_WORDS = 6
FIRST_CHARACTERS = 60


def is_of(title: str, source: str) -> bool:
    """Whether a title names no number that nobody said, and is not English where something else is spoken."""
    if not all(number in source for number in re.findall(r"\d+", title)):
        return False
    said = words(source)
    own = _ENGLISH.intersection(words(title)).difference(said)
    return len(own) < 2 or query_language(said) == ENGLISH


def tidy(title: str) -> str:
    """One line without quotation marks, a label or a full stop, of a length that fits the sidebar; empty where that
    names nothing."""
    line = " ".join(title.split())
    if line.lower().startswith("title:"):
        line = line[6:].strip()
    line = line.strip("\"'“”‘’«»*#` ").removesuffix(".").strip()
    if line.casefold() in _NO_TITLES:
        return ""
    words = line.split(" ")
    if len(words) > MAX_WORDS:  # one that runs on is cut where a clause ends
        words = re.split(r"(?<=\w)[,;:!?–—]\s|(?<=[^\W\d])\.\s|\s-\s", line, maxsplit=1)[0].split(" ")
    return " ".join(words[:MAX_WORDS])[:120].strip()


def from_words(text: str) -> str:
    """A title from the first words of a message."""
    words = " ".join(text.split())[:200].split(" ")
    title = " ".join(words[:FIRST_WORDS])
    is_cut = len(words) > FIRST_WORDS or len(title) > FIRST_CHARACTERS
    return (title[:FIRST_CHARACTERS].rstrip() + "…") if is_cut else title
