"""The title of a conversation until the model, or its user, names it; pure."""

import re

from webapp.text.words import ENGLISH, STOP_WORDS, language_of, words

MAX_WORDS = 12
FIRST_WORDS = 6
FIRST_CHARACTERS = 60


def clean_model_title(suggestion: str | None, question: str, reply: str) -> str:
    """Return a model's title, tidied; empty if it gives none, titles something else, or asks back."""
    title = tidy(suggestion or "")
    asks_back = title.endswith(("?", "？", "؟")) and title in reply and title not in question
    return title if not asks_back and fits_source(title, f"{question} {reply}") else ""


def fits_source(title: str, source: str) -> bool:
    """Return whether a title has only numbers that were mentioned, and no English where another language is spoken."""
    if not all(number in source for number in re.findall(r"\d+", title)):
        return False
    source_words = words(source)
    stop_words = STOP_WORDS[ENGLISH].intersection(words(title)).difference(source_words)
    return len(stop_words) < 2 or language_of(source_words) == ENGLISH


def tidy(title: str) -> str:
    """Return one line without quotation marks, a label or a full stop, short enough for the sidebar."""
    line = " ".join(title.split())
    if line.lower().startswith("title:"):
        line = line[6:].strip()
    line = line.strip("\"'“”‘’«»*#` ").removesuffix(".").strip()
    words = line.split(" ")
    if len(words) > MAX_WORDS:  # a long one is cut where a clause ends
        words = re.split(r"(?<=\w)[,;:!?–—]\s|(?<=[^\W\d])\.\s|\s-\s", line, maxsplit=1)[0].split(" ")
    return " ".join(words[:MAX_WORDS])[:120].strip()


def title_from_words(text: str) -> str:
    """Return a title from the first words of a message."""
    words = " ".join(text.split())[:200].split(" ")
    title = " ".join(words[:FIRST_WORDS])
    is_cut = len(words) > FIRST_WORDS or len(title) > FIRST_CHARACTERS
    return (title[:FIRST_CHARACTERS].rstrip() + "…") if is_cut else title
