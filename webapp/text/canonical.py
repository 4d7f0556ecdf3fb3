"""Canonical forms: when two texts count as the same."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter

_SPACE = re.compile(r"\s+")
_QUOTES = {"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'}
KEYBOARD_FORMS = str.maketrans(_QUOTES | dict.fromkeys("‐‑‒–−", "-"))
"""Translates typographic quotation marks, hyphens and the minus into those of a keyboard."""
_EARLIER_STRAIGHT = str.maketrans(_QUOTES)
_NUMBER = re.compile(r"[^\w\s]{0,2}\d")


def plain_text(text: str) -> str:
    """Return a text on one line, without control characters, in NFC: the form in which statements are stored."""
    clean = "".join(ch if ch.isspace() or unicodedata.category(ch) not in {"Cc", "Cs"} else " " for ch in text)
    return _SPACE.sub(" ", unicodedata.normalize("NFC", clean)).strip()


def canonical_statement(text: str) -> str:
    """Return the form in which statements are compared: NFKC, casefolded, single spaces, no punctuation at the edges.

    Symbols stay: "C" and "C++", "80 kg" and "-80 kg", "I ❤️ tea" and "I 💔 tea". Idempotent. Punctuation alone is kept.
    """
    return trim_punctuation(fold(text))


def earlier_statement(text: str) -> str:
    """Return the form in which statements were compared before signs at the edges counted, for old tombstones."""
    return earlier_trimmed(earlier_fold(text))


def fold(text: str) -> str:
    """Return a text in NFKC, casefolded, on one line with single spaces: the first half of `canonical_statement`."""
    return _fold(text, KEYBOARD_FORMS)


def earlier_fold(text: str) -> str:
    """Return the first half of `earlier_statement`."""
    return _fold(text, _EARLIER_STRAIGHT)


def trim_punctuation(text_folded: str) -> str:
    """Return a folded text without punctuation at its edges, unless it is nothing else: the second half."""
    return _trim(text_folded, is_sign)


def earlier_trimmed(text_folded: str) -> str:
    """Return the second half of `earlier_statement`."""
    return _trim(text_folded, lambda text, index: unicodedata.category(text[index])[0] != "P" or text[index] in "#@&%*")


def split_at_signs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the runs of a text, folded, in order, each with whether it is one of signs."""
    result = fold(text)
    marks = [unicodedata.category(char)[0] in "PS" and is_sign(result, index) for index, char in enumerate(result)]
    for is_run, group in groupby(zip(result, marks, strict=True), key=itemgetter(1)):
        yield "".join(char for char, _ in group), is_run


def signs(text: str) -> frozenset[str]:
    """Return the runs of signs in a text: what it says besides its words."""
    return frozenset(run for run, is_run in split_at_signs(text) if is_run)


def is_sign(text_folded: str, index: int) -> bool:
    """Return whether a character of a folded text means something. Letters, digits, symbols, a hyphen before a number
    ("-5") or after a word ("A-") and a point that begins a word (".5", ".net") do; most punctuation does not."""
    char = text_folded[index]
    if unicodedata.category(char)[0] != "P":
        return not char.isspace()
    if char in "@&*" or unicodedata.bidirectional(char) == "ET":  # what stands beside numbers: "#", "%", "‰", "′"
        return True
    left, right = text_folded[index - 1 : index] if index else "", text_folded[index + 1 : index + 2]
    if char == "-":
        if not left.isalnum():
            return _NUMBER.match(text_folded, index + 1) is not None
        return not right.isalnum()
    starts = not left or left.isspace() or left == "-" or unicodedata.category(left) in ("Ps", "Pi")
    return starts and right.isalnum() and unicodedata.bidirectional(char) == "CS"


def slug(text: str, limit: int = 100, *, signed: bool = False) -> str:
    """Return lower-case words joined by underscores, up to `limit` characters; `signed` keeps symbols: "c++", "🐙"."""
    result = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    clean = "".join(ch if ch.isalnum() or ch == "_" or (signed and _is_symbol(ch)) else " " for ch in result)
    return _SPACE.sub("_", clean)[:limit].strip("_")


def _is_symbol(char: str) -> bool:
    """Return whether a character means something wherever it stands."""
    return char == "+" or unicodedata.category(char) in ("So", "Sc") or unicodedata.bidirectional(char) == "ET"


def _fold(text: str, translation: dict[int, str]) -> str:
    result = unicodedata.normalize("NFKC", text).translate(translation)
    # Casefolding can undo NFKC and the other way round; a second pass reaches the fixed point.
    for _ in range(2):
        result = unicodedata.normalize("NFKC", result.casefold())
    return _SPACE.sub(" ", result).strip()


def _trim(text_folded: str, is_kept: Callable[[str, int], bool]) -> str:
    if text_folded[:1].isalnum() and text_folded[-1:].isalnum():
        return text_folded
    start, end = 0, len(text_folded)
    while start < end and (text_folded[start].isspace() or not is_kept(text_folded, start)):
        start += 1
    while end > start and (text_folded[end - 1].isspace() or not is_kept(text_folded, end - 1)):
        end -= 1
    return text_folded[start:end] or text_folded
