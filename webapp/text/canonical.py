"""Canonical forms: when two texts count as the same."""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"\s+")
_NOT_SLUG = re.compile(r"[^\w]+", re.UNICODE)
STRAIGHT = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})
"""Translates typographic quotation marks into straight ones."""


def plain_text(text: str) -> str:
    """`text` on one line, without control characters, in NFC: the form in which statements are stored."""
    kept = "".join(ch if ch.isspace() or unicodedata.category(ch) not in {"Cc", "Cs"} else " " for ch in text)
    return _SPACE.sub(" ", unicodedata.normalize("NFC", kept)).strip()


def canonical_statement(text: str) -> str:
    """The form in which two statements are compared: NFKC, casefolded, single spaces, no punctuation at the edges.

    Emoji and inner punctuation are kept, so "I ❤️ tea" and "I 💔 tea" stay different. Idempotent. A text of
    nothing but punctuation is kept as it is, since an empty form would equal every other empty one.
    """
    return trimmed(fold(text))


def fold(text: str) -> str:
    """A text in NFKC, casefolded, on one line with single spaces: the first half of `canonical_statement`."""
    folded = unicodedata.normalize("NFKC", text).translate(STRAIGHT)
    # Casefolding can undo NFKC and the other way round; a second pass reaches the fixed point.
    for _ in range(2):
        folded = unicodedata.normalize("NFKC", folded.casefold())
    return _SPACE.sub(" ", folded).strip()


def trimmed(folded: str) -> str:
    """A folded text without punctuation at its edges, unless it is nothing else: the second half."""
    start, end = 0, len(folded)
    while start < end and _is_edge(folded[start]):
        start += 1
    while end > start and _is_edge(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def slug(text: str, limit: int = 100) -> str:
    """`text` as lower-case words joined by underscores, at most `limit` characters; may be empty."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return _NOT_SLUG.sub("_", folded)[:limit].strip("_")


def _is_edge(char: str) -> bool:
    """Punctuation and white space; a symbol (emoji, currency, plus) is meaning, not an edge."""
    return char.isspace() or (unicodedata.category(char)[0] == "P" and char not in "#@&%*")
