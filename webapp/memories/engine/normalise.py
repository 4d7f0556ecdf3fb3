"""Canonical forms: when two statements, values or keys count as the same."""

from __future__ import annotations

import re
import unicodedata

CONTENT_MAX = 500
VALUE_MAX = 255
KEY_MAX = 100
CATEGORY_MAX = 100

# Models name the same attribute in many ways; without this, "one current value per key" would hold for
# the letter of the key and not for what it means.
KEY_ALIASES = {
    "identity/full_name": "identity/name",
    "identity/user_name": "identity/name",
    "identity/nickname": "identity/preferred_name",
    "identity/birth_date": "identity/birthday",
    "identity/birthdate": "identity/birthday",
    "identity/date_of_birth": "identity/birthday",
    "identity/city": "identity/location",
    "identity/residence": "identity/location",
    "identity/home": "identity/location",
    "identity/lives_in": "identity/location",
    "identity/time_zone": "identity/timezone",
}
NAMESPACE_ALIASES = {
    "user": "identity",
    "profile": "identity",
    "preferences": "preference",
    "constraints": "constraint",
    "instructions": "instruction",
}
DEFAULT_NAMESPACE = "general"

_SPACE = re.compile(r"\s+")
_NOT_SLUG = re.compile(r"[^\w]+", re.UNICODE)
_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})


def plain_text(text: str) -> str:
    """`text` on one line, without control characters, in NFC: the form in which statements are stored."""
    kept = "".join(ch if ch.isspace() or unicodedata.category(ch) not in {"Cc", "Cs"} else " " for ch in text)
    return _SPACE.sub(" ", unicodedata.normalize("NFC", kept)).strip()


def canonical_statement(text: str) -> str:
    """The form in which two statements are compared: NFKC, casefolded, single spaces, no punctuation at the edges.

    Emoji and inner punctuation are kept, so "I ❤️ tea" and "I 💔 tea" stay different. Idempotent. A text of
    nothing but punctuation is kept as it is, since an empty form would equal every other empty one.
    """
    folded = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    # Casefolding can leave NFKC and the other way round; a second pass reaches the fixed point.
    for _ in range(2):
        folded = unicodedata.normalize("NFKC", folded.casefold())
    folded = _SPACE.sub(" ", folded).strip()
    start, end = 0, len(folded)
    while start < end and _is_edge(folded[start]):
        start += 1
    while end > start and _is_edge(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def same_statement(left: str, right: str) -> bool:
    """Whether two statements say the same in the same words."""
    return canonical_statement(left) == canonical_statement(right)


def slug(text: str, limit: int = CATEGORY_MAX) -> str:
    """`text` as lower-case words joined by underscores, at most `limit` characters; may be empty."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "")
    return _NOT_SLUG.sub("_", folded)[:limit].strip("_")


def canonical_category(raw: str | None) -> str | None:
    """The slug of a category, or None when nothing is left of it."""
    return slug(raw or "") or None


def canonical_fact_key(raw: str | None, category: str | None = None) -> str | None:
    """The key of a fact as `namespace/attribute`, or None for no key.

    A key without a namespace takes the category as one, so that `name` in `identity` and `identity/name`
    name one slot. Known synonyms are folded together.
    """
    parts = [part for part in (slug(piece, KEY_MAX) for piece in re.split(r"[/.:]", raw or "")) if part]
    if not parts:
        return None
    if len(parts) == 1:
        parts.insert(0, slug(category or "", KEY_MAX // 2) or DEFAULT_NAMESPACE)
    namespace = NAMESPACE_ALIASES.get(parts[0], parts[0])
    key = "/".join([namespace, *parts[1:]])[:KEY_MAX].rstrip("/_")
    return KEY_ALIASES.get(key, key)


def category_of(fact_key: str | None, category: str | None) -> str | None:
    """The category under which a memory is filed: the namespace of its key, or its own when it has no key."""
    return fact_key.split("/", 1)[0] if fact_key else canonical_category(category)


def canonical_value(value: str | None, content: str) -> str:
    """The comparable value of a keyed fact; its statement stands in when no value was given."""
    return canonical_statement(value) if value and value.strip() else canonical_statement(content)


def _is_edge(char: str) -> bool:
    """Punctuation and white space; a symbol (emoji, currency, plus) is meaning, not an edge."""
    return char.isspace() or (unicodedata.category(char)[0] == "P" and char not in "#@&%*")
