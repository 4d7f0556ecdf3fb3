"""Whether a text that a model wrote tells what is being forgotten, and the text without it; pure.

A summary tells in words of its own, so words are compared, not letters: a sentence goes when it holds two thirds of
what makes up the statement or a quote behind it. Too much rather than too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import ceil

from webapp.retrieval.text import stems, words

SHARE = 2 / 3
NOTHING_LEFT = "Some of what was said here has been forgotten."
_SENTENCES = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|(?<=[。！？])")
_ABOUT = frozenset(stems(words("user person assistant")))
"""What statements begin with, and says nothing."""

Terms = frozenset[str]


def terms_of(said: Iterable[str]) -> list[Terms]:
    """What makes up each of these statements; those of stop words alone are left out."""
    found = {frozenset(stems(words(text))) - _ABOUT for text in said}
    return sorted(found - {frozenset()}, key=sorted)


def retells(text: str, told: Sequence[Terms]) -> bool:
    """Whether a sentence says what one of the statements does."""
    if not any(_may_hold(text, terms) for terms in told):
        return False
    here = set(stems(words(text)))
    return any(len(terms & here) >= _enough(terms) for terms in told)


def without_retold(text: str, told: Sequence[Terms]) -> str:
    """A text without the sentences that retell; NOTHING_LEFT if that is all of it."""
    if not any(_may_hold(text, terms) for terms in told):
        return text
    lines = []
    for line in text.splitlines():
        sentences = _SENTENCES.split(line)
        kept = [sentence for sentence in sentences if not retells(sentence, told)]
        if len(kept) == len(sentences):
            lines.append(line)
        elif kept := [sentence for sentence in kept if sentence.strip(" -*•")]:
            lines.append(" ".join(kept))
    return "\n".join(lines) if any(line.strip() for line in lines) else NOTHING_LEFT


def _enough(terms: Terms) -> int:
    return ceil(SHARE * len(terms))


def _may_hold(text: str, terms: Terms) -> bool:
    """A cheap look first: stems differ from their words in the ending, and other scripts are not folded here."""
    folded = text.lower()
    return not folded.isascii() or sum(term[:3] in folded for term in terms) >= _enough(terms)
