"""Whether a text that a model wrote tells what is being forgotten, and the text without it; pure.

A summary tells in words of its own, so words are compared, not letters: a sentence goes when it holds two thirds of
what makes up the statement or a quote behind it. Too much rather than too little.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from math import ceil

from webapp.text.words import stems, words

SHARE = 2 / 3
NOTHING_LEFT = "Some of what was said here has been forgotten."
_SENTENCES = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|(?<=[。！？])")
_ABOUT = frozenset(stems(words("user person assistant")))
"""What statements begin with, and says nothing."""

_FEW = 20


class Told:
    """What is being forgotten: for each statement the stems that make it up, those of stop words alone left out."""

    def __init__(self, said: Iterable[str]) -> None:
        found = {frozenset(stems(words(text))) - _ABOUT for text in said} - {frozenset()}
        self._needed = [(terms, ceil(SHARE * len(terms))) for terms in found]
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, (terms, _) in enumerate(self._needed):
            for term in terms:
                self._with[term].append(number)

    def is_retold_in(self, sentence: str) -> bool:
        """Whether a sentence says what one of the statements does."""
        if not self.may_be_in(sentence):
            return False
        held = Counter(number for term in set(stems(words(sentence))) for number in self._with.get(term, ()))
        return any(count >= self._needed[number][1] for number, count in held.items())

    def may_be_in(self, text: str) -> bool:
        """A cheap look first: stems differ from their words in the ending, and other scripts are not folded here."""
        if len(self._needed) > _FEW:
            return True
        folded = text.lower()
        return not folded.isascii() or any(
            sum(term[:3] in folded for term in terms) >= needed for terms, needed in self._needed
        )


def without_retold(text: str, told: Told, mark: str = "") -> str:
    """A text without the sentences that retell; NOTHING_LEFT if that is all of it. A `mark` stands in their place."""
    if not told.may_be_in(text):
        return text
    lines = []
    for line in text.splitlines():
        sentences = _SENTENCES.split(line)
        kept = [mark if told.is_retold_in(sentence) else sentence for sentence in sentences]
        if kept == sentences:
            lines.append(line)
        elif kept := [sentence for sentence in kept if sentence.strip(" -*•")]:
            lines.append(" ".join(kept))
    return "\n".join(lines) if any(line.strip() for line in lines) else NOTHING_LEFT
