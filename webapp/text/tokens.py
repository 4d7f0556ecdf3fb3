"""Estimates of tokens, and texts shortened to so many."""

import re
import unicodedata
from math import ceil

from webapp.text.sentences import whole_sentences_end

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz "
_DIGITS = b"0123456789"
_LEAD_2 = bytes(range(0xC2, 0xE0))
_LEAD_3 = bytes(range(0xE0, 0xF0))
_LEAD_4 = bytes(range(0xF0, 0xF5))
_INDENT = re.compile(rb"  +")
# Keys, hashes and base64: byte-pair encodings find few of their pairs in such runs.
_DENSE = re.compile(rb"[A-Za-z0-9+/_-]{20,}")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text by its bytes, erring upwards.

    English prose comes out a third too high, CJK at 1.5 per character, emoji at 3; punctuation and digits count more.
    """
    if not text:
        return 0
    raw = text.encode("utf-8", "surrogatepass")
    if b"   " in raw:
        raw = _INDENT.sub(b"  ", raw)
    size = len(raw)
    rest = raw.translate(None, _LETTERS)
    letters, digits = size - len(rest), len(rest) - len(rest.translate(None, _DIGITS))
    two = three = four = 0
    if not rest.isascii():
        two, three, four = [len(rest) - len(rest.translate(None, kinds)) for kinds in (_LEAD_2, _LEAD_3, _LEAD_4)]
    punctuation = size - letters - digits - 2 * two - 3 * three - 4 * four
    if letters + digits + raw.count(b"\n") == size:
        punctuation = 0
    tokens = letters / 3.6 + digits * 0.6 + punctuation * 0.8 + two * 0.8 + three * 1.5 + four * 3
    # A run contains no white space: if no word is that long, there is none.
    if size >= 20 and max(map(len, raw.split()), default=0) >= 20:
        tokens += sum(len(run) for run in _DENSE.findall(raw) if run.translate(None, _DIGITS) != run) * 0.45
    return ceil(tokens)


MARK = " […] "
"""Marks where the middle of a text is missing."""


def shorten(text: str, limit: int) -> str:
    """Shorten a text to `limit` tokens, with head and tail around a visible mark, or an ellipsis."""
    if estimate_tokens(text) <= limit:
        return text

    def attempt(length: int) -> str:
        head, tail = _cut_end(text, length - length // 3), _cut_start(text, length // 3)
        mark = f"[… {len(text) - len(head) - len(tail):,} of {len(text):,} characters left out …]"
        return "\n".join(part for part in (head.rstrip(), mark, tail.lstrip()) if part)

    # No tokenizer makes much longer tokens; this limits the search in a huge text to what can fit.
    low, high, best = 0, min(len(text) - 1, limit * 16), ""
    while low <= high:
        middle = (low + high) // 2
        candidate = attempt(middle)
        if estimate_tokens(candidate) <= limit:
            low, best = middle + 1, candidate
        else:
            high = middle - 1
    if best:
        return best
    return next(
        (cut for cut in (f"{text[:size]}…" for size in range(limit, -1, -1)) if estimate_tokens(cut) <= limit), ""
    )


def without_middle(text: str, limit: int) -> str:
    """Return a text, if longer than `limit` characters, without its middle, cut between words if possible."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3 - len(MARK)) :]
    return head.rsplit(" ", 1)[0] + MARK + tail.split(" ", 1)[-1]


def first_words(text: str, limit: int) -> str:
    """Return the first words of a text, with an ellipsis if it continues."""
    if estimate_tokens(text) <= limit:
        return text
    words = text.split()
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(" ".join(words[:middle]) + " …") <= limit else (low, middle - 1)
    return " ".join(words[:low]) + " …" if low else shorten(text, limit)


def _cut_end(text: str, length: int) -> str:
    """Return at most the first `length` characters, ended at a sentence, a word or at least a grapheme."""
    if length <= 0:
        return ""
    head = text[:length]
    end = whole_sentences_end(head)
    if end > length * 0.7:
        return head[:end]
    space = max(head.rfind(" "), head.rfind("\n"))
    if space > length * 0.7:
        return head[:space]
    while length > 0 and _joins_previous(text, length):
        length -= 1
    return text[:length]


def _cut_start(text: str, length: int) -> str:
    """Return at most the last `length` characters, begun at a line, a word or at least a grapheme."""
    if length <= 0:
        return ""
    start = len(text) - length
    for boundary in ("\n", " "):
        index = text.find(boundary, start, start + max(1, length * 3 // 10))
        if index >= 0:
            return text[index + 1 :]
    while start < len(text) and _joins_previous(text, start):
        start += 1
    return text[start:]


def _joins_previous(text: str, position: int) -> bool:
    """Return whether the character at a position belongs to the grapheme of the one before it."""
    if position >= len(text):
        return False
    char, before = text[position], text[position - 1]
    return (
        bool(unicodedata.combining(char))
        or char in "\u200d\ufe0f\u20e3"
        or before == "\u200d"
        or ("\U0001f3fb" <= char <= "\U0001f3ff")
    )
