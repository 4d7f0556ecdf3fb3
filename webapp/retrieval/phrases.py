"""Words that are next to each other both in a question and in what was found: "test coverage", "peer review"; pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from webapp.text.words import fold_marks, stems, words

_REST_OF_WORD = re.compile(r"\w*[^\w]+")
_ONE_WORD = re.compile(r"\w+[^\w]+")
_MOST = 24
"""The most pairs of a question that are searched for."""


def phrases_of(question: str) -> Callable[[str], float]:
    """A function that returns how many of a question's neighbouring words a text has side by side too (0 to below 1).

    In the question's order, in any form, with at most one word between them; stop words of the question are left out.
    """
    terms = stems(words(question[:2_000]))
    pairs = list(dict.fromkeys(zip(terms, terms[1:], strict=False)))[:_MOST]
    paired = {term for pair in pairs for term in pair}

    def share(text: str) -> float:
        whole = fold_marks(text)
        # In most languages a stem is how a word begins.
        there = {term for term in paired if term in whole}
        return sum(one in there and two in there and _side_by_side(whole, one, two) for one, two in pairs) / len(terms)

    return share if pairs else lambda text: 0.0


def _side_by_side(text: str, one: str, two: str) -> bool:
    at = text.find(one)
    while at >= 0:
        if (at == 0 or not text[at - 1].isalnum()) and (gap := _REST_OF_WORD.match(text, at + len(one))):
            if text.startswith(two, gap.end()):
                return True
            between = _ONE_WORD.match(text, gap.end())
            if between and text.startswith(two, between.end()):
                return True
        at = text.find(one, at + 1)
    return False
