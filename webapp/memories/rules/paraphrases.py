"""Detection of a model's text that retells what is being forgotten, and the text without it; pure.

A summary tells things in its own words, so words are compared, not letters: a sentence is removed if it has two thirds
of the words of the statement or a quote behind it, or of their weight, in which "must" and "never" count nothing and
verbs found in every second sentence count half. Better too much than too little.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import ceil

from webapp.text.sentences import sentence_texts
from webapp.text.words import stems, words

SHARE = 2 / 3
LEAST = 2
"""The fewest words for which a sentence may be removed by weight alone."""
NOTHING_LEFT = "Some of what was said here has been forgotten."
ROOT = 6
"""The letters of a stem by which "allergic" and "allergy" are one, in statements of several words."""
_ABOUT = frozenset(stems(words("user person assistant")))
"""What statements begin with, which says nothing."""


def _roots(terms: Iterable[str]) -> frozenset[str]:
    return frozenset(term[:ROOT] for term in terms)


_NO_PART = _roots(stems(words("must never always may might need needs cannot should shall would could please")))
_HALF = _roots(
    stems(
        words(
            "eat eats drink drinks like likes love loves hate hates live lives work works want wants prefer "
            "prefers go goes take takes get gets keep keeps avoid avoids essen isst trinkt mag lebt wohnt arbeitet "
            "mange boit aime habite come bebe vive trabaja"
        )
    )
)
_FEW = 20


def _weight(term: str) -> int:
    return 0 if term in _NO_PART else 1 if term in _HALF else 2


class ForgottenStatements:
    """The statements being forgotten: the stem that makes up each statement, or the roots of several; statements of
    stop words alone are left out.
    """

    def __init__(self, wordings: Iterable[str]) -> None:
        stem_sets = {frozenset(stems(words(text))) - _ABOUT for text in wordings} - {frozenset()}
        stem_sets = {terms if len(_roots(terms)) == 1 else _roots(terms) for terms in stem_sets}
        self._needed = [(terms, ceil(SHARE * len(terms))) for terms in stem_sets]
        self._weights = [ceil(SHARE * sum(map(_weight, terms))) for terms in stem_sets]
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, (terms, _) in enumerate(self._needed):
            for term in terms:
                self._with[term].append(number)

    def is_retold_in(self, sentence: str) -> bool:
        """Return whether a sentence says what one of the statements says."""
        if not self.may_be_in(sentence):
            return False
        counts: Counter[int] = Counter()
        weights: Counter[int] = Counter()
        found = frozenset(stems(words(sentence)))
        for term in found | _roots(found):
            for number in self._with.get(term, ()):
                counts[number] += 1
                weights[number] += _weight(term)
        return any(
            count >= self._needed[number][1] or (count >= LEAST and weights[number] >= self._weights[number])
            for number, count in counts.items()
        )

    def may_be_in(self, text: str) -> bool:
        """A cheap check first: stems differ from words in their endings, and other scripts are not folded here."""
        if len(self._needed) > _FEW:
            return True
        lowercase = text.lower()
        return not lowercase.isascii() or any(
            sum(term[:3] in lowercase for term in terms) >= min(needed, LEAST) for terms, needed in self._needed
        )


def without_retold(text: str, statements: ForgottenStatements, mark: str = "") -> str:
    """Return a text without the sentences that retell, replaced by `mark`; NOTHING_LEFT if nothing else remains."""
    if not statements.may_be_in(text):
        return text
    lines, is_changed = [], False
    for line in text.splitlines():
        sentences = sentence_texts(line)
        parts = [mark if statements.is_retold_in(sentence) else sentence for sentence in sentences]
        if parts == sentences:
            lines.append(line)
            continue
        is_changed = True
        if parts := [sentence for sentence in parts if sentence.strip(" -*•")]:
            lines.append(line[: len(line) - len(line.lstrip())] + " ".join(parts))
    if not is_changed:
        return text
    return "\n".join(lines) if any(line.strip() for line in lines) else NOTHING_LEFT
