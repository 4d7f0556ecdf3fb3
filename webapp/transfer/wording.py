"""The sentences in English that are kept of an import, said again: what was put into them is found by their form."""

import re

from webapp.i18n.marks import N_, say

FORMS = N_(
    (
        "“%(name)s” was left out: %(why)s",
        "“%(name)s” in the ZIP is broken.",
        (
            "“%(name)s” in the ZIP is packed in a way that cannot be read here. Unpack it, pack it as an "
            "ordinary ZIP and upload that."
        ),
        "“%(name)s” is longer than %(size)s MB.",
        "The file is larger than %(size)s MB.",
        "You already have %(most_files)s files. Delete some first.",
        "%(name)s, conversation %(number)s",
        "%(name)s, line %(number)s",
        "memory %(number)s",
        "line %(number)s",
    )
)
_PIECES = {form: re.split(r"%\((\w+)\)s", form) for form in FORMS}


def say_again(text: str) -> str:
    """Return a kept text as the sentence it was made from; the text itself if nothing was put into it."""
    for form, pieces in _PIECES.items():
        if values := _values(pieces, text):
            return say(form, **{name: say_again(value) if name == "why" else value for name, value in values.items()})
    return say(text) if "%" not in text else text


def _values(pieces: list[str], text: str) -> dict[str, str]:
    """Return what stands between the words of a form, by name; empty if they are not those of the text."""
    begin, values = len(pieces[0]), {}
    for name, words in zip(pieces[1::2], pieces[2::2], strict=True):
        if (end := text.find(words, begin) if words else len(text)) <= begin:
            return {}
        values[name], begin = text[begin:end], end + len(words)
    return values if text.startswith(pieces[0]) and begin == len(text) else {}
