"""Words as numbers: those with the same stem share one, in every language."""

import sys
import unicodedata
from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer

from webapp.text.words import ENGLISH, is_paired, language_of, search_form, term_of, words

STOP = -1
"""Term number of a word that is not indexed."""
_MIN_COMPOUND_PART = 5
"""A shorter word stands in too many by chance."""
MAX_COMPOUNDS = 100
MAX_SIMILAR = 24
"""The most terms that an unfinished or an unknown word stands for."""


class _Terms(dict[str, int]):
    """Folded word of one language → term number; unknown ones are added to `terms` on look-up."""

    def __init__(self, language: str, terms: dict[str, int]) -> None:
        super().__init__()
        self.language = language
        self._terms = terms
        self._stem = Stemmer(language, 0).stemWord

    def term(self, word: str) -> str:
        """Return what the word is indexed as, "" if it is not indexed."""
        return term_of(self._stem, word[:64], self.language)

    def __missing__(self, word: str) -> int:
        """Number a word seen for the first time."""
        term = self.term(word)
        number = self._terms.setdefault(term, len(self._terms)) if term else STOP
        self[word] = number
        return number


class Vocabulary:
    """Folded words → term numbers, by the language of their text; words with the same stem share a number."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._words: dict[str, _Terms] = {}
        self._lines, self._listed_of = "\n", dict[str, int]()

    @property
    def size(self) -> int:
        return len(self._terms)

    @property
    def nbytes(self) -> int:
        """Return the bytes held, approximately."""
        words_size = sum(len(terms) for terms in self._words.values())
        tables = sum(map(sys.getsizeof, self._words.values()))
        return tables + sys.getsizeof(self._terms) + sys.getsizeof(self._lines) + 90 * (words_size + len(self._terms))

    def number(self, texts: Iterable[str]) -> list[NDArray[np.int32]]:
        """Return the term numbers of each text, stop words left out."""
        numbered = []
        for text in texts:
            tokens = words(text)
            look_up = self._terms_of(language_of(tokens)).__getitem__
            row = np.fromiter(map(look_up, tokens), dtype=np.int32)
            numbered.append(row[row >= 0])
        return numbered

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Forget the terms (by number) that are not used, and renumber the others in the same order."""
        numbers = np.cumsum(mask) - 1
        terms = {term: int(numbers[old]) for term, old in self._terms.items() if mask[old]}
        self._terms.clear()
        self._terms.update(terms)
        for language_terms in self._words.values():
            renumbered = {
                word: old if old == STOP else int(numbers[old])
                for word, old in language_terms.items()
                if old == STOP or mask[old]
            }
            language_terms.clear()
            language_terms.update(renumbered)
        self._lines, self._listed_of = "\n", {}

    def find(self, word: str, language: str = ENGLISH) -> list[int] | None:
        """Return the numbers of a query word's terms in every language seen so far; empty for a stop word of the
        query's `language`, None if no text has it. Adds nothing."""
        if not self._terms_of(language).term(word):
            return []
        terms = {language_terms.term(word) for language_terms in self._words.values()}
        return sorted({self._terms[term] for term in terms if term in self._terms}) or None

    def starting_with(self, prefix: str) -> list[int]:
        """Return the numbers of terms that have a word starting with a prefix, shortest words first."""
        matching = sorted(
            (
                (word, number)
                for terms in self._words.values()
                for word, number in terms.items()
                if word.startswith(prefix)
            ),
            key=lambda pair: len(pair[0]),
        )
        return list(dict.fromkeys(number for _, number in matching if number != STOP))[:MAX_SIMILAR]

    def similar_terms(self, word: str, numbers: list[int] | None, *, unfinished: bool) -> list[int]:
        """Return the numbers of other terms that a query word, for which `find` returned `numbers`, stands for: those
        that it begins if it is unfinished, those that contain it if it has none or is one character of a pair."""
        if unfinished:
            return self.starting_with(word)
        return self.find_compounds(word) if numbers is None or (len(word) == 1 and is_paired(word)) else []

    def find_compounds(self, word: str) -> list[int]:
        """Return the numbers of terms with an unknown word at an end, without spaces anywhere, shortest first."""
        form = search_form(word)
        if is_paired(word):
            marks: tuple[str, ...] = (form,)
        elif len(form) >= _MIN_COMPOUND_PART and form.isalpha():
            marks = (f"{form}\n", f"\n{form}")
        else:
            return []
        listing, compounds = self._word_list(), set[str]()
        for mark in marks:
            index = listing.find(mark)
            while index >= 0 and len(compounds) < MAX_COMPOUNDS:
                end = listing.find("\n", index + 1)
                compounds.add(listing[listing.rfind("\n", 0, index + 1) + 1 : end])
                index = listing.find(mark, end)
        numbers = [
            terms[compound]
            for compound in sorted((unicodedata.normalize("NFC", entry) for entry in compounds), key=len)
            for terms in self._words.values()
            if compound in terms
        ]
        return [number for number in dict.fromkeys(numbers) if number != STOP][:MAX_SIMILAR]

    def _word_list(self) -> str:
        """Return all words in their search form, each on a line, with a line's end before the first and after the last;
        those that are new since the last time are added."""
        for language, terms in self._words.items():
            new = list(islice(terms, self._listed_of.get(language, 0), None))
            self._listed_of[language] = len(terms)
            if new:
                self._lines += unicodedata.normalize("NFD", "\n".join(new)) + "\n"
        return self._lines

    def _terms_of(self, language: str) -> _Terms:
        terms = self._words.get(language)
        if terms is None:
            terms = self._words[language] = _Terms(language, self._terms)
        return terms
