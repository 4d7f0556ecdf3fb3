"""Whether somebody's own words support a statement, or others' do, and whether those words name a memory. Pure.

Quoting a word or two of the user's is not enough: otherwise the author of a document could have the rest remembered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from Stemmer import Stemmer

from webapp.text.words import stem

LETTERS = 4
"""Shorter words mean little, unless they are names or numbers."""
OWN_SHARE = 0.5
"""The share of a statement's telling words that must be the user's; the rest may be how it is phrased."""

ECHOED = 2
"""So many telling words that are not the user's but others' are no way of putting it."""

_WRITTEN = (
    "user users user's person their they them there that this these those with from have been about would could should "
    "which what when where will does into onto over under than then also very much more most some always never every "
    "likes like loves love hates hate dislikes dislike prefers prefer wants want uses using avoids avoid enjoys enjoy "
    "lives works named called name keeps since currently please remember forget memory memories know known said"
)
_PUT_BY_WRITER = frozenset(_WRITTEN.split())
_SMALL = (
    "user users the a an is are was were has have had of to in on at and or not no with for from it that this my me i "
    "s his her their they he she likes like person since please you your about what which do don t all"
)


def is_carried(statement: str, own_words: Iterable[str]) -> bool:
    """Whether these words say what a statement tells: half of it, and all of its names and numbers."""
    said = {form for text in own_words for word in _words(text) for form in _forms(word)}
    words = _words(statement)
    exact = [word for number, word in enumerate(words) if _is_exact(word, first=number == 0)]
    told = [word for word in words if word in exact or _is_telling(word)] or words
    if any(said.isdisjoint(_forms(word)) for word in exact):
        return False
    return sum(not said.isdisjoint(_forms(word)) for word in told) >= OWN_SHARE * len(told)


def is_echoed(statement: str, own_words: Iterable[str], others: Sequence[str]) -> bool:
    """Whether what a statement adds to these words comes from others: a document, a page, another member's memory."""
    said = {form for text in own_words for word in _words(text) for form in _forms(word)}
    added = {word.casefold() for word in _words(statement) if _is_telling(word) and said.isdisjoint(_forms(word))}
    if len(added) < ECHOED:
        return False
    begun = [re.compile(rf"(?<!\w){re.escape(word[: max(LETTERS, len(word) - 2)])}", re.IGNORECASE) for word in added]
    return sum(any(word.search(text) for text in others) for word in begun) >= ECHOED


def names_it(request: str, *parts: str | None) -> bool:
    """Whether a request names a memory, given by its statement, key and value: they share a significant word."""
    asked = {form for word in _words(request) for form in _forms(word)} - _LITTLE
    return any(not asked.isdisjoint(_forms(word)) for part in parts for word in _words(re.sub("[_/]", " ", part or "")))


def _is_exact(word: str, *, first: bool) -> bool:
    """A number, or a name: a capital that is not due to the beginning of a sentence."""
    return word.isdigit() or (word[0].isupper() and not first and word.casefold() not in _PUT_BY_WRITER)


def _is_telling(word: str) -> bool:
    return word.casefold() not in _PUT_BY_WRITER and (len(word) >= LETTERS or not word.isascii())


def _forms(word: str) -> set[str]:
    """The forms of a word: its stems or, in scripts without spaces, its pairs of characters."""
    folded = word.casefold()
    if word.isascii():
        return {stem(folded), Stemmer("english", 0).stemWord(folded)}
    return {folded} | {folded[at : at + 2] for at in range(len(folded) - 1) if ord(folded[at]) > 0x2E7F}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text))


_LITTLE = frozenset(form for word in _SMALL.split() for form in _forms(word))
