"""Token estimates, token budgets and shortening to fit; pure text and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

Count = Callable[[str], int]
"""Tokens of a text. Any tokenizer will do; it should not return less than the server will count."""

MESSAGE_OVERHEAD = 4
"""Tokens that chat templates spend on a message's role and delimiters."""
MINIMUM_BUDGET = 256
"""Prompt tokens below which no sensible prompt can be made."""

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz "
_DIGITS = b"0123456789"
_LEAD_2 = bytes(range(0xC2, 0xE0))
_LEAD_3 = bytes(range(0xE0, 0xF0))
_LEAD_4 = bytes(range(0xF0, 0xF5))
_INDENT = re.compile(rb"  +")
# Keys, hashes and base64: byte-pair encodings find few of their pairs in such runs.
_DENSE = re.compile(rb"[A-Za-z0-9+/_-]{20,}")
_SENTENCE_END = re.compile(r"[.!?…。！？](?=\s|$)[\"')\]]*|[。！？]|\n")


class BudgetTooSmall(ValueError):
    """The model's window leaves fewer than MINIMUM_BUDGET tokens for the prompt."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer, erring upwards.

    By bytes, some microseconds a kilobyte: English prose comes out about a third high, CJK at 1.5 a
    character, emoji at 3 a code point; punctuation and digits, thus code, count more than letters.
    """
    if not text:
        return 0
    raw = _INDENT.sub(b"  ", text.encode("utf-8", "surrogatepass"))
    size = len(raw)

    def number_of(kinds: bytes) -> int:
        return size - len(raw.translate(None, kinds))

    letters, digits = number_of(_LETTERS), number_of(_DIGITS)
    if letters + digits + raw.count(b"\n") == size:
        two = three = four = punctuation = 0
    else:
        two, three, four = number_of(_LEAD_2), number_of(_LEAD_3), number_of(_LEAD_4)
        punctuation = size - letters - digits - 2 * two - 3 * three - 4 * four
    tokens = letters / 3.6 + digits * 0.6 + punctuation * 0.8 + two * 0.8 + three * 1.5 + four * 3
    if size >= 20:
        tokens += sum(len(run) for run in _DENSE.findall(raw) if run.translate(None, _DIGITS) != run) * 0.45
    return ceil(tokens)


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens a prompt may take: of the model's window, and of each section of it.

    A section gets the smaller of its cap and its share of the prompt; what a section leaves unused goes
    to the messages, except what is kept for retrieved items, so that the history does not shift with them.
    """

    window: int = 8192
    reply: int = 1024
    tools: int = 0
    instructions_share: float = 0.30
    known: int = 1500
    known_share: float = 0.10
    summaries: int = 3000
    summaries_share: float = 0.20
    retrieved: int = 2000
    retrieved_share: float = 0.15
    history: int | None = None
    prompt: int = field(init=False)

    def __post_init__(self) -> None:
        """Derive `prompt`, the tokens left for it; raise BudgetTooSmall when there are too few."""
        reply = min(self.reply, self.window // 3)
        prompt = self.window - reply - self.tools
        if prompt < MINIMUM_BUDGET:
            raise BudgetTooSmall(f"{prompt} tokens are left for the prompt, at least {MINIMUM_BUDGET} are needed")
        object.__setattr__(self, "prompt", prompt)

    def of(self, section: str) -> int:
        """Return the token budget of `instructions`, `known`, `summaries` or `retrieved`."""
        share = int(self.prompt * getattr(self, f"{section}_share"))
        return share if section == "instructions" else max(0, min(getattr(self, section), share))


def shorten(text: str, limit: int, count: Count = estimate_tokens, *, whole_sentences: bool = False) -> str:
    """Shorten a text to at most `limit` tokens, keeping its head and its tail around a visible mark.

    A text that fits is returned as it is. With `whole_sentences` only a head is kept, and it ends where
    a sentence or line ends if there is one. When not even the mark fits, an ellipsis stands for it.
    """
    if count(text) <= limit:
        return text

    def attempt(kept: int) -> str:
        head = _cut_end(text, kept if whole_sentences else kept - kept // 3, whole_sentences)
        tail = "" if whole_sentences else _cut_start(text, kept // 3)
        mark = f"[… {len(text) - len(head) - len(tail):,} of {len(text):,} characters left out …]"
        return "\n".join(part for part in (head.rstrip(), mark, tail.lstrip()) if part)

    # No tokenizer makes much longer tokens; this keeps the search to what can fit of a huge text.
    low, high, best = 0, min(len(text) - 1, limit * 16), ""
    while low <= high:
        middle = (low + high) // 2
        candidate = attempt(middle)
        if count(candidate) <= limit:
            low, best = middle + 1, candidate
        else:
            high = middle - 1
    if best:
        return best
    return next((cut for cut in (f"{text[:size]}…" for size in range(limit, -1, -1)) if count(cut) <= limit), "")


def _cut_end(text: str, length: int, whole_sentences: bool) -> str:
    """Return at most the first `length` characters, ended at a sentence, a word or at least a grapheme."""
    if length <= 0:
        return ""
    head = text[:length]
    ends = [found.end() for found in _SENTENCE_END.finditer(head)]
    if ends and (whole_sentences or ends[-1] > length * 0.7):
        return head[: ends[-1]]
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
        found = text.find(boundary, start, start + max(1, length * 3 // 10))
        if found >= 0:
            return text[found + 1 :]
    while start < len(text) and _joins_previous(text, start):
        start += 1
    return text[start:]


def _joins_previous(text: str, position: int) -> bool:
    """Tell whether the character at a position belongs to the grapheme of the one before it."""
    if position >= len(text):
        return False
    here, before = text[position], text[position - 1]
    return (
        bool(unicodedata.combining(here))
        or here in "\u200d\ufe0f\u20e3"
        or before == "\u200d"
        or ("\U0001f3fb" <= here <= "\U0001f3ff")
    )
