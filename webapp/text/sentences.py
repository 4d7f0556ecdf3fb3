"""Sentences of a text in any language, and the question marks of all scripts."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import sentencex

from webapp.text.quotes import Span

QUESTION_MARKS = "?؟፧⸮‽꘏⳺"
GREEK_QUESTION_MARK = ";"
_ARMENIAN_QUESTION_MARK = "՞"
_OPENING_MARKS = "¿¡"
_CLOSERS = " \t\n\"'”’»)]}*_…."
_LINE = re.compile(r"[^\n]+")
_PIECE = 4_000
"""Characters looked at together: of quotation marks and the like, the library seeks the other of each pair."""
_LANGUAGE = "en"
"""Which abbreviations end no sentence; terminators of all scripts are known in any case."""


# The statements of a call rest on the same few messages.
@lru_cache(maxsize=64)
def sentences_of(text: str) -> tuple[Span, ...]:
    """Return the sentences of a text in order, without the white space around them; a line break ends one."""
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        index = line.start()
        for piece in _segments(line.group()):
            place = text.find(piece, index)
            index = place + len(piece)
            start, end = place + len(piece) - len(piece.lstrip()), place + len(piece.rstrip())
            if start < end:
                spans.append(Span(start, end))
    return tuple(spans)


def _segments(line: str) -> Iterator[str]:
    while line:
        cut = len(line) if len(line) <= _PIECE else line.rfind(" ", 0, _PIECE) + 1 or _PIECE
        yield from sentencex.segment(_LANGUAGE, line[:cut])
        line = line[cut:]


def sentence_texts(text: str) -> list[str]:
    return [text[place.start : place.end] for place in sentences_of(text)]


def whole_sentences_end(text: str) -> int:
    """Return where the last complete sentence of a text that may be cut off ends; 0 if none is complete."""
    end = len(text)
    while end > 0:
        start = max(0, end - _PIECE // 4)
        sentences = sentences_of(f"{text[start:end]} A")  # a sentence of its own only after a complete one
        if len(sentences) > 1:
            return start + sentences[-2].end
        end = start
    return 0


def sentence_around(span: Span, text: str) -> Span:
    """Return the sentences that a span of a text touches, as one span."""
    places = [place for place in sentences_of(text) if place.start < span.end and span.start < place.end]
    return Span(places[0].start, places[-1].end) if places else span


def is_question(sentence: str) -> bool:
    """Return whether a sentence ends in the question mark of any script; Armenian's stands within a word."""
    last = next((char for char in reversed(sentence) if not _is_closer(char)), "")
    end = unicodedata.normalize("NFKC", last)[-1:]
    if end == GREEK_QUESTION_MARK:
        return any(unicodedata.name(letter, "").startswith("GREEK") for letter in sentence)
    return _ARMENIAN_QUESTION_MARK in sentence or (end != "" and end in QUESTION_MARKS)


def _is_closer(char: str) -> bool:
    """Return whether a character may follow the end of a sentence: brackets, emoji, what is not seen."""
    return char in _CLOSERS or unicodedata.category(char) in ("So", "Sk", "Cf", "Mn")


def clauses_of(text: str) -> Iterator[Span]:
    """Yield the parts of a text between its marks: punctuation that a space follows, CJK punctuation, emoji, lines."""
    start = 0
    for index, char in enumerate(text):
        if char in _OPENING_MARKS:
            if text[start:index].strip():
                yield Span(start, index)
                start = index
            continue
        after = text[index + 1 : index + 2]
        mark = unicodedata.category(char)
        is_end = char == "\n" or mark == "So" or (mark == "Po" and (not char.isascii() or not after or after.isspace()))
        if is_end or (mark == "Pd" and after.isspace()):
            yield Span(start, index + 1)
            start = index + 1
    if start < len(text):
        yield Span(start, len(text))
