"""Sentences from services, which do not know the reader: English for programs and logs, translated on pages."""

from typing import Any, TypeVar

T = TypeVar("T")


class Sentence(str):
    """A sentence in English that remembers what it was made from, so that it can be said in another language."""

    __slots__ = ("message", "number", "plural", "values")

    message: str
    plural: str
    number: int
    values: dict[str, Any]


def N_(texts: T) -> T:
    """Mark texts that are translated later, where they are shown: one, or the values of a container."""
    return texts


def NN_(message: str, plural: str) -> tuple[str, str]:
    """Mark the two forms of a text about a number of things; the number is in it as `%(num)s`."""
    return message, plural


def say(message: str, /, **values: Any) -> Sentence:
    """Return a sentence with values, or sentences, in it: `say("There is no %(name)s.", name=name)`."""
    return _sentence(message, "", 0, values)


def say_n(message: str, plural: str, count: int, /, **values: Any) -> Sentence:
    """Return a sentence about a number of things; the number is in it as `%(num)s`."""
    return _sentence(message, plural, count, {"num": count, **values})


def _sentence(message: str, plural: str, count: int, values: dict[str, Any]) -> Sentence:
    form = plural if plural and count != 1 else message
    sentence = Sentence(form % values if values else form)
    sentence.message, sentence.plural, sentence.number, sentence.values = message, plural, count, values
    return sentence
