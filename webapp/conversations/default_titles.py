"""What a conversation is called until the model, or its user, names it; pure."""

from __future__ import annotations

import re

from webapp.text.language_detection import ENGLISH
from webapp.text.vocabulary import query_language
from webapp.text.words import words

MAX_WORDS = 12
_ENGLISH = frozenset(("how", "to", "the", "of", "your", "for", "and", "without", "with", "in", "a", "is", "from", "on"))
# fmt: off
_NO_TITLES = frozenset((
    "new conversation", "new chat", "untitled", "untitled conversation", "conversation", "chat", "title", "none",
    "neue unterhaltung", "neues gespräch", "neuer chat", "ohne titel", "unterhaltung", "gespräch", "titel",
    "nouvelle conversation", "nouveau chat", "nouvelle discussion", "sans titre", "discussion", "titre",
    "nueva conversación", "nuevo chat", "sin título", "conversación", "título", "nova conversa", "novo chat",
    "sem título", "conversa", "nuova conversazione", "nuova chat", "senza titolo", "conversazione", "titolo",
    "nieuw gesprek", "nieuwe chat", "zonder titel", "gesprek", "новый чат", "новый разговор", "без названия", "新对话",
    "新会话", "新聊天", "无标题", "对话", "标题", "新しい会話", "無題",
    "محادثة جديدة", "بدون عنوان", "بلا عنوان", "محادثة", "عنوان",
))
# fmt: on
FIRST_WORDS = 6
FIRST_CHARACTERS = 60


def clean_model_title(proposed: str | None, asked: str, answered: str) -> str:
    """A model's title for a conversation, tidied; empty if it gives none, titles something else, or asks back."""
    title = tidy(proposed or "")
    asks_back = title.endswith(("?", "？", "؟")) and title in answered and title not in asked
    return title if not asks_back and is_of(title, f"{asked} {answered}") else ""


def is_of(title: str, source: str) -> bool:
    """Return whether a title has no number that nobody mentioned, and is not English when another language is
    spoken.
    """
    if not all(number in source for number in re.findall(r"\d+", title)):
        return False
    said = words(source)
    own = _ENGLISH.intersection(words(title)).difference(said)
    return len(own) < 2 or query_language(said) == ENGLISH


def tidy(title: str) -> str:
    """One line without quotation marks, a label or a full stop, short enough for the sidebar; empty if the title says
    nothing."""
    line = " ".join(title.split())
    if line.lower().startswith("title:"):
        line = line[6:].strip()
    line = line.strip("\"'“”‘’«»*#` ").removesuffix(".").strip()
    if line.casefold() in _NO_TITLES:
        return ""
    words = line.split(" ")
    if len(words) > MAX_WORDS:  # a long one is cut where a clause ends
        words = re.split(r"(?<=\w)[,;:!?–—]\s|(?<=[^\W\d])\.\s|\s-\s", line, maxsplit=1)[0].split(" ")
    return " ".join(words[:MAX_WORDS])[:120].strip()


def title_from_words(text: str) -> str:
    """A title from the first words of a message."""
    words = " ".join(text.split())[:200].split(" ")
    title = " ".join(words[:FIRST_WORDS])
    is_cut = len(words) > FIRST_WORDS or len(title) > FIRST_CHARACTERS
    return (title[:FIRST_CHARACTERS].rstrip() + "…") if is_cut else title
