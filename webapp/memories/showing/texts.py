"""Words that describe memory to people: kinds, what happened to memories and why; no ids, no jargon."""

from collections.abc import Mapping

from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.memories.rules.kinds import MemoryType

KINDS = {kind.value: kind.label for kind in MemoryType}

CATEGORIES = N_(
    {
        "identity": "identity",
        "work": "work",
        "health": "health",
        "people": "people",
        "instruction": "instruction",
        # of the facts of a legacy
        "personality": "personality",
        "hobby": "hobby",
        "relationship": "relationship",
        "milestone": "milestone",
        "occupation": "occupation",
        "preference": "preference",
        "habit": "habit",
        "other": "other",
    }
)
"""Those under which the product itself files; any other is called what the model called it."""

STATE_LABELS = N_(
    {
        "current": "In use",
        "pinned": "Pinned",
        "review": "To review",
        "archived": "Archived",
        "past": "No longer true",
    }
)

_CAUSES = N_(
    {
        "extraction": "Learned from what you said",
        "summary": "Learned from what you said",
        "written": "Written by you",
        "edited": "Edited by you",
        "confirmed": "You said it is still true",
        "outdated": "You said it is no longer true",
        "pinned": "Pinned",
        "unpinned": "Unpinned",
        "archived": "Archived",
        "unarchived": "Unarchived",
        "forget": "You had memories forgotten",
        "forget_all": "You had everything forgotten",
        "receipt": "You had memories forgotten",
        "rejected": "Discarded by you",
        "wrong": "You said it was wrong",
        "conversation_deleted": "You deleted a conversation",
        "restored": "Earlier wording restored",
        "undo": "A change was undone",
        "profile": "From your profile",
        "review_accept": "Kept by you",
        "review_replace": "You kept the new one",
        "review_both": "You kept both",
        "review_until": "You set an end date",
        "tool": "Noted during a reply",
        "tidied": "Archived: duplicate of another memory",
        "contrary": "To compare: another one says the opposite",
        "waited": "Archived: not answered in time",
        "import": "Imported",
        "mcp": "From another program",
        "shared": "Shared by you",
        "withdrawn": "No longer shared",
        "moved": "Its conversation was moved",
        "space_ended": "You left a space, or it was deleted",
    }
)

_COUNTS = N_(
    {
        "added": "+%(n)s",
        "updated": "%(n)s changed",
        "superseded": "%(n)s replaced",
        "retracted": "%(n)s no longer true",
        "merged": "%(n)s confirmed",
        "in_review": "%(n)s to review",
        "disputed": "%(n)s to compare",
        "overruled": "%(n)s not used",
        "tidied": "%(n)s set aside",
        "forgotten": "%(n)s forgotten",
        "removed": "%(n)s removed",
        "restored": "%(n)s restored",
    }
)

_REFUSALS = N_(
    {
        "secret": "a password, key or number that nobody should keep",
        "forgotten": "something you had forgotten",
        "low_confidence": "too uncertain",
        "low_importance": "not important enough",
        "quote_not_verbatim": "not in your words",
        "quote_not_found": "not in your words",
        "unknown_message": "not in your words",
        "quote_too_slight": "too few words to rely on",
        "not_the_user": "not said by you",
        "sentence_too_long": "too long a sentence",
        "question": "only asked",
        "pasted_text": "in pasted text",
        "unknown_memory": "about a memory that does not exist",
        "older_than_known": "older than what is known",
        "already_known": "already known",
        "too_many": "too much at once",
    }
)
NOTABLE_REASONS = frozenset(("secret", "forgotten"))
"""Reasons for not keeping something that are worth a line of their own."""

OBSTACLES = N_(
    {
        "changed_since": "has since changed",
        "key_taken": "has since been replaced by another one",
        "forgotten": "has since been forgotten",
    }
)


def cause_text(name: str) -> str:
    """Return what a change comes from."""
    return _CAUSES.get(name, "A change")


def refusal_summary(reasons: Mapping[str, int]) -> str:
    """Return what was not kept, and why: "Not kept: already known (2), only asked"; empty if nothing was refused."""
    totals: dict[str, int] = {}
    for name, number in reasons.items():
        words = _(_REFUSALS[name]) if name in _REFUSALS else _("nothing to remember")
        totals[words] = totals.get(words, 0) + number
    parts = [words if number == 1 else f"{words} ({number})" for words, number in totals.items() if number]
    return _("Not kept: %(what)s", what=_(", ").join(parts)) if parts else ""


def is_final(cause: str, counts: Mapping[str, int]) -> bool:
    """Return whether a change set cannot be undone: what is forgotten stays forgotten, however that happened."""
    return cause == "undo" or "forgotten" in counts


def count_noun(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: "1 quote", "2 quotes"."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def summary(counts: Mapping[str, int]) -> str:
    """Return what a change set did: "+2, 1 changed"; empty when it did nothing to speak of."""
    waiting_count = counts.get("in_review", 0)  # storage counts them among the added, too
    counts = {**counts, "added": max(0, counts.get("added", 0) - waiting_count)}
    return _(", ").join(_(words, n=counts[name]) for name, words in _COUNTS.items() if counts.get(name))


def category_name(category: str) -> str:
    """Return the name of a category for its reader."""
    return _(CATEGORIES[category]) if category in CATEGORIES else category.replace("_", " ")
