"""The place of a quote in a text: verbatim but for white space, case, quotes, dashes, digits and Unicode forms."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from webapp.text.canonical import KEYBOARD_FORMS
from webapp.text.words import UNSPACED, VARIANTS, plain_form

# Scripts with spaces between words: there a quote must not begin or end inside a word ("Al" in "Alexander").
_SPACED = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "DIGIT")


_STRAIGHT = KEYBOARD_FORMS | str.maketrans("—", "-")
_MINUS = re.compile(r"(?:^|[^\w])[-−–][.,]?$")
_SIGNED = re.compile(r"[+#%‰°]+(?!\w)")
_AND = frozenset("وו")
"""Arabic and Hebrew write "and" as one word with the next."""


class Span(NamedTuple):
    """A half-open range of characters of the original message."""

    start: int
    end: int


def merge_spans(spans: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
    """Return spans in order, without empty ones; those that overlap or touch are one."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1].end:
            result[-1] = Span(result[-1].start, max(result[-1].end, end))
        else:
            result.append(Span(start, end))
    return tuple(span for span in result if span.start < span.end)


def places_of(quote: str, text: str) -> Iterator[Span]:
    """Yield every place where `quote` occurs verbatim in `text`; never splitting a character, a word, or a word and its
    sign ("C" is not in "C++", "80 kg" not in "-80 kg").
    """
    # Stripped before it is folded: some characters fold to a space and a mark, such as "¸".
    needle, _ = _fold(quote.strip())
    if not needle.strip():
        return
    haystack, origins = _fold(text)
    index = haystack.find(needle)
    while index >= 0:
        end = index + len(needle)
        if _on_boundaries(origins, index, end):
            span = Span(origins[index][0], origins[end - 1][1])
            if not _splits_word(text, span) and not _splits_sign(text, span):
                yield span
        index = haystack.find(needle, index + 1)


# All operations of a call quote the same few messages; the bound keeps memory use small.
@lru_cache(maxsize=16)
def _fold(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the comparable form of `text` and, for each of its characters, the range of the original it came from."""
    chars: list[str] = []
    origins: list[tuple[int, int]] = []
    index, size = 0, len(text)
    while index < size:
        end = index + 1
        if text[index].isspace():
            while end < size and text[end].isspace():
                end += 1
            piece = "" if UNSPACED.search(text, max(0, index - 1), end + 1) else " "
        elif text.startswith("**", index):
            end, piece = index + 2, ""
        else:
            # A character and the marks on it are folded together, so that composed and decomposed forms agree.
            while end < size and (text[end] in VARIANTS or unicodedata.combining(text[end])):
                end += 1
            piece = _fold_cluster(text[index:end])
        chars.append(piece)
        origins.extend([(index, end)] * len(piece))
        index = end
    return "".join(chars), origins


def _fold_cluster(cluster: str) -> str:
    if len(cluster) == 1 and cluster.isascii():
        return cluster.lower()
    decomposed = unicodedata.normalize("NFKD", cluster.translate(_STRAIGHT))
    folded = unicodedata.normalize("NFKD", decomposed.casefold())
    return plain_form(folded).replace("i\u0307", "i").replace("е\u0308", "е")  # of the Turkish "İ", the Russian "ё"


def _on_boundaries(origins: list[tuple[int, int]], start: int, end: int) -> bool:
    is_start = start == 0 or origins[start - 1] != origins[start]
    is_end = end == len(origins) or origins[end - 1] != origins[end]
    return is_start and is_end


def _splits_word(message: str, span: Span) -> bool:
    edges = span
    if message[span.start - 1 : span.start] in _AND and not _in_spaced_word(message[span.start - 2 : span.start - 1]):
        edges = Span(span.end, span.end)
    return any(
        0 < edge < len(message) and _in_spaced_word(message[edge - 1]) and _in_spaced_word(message[edge])
        for edge in edges
    )


def _splits_sign(message: str, span: Span) -> bool:
    """Return whether the sign of the first number or of the last word is left out."""
    if message[span.start].isdigit() and _MINUS.search(message[max(0, span.start - 3) : span.start]):
        return True
    return message[span.end - 1].isalnum() and _SIGNED.match(message[span.end : span.end + 20]) is not None


def _in_spaced_word(char: str) -> bool:
    if char.isascii():
        return char.isalnum()
    return char.isalnum() and unicodedata.name(char, "").startswith(_SPACED)
