"""Sentences of services, which know no reader: English to programs and logs, and translated where a page shows them."""

from __future__ import annotations

from typing import Any


class Sentence(str):
    """A sentence in English that remembers what it was made from, so that it can be said in another language."""

    __slots__ = ("count", "message", "plural", "values")

    message: str
    plural: str
    count: int
    values: dict[str, Any]


def N_(message: str) -> str:
    """Mark a text that is translated later, where it is shown."""
    return message


def say(message: str, /, **values: Any) -> Sentence:
    """A sentence with values in it: `say("There is no %(name)s.", name=name)`."""
    return _sentence(message, "", 0, values)


def say_n(message: str, plural: str, count: int, /, **values: Any) -> Sentence:
    """A sentence about a number of things, which is in it as `%(num)s`."""
    return _sentence(message, plural, count, {"num": count, **values})


def _sentence(message: str, plural: str, count: int, values: dict[str, Any]) -> Sentence:
    chosen = plural if plural and count != 1 else message
    made = Sentence(chosen % values if values else chosen)
    made.message, made.plural, made.count, made.values = message, plural, count, values
    return made
