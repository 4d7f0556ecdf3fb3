"""Particulars that a summary must not lose: the numbers, dates and names that the user gave; pure.

Models drop the very words a summary is for. What is missing is found after the call and appended as the user's own
sentences.
"""

import re
from collections.abc import Iterable

from webapp.text.sentences import is_question, sentence_texts, whole_sentences_end
from webapp.text.words import stems, words

MOST_SENTENCES = 12
MOST_CHARS = 220
ALSO = "Also said:"
_WORD = re.compile(r"[^\W_]+(?:[:.,/-][^\W_]+)*")
_NO_NAMES = frozenset(("i", "i'm", "i've", "i'd", "i'll", "ok"))


def particulars(text: str) -> dict[str, str]:
    """The numbers and names of a text, each with its sentence; a capital at the sentence's beginning is no name."""
    values: dict[str, str] = {}
    for sentence in sentence_texts(text):
        if is_question(sentence):
            continue
        start = len(sentence) - len(sentence.lstrip("\"'“„«("))
        for match in _WORD.finditer(sentence):
            word = match.group()
            name = word[0].isupper() and match.start() > start and word.casefold() not in _NO_NAMES
            if name or any(char.isdigit() for char in word):
                values.setdefault(word, sentence)
    return values


def restore_details(summary: str, texts: Iterable[str], limit: int) -> str:
    """Return a summary, followed by the sentences whose numbers and names it lost, up to `limit` characters."""
    present = set(stems(words(summary), keep_stop_words=True)) | set(words(summary))
    missing: dict[str, None] = {}
    for text in texts:
        for word, sentence in particulars(text).items():
            if not all(term in present for term in words(word)) and len(sentence) <= MOST_CHARS:
                missing.setdefault(sentence)
    room = limit - len(summary) - len(ALSO) - 2
    additions: list[str] = []
    for sentence in list(missing)[:MOST_SENTENCES]:
        ended = sentence if sentence[-1] in ".!…。！" else f"{sentence}."
        needed = len(ended) + bool(additions)  # with the space before it
        if needed > room:
            continue  # a shorter one may still find room
        room -= needed
        additions.append(ended)
    return f"{summary}\n{ALSO} {' '.join(additions)}" if additions else summary


def whole_sentences(text: str) -> str:
    """Return the beginning of a cut-off text, up to its last complete sentence; all of it if there is none."""
    return text[: whole_sentences_end(text) or len(text)]
