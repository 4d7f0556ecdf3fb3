"""The liberties models take with the form of an answer, and what they mean; pure.

A wrong number, a word that is not on the list or a one-element list does a statement no harm: the quote is what counts.
What a statement is about is never guessed.
"""

from __future__ import annotations

import math

from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.operations import Action
from webapp.text.canonical import plain_text

NO_MESSAGE = 1_000_000
"""The number of no message: the quote itself finds the message."""
UNSURE = 0.7
"""The confidence of an answer that does not give it as a number."""

_ACTIONS = {
    Action.UPDATE: "edit modify change revise refine extend",
    Action.SUPERSEDE: "replace correct overwrite override",
    Action.RETRACT: "delete remove forget drop end",
    Action.ADD: "insert create new store save remember none",
}
_MEANT = {word: action.value for action, words in _ACTIONS.items() for word in words.split()}
_CLASSES = {
    "the user": "user",
    "self": "user",
    "me": "user",
    "family": "family_friend_pet",
    "friend": "family_friend_pet",
    "pet": "family_friend_pet",
    "question": "question_or_task",
    "task": "question_or_task",
    "joke": "imagined_or_joke",
    "imagined": "imagined_or_joke",
}
_SURE = {"high": 1.0, "certain": 1.0, "medium": UNSURE, "low": 0.5}
_NOTHING = frozenset(("", "null", "none", "n/a"))


def text(value: object) -> object:
    """A text, or the only item of a list."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def optional_text(value: object) -> object:
    """A text on one line, or a number as text; None for nothing, or for anything else."""
    value = text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if isinstance(value, float) else str(value)
    line = plain_text(value) if isinstance(value, str) else ""
    return None if line.casefold() in _NOTHING else line


def message_number(value: object) -> object:
    """A number from 1; for anything else, the number of no message."""
    return _number(value) or NO_MESSAGE


def memory_number(value: object) -> object:
    """A number from 1; None for anything else."""
    return _number(value)


def class_word(value: object) -> object:
    """What a statement is about, translating the most common other words for it."""
    word = _word(value)
    return _CLASSES.get(word, word) if isinstance(word, str) else word


def action_word(value: object) -> object:
    """The action asked for; an unknown word means add, which removes nothing."""
    word = _word(value)
    if not isinstance(word, str):
        return Action.ADD.value
    word = _MEANT.get(word, word)
    return word if word in set(Action) else Action.ADD.value


def kind_word(value: object) -> object:
    """A kind of statement; a fact if there is no such kind."""
    word = _word(value)
    return word if isinstance(word, str) and word in set(MemoryType) else MemoryType.FACT.value


def sureness(value: object) -> object:
    """A number in 0–1, from a fraction, a percentage or a word; doubtful if it is none of these."""
    if isinstance(value, str):
        word = value.strip().casefold().rstrip("%")
        if word in _SURE:
            return _SURE[word]
        try:
            value = float(word) / (100 if value.strip().endswith("%") else 1)
        except ValueError:
            return UNSURE
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return UNSURE
    share = value / 100 if 2 <= value <= 100 else value
    return share if 0 <= share <= 1 else UNSURE


def _word(value: object) -> object:
    value = text(value)
    return value.strip().casefold() if isinstance(value, str) else value


def _number(value: object) -> int | None:
    value = text(value)
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:8])
    whole = (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value == int(value)
    )
    return int(value) if whole and isinstance(value, int | float) and 1 <= value <= NO_MESSAGE else None
