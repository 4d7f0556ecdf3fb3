"""Detection of a model's text that retells what is being forgotten, and the text without it; pure.

A sentence goes that has two thirds of a statement's or quote's words, or all its telling ones: names, numbers, and the
longest. Better too much than too little.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import ceil

from webapp.text.sentences import sentence_texts
from webapp.text.words import stems, words

SHARE = 2 / 3
MIN_WORDS = 2
"""The fewest words that tell a statement apart."""
NOTHING_LEFT = "Some of what was said here has been forgotten."
ROOT = 6
"""The letters of a stem by which "allergic" and "allergy" are one, in statements of several words."""
_ABOUT = frozenset(stems(words("user person assistant")))
"""Whom our prompts have statements begin with."""
_PRECHECK_LIMIT = 20


def _roots(terms: Iterable[str]) -> frozenset[str]:
    return frozenset(term[:ROOT] for term in terms)


def _distinctive_roots(text: str, terms: frozenset[str]) -> frozenset[str]:
    """Return the roots of the words that tell a statement apart; empty if they are too few."""
    marked = " ".join(word for word in text.split() if word != word.lower() or any(map(str.isdigit, word)))
    named = terms.intersection(stems(words(marked)))
    telling = _roots([*named, *sorted(terms - named, key=lambda term: (-len(term), term))[:1]])
    return telling if named and len(telling) >= MIN_WORDS else frozenset()


class ForgottenStatements:
    """The statements being forgotten, by their one stem or their roots; those of stop words alone are left out."""

    def __init__(self, wordings: Iterable[str]) -> None:
        statements = set()
        for text in wordings:
            if terms := frozenset(stems(words(text))) - _ABOUT:
                roots = _roots(terms)
                statements.add((terms if len(roots) == 1 else roots, _distinctive_roots(text, terms)))
        self._statements = [(terms, ceil(SHARE * len(terms)), telling) for terms, telling in statements]
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, (terms, _, _) in enumerate(self._statements):
            for term in terms:
                self._with[term].append(number)

    def is_repeated_in(self, sentence: str) -> bool:
        """Return whether a sentence says what one of the statements says."""
        if not self.may_be_in(sentence):
            return False
        found = frozenset(stems(words(sentence)))
        found |= _roots(found)
        counts = Counter(number for term in found for number in self._with.get(term, ()))
        for number, count in counts.items():
            _, needed, telling = self._statements[number]
            if count >= needed or (telling and telling <= found):
                return True
        return False

    def may_be_in(self, text: str) -> bool:
        """A cheap check first: stems differ from words in their endings, and other scripts are not folded here."""
        if len(self._statements) > _PRECHECK_LIMIT:
            return True
        lowercase = text.lower()
        return not lowercase.isascii() or any(
            sum(term[:3] in lowercase for term in terms) >= min(needed, MIN_WORDS)
            for terms, needed, _ in self._statements
        )


def without_repeats(text: str, statements: ForgottenStatements, mark: str = "") -> str:
    """Return a text without the sentences that retell, replaced by `mark`; NOTHING_LEFT if nothing else remains."""
    if not statements.may_be_in(text):
        return text
    lines, is_changed = [], False
    for line in text.splitlines():
        sentences = sentence_texts(line)
        parts = [mark if statements.is_repeated_in(sentence) else sentence for sentence in sentences]
        if parts == sentences:
            lines.append(line)
            continue
        is_changed = True
        if parts := [sentence for sentence in parts if sentence.strip(" -*•")]:
            lines.append(line[: len(line) - len(line.lstrip())] + " ".join(parts))
    if not is_changed:
        return text
    return "\n".join(lines) if any(line.strip() for line in lines) else NOTHING_LEFT
