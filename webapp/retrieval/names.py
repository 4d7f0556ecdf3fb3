"""The names in a question, as far as capital letters tell; pure."""

from __future__ import annotations

import re

from webapp.text.words import words

_WITHIN = 4_000
_LATER_WORD = re.compile(r"(?<=[\w,;:] )[^\W\d_][\w'’-]+")


def names_in(query: str) -> frozenset[str]:
    """The capitalised words of a query that do not begin a sentence, folded."""
    return frozenset(words(" ".join(word for word in _LATER_WORD.findall(query[:_WITHIN]) if word[0].isupper())))
