"""The kinds of memory, their categories, and the keys of facts."""

import re
from enum import StrEnum
from typing import Self

from webapp.i18n.marks import N_
from webapp.text.canonical import canonical_statement, slug


class MemoryType(StrEnum):
    """A kind of memory, its `label`, and the `importance` (0..1) of one learned. An instruction always applies.

    `is_offered`: a model chooses it; others follow from whom a statement is about.
    """

    label: str
    importance: float
    is_offered: bool

    FACT = "fact", N_("fact"), 0.6
    PREFERENCE = "preference", N_("preference"), 0.6
    ENTITY = "entity", N_("person or thing"), 0.6, False
    PROJECT = "project", N_("project"), 0.7
    DECISION = "decision", N_("decision"), 0.7
    INSTRUCTION = "instruction", N_("instruction"), 0.8, False

    def __new__(cls, value: str, label: str, importance: float, is_offered: bool = True) -> Self:  # noqa: FBT001, FBT002
        member = str.__new__(cls, value)
        member._value_, member.label, member.importance, member.is_offered = value, label, importance, is_offered
        return member


MEMORY_TYPES = tuple(kind.value for kind in MemoryType)


CONTENT_MAX = 500
VALUE_MAX = 255
KEY_MAX = 100
CATEGORY_MAX = 100

# Models name the same attribute in many ways; without this, "one current value per key" would apply to the spelling of
# the key and not to its meaning.
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


def canonical_category(raw: str | None) -> str | None:
    """Return the slug of a category, or None if nothing is left of it."""
    return slug(raw or "") or None


def canonical_fact_key(raw: str | None, category: str | None = None) -> str | None:
    """Return the key of a fact as `namespace/attribute`, with synonyms folded, or None.

    The category is the default namespace. Attributes keep their signs: `skill/c` is not `skill/c++`.
    """
    return _fact_key(raw, category, signed=True)


def earlier_fact_key(raw: str | None) -> str | None:
    """Return the key as it was before attributes kept their signs, for old tombstones."""
    return _fact_key(raw, None, signed=False)


def _fact_key(raw: str | None, category: str | None, *, signed: bool) -> str | None:
    parts = [part for piece in re.split(r"[/.:]", raw or "") if (part := slug(piece, KEY_MAX, signed=signed))]
    if not parts:
        return None
    if len(parts) == 1:
        parts.insert(0, slug(category or "", KEY_MAX // 2))
    namespace = slug(parts[0], KEY_MAX) or DEFAULT_NAMESPACE
    key = "/".join([NAMESPACE_ALIASES.get(namespace, namespace), *parts[1:]])[:KEY_MAX].rstrip("/_")
    return KEY_ALIASES.get(key, key)


def category_of(fact_key: str | None, category: str | None) -> str | None:
    """Return the category under which a memory is filed: the namespace of its key, or its own if it has no key."""
    return fact_key.split("/", 1)[0] if fact_key else canonical_category(category)


def canonical_value(value: str | None, content: str) -> str:
    """Return the comparable value of a keyed fact; its statement is used if no value was given."""
    return canonical_statement(value) if value and value.strip() else canonical_statement(content)
