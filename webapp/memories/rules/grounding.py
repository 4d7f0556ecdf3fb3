"""Grounding of a statement's names, numbers and values in what the user wrote; pure.

Words are compared without case, marks and endings: "Kraków" stands in "w Krakowie".
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache

from webapp.i18n.calendars import own_calendars
from webapp.i18n.dates import is_dated
from webapp.text.canonical import fold, signs
from webapp.text.words import PAIRED, fold_marks, plain_form, terms_of, words

_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_SEAM = re.compile(f"(?<=[{PAIRED}])(?=[a-z0-9])|(?<=[a-z0-9])(?=[{PAIRED}])")
"""Where scripts meet in one run: "在Google做", "Google에서"."""
_THOUSANDS = re.compile(r"(?<=\d)[.,'\s](?=\d{3}(?!\d))")
_MIN_PREFIX = 3
_MIN_WORD_LETTERS = 4
_MAJORITY = 2 / 3
_FULL_STOPS = " .!。！।"
_SPACED = ("LATIN", "GREEK", "CYRILLIC", "ARMENIAN", "GEORGIAN", "DIGIT")


def names_and_numbers_of(statement: str) -> frozenset[str]:
    """Return the folded names (capitals, not first words), numbers and symbols of a statement."""
    return frozenset({_THOUSANDS.sub("", _fold(word)) for word in _names_and_numbers(statement)}) | signs(statement)


def keeps_names_and_numbers(rewording: str, texts: Iterable[str], moment: datetime | None = None) -> bool:
    """Return whether a rewording's names and numbers are in the user's text, or a month or year close to `moment`."""
    known_words = _TextWords(texts)
    new_words = [word for word in _names_and_numbers(rewording) if not known_words.has(word)]
    return not new_words or (moment is not None and is_dated(moment) and _are_near(new_words, moment))


def is_grounded(value: str | None, text: str) -> bool:
    """Return whether a value stands in a text."""
    if signs(value or ""):  # "C++" does not stand in "C"
        return fold(value or "") in fold(text)
    return bool(_PART.findall(value or "")) and _TextWords([text]).has(value or "")


def value_after(content: str, before: str, value: str) -> str | None:
    """Return a fact's value in changed words: the one they hold, or what stands in its place; None in doubt."""
    if is_grounded(value, content):
        return value
    head, found, tail = before.rstrip(_FULL_STOPS).partition(value)
    content = content.rstrip(_FULL_STOPS)
    if not (found and content.startswith(head) and content.endswith(tail)):
        return None
    return content[len(head) : len(content) - len(tail)].strip() or None


def is_others_words(statement: str, texts: Iterable[str], other_spans: Iterable[str]) -> bool:
    """Return whether the user's texts have none of a statement's telling words, and one text of others has most."""
    significant = set(_significant_words(statement))
    known_words = _TextWords(texts)
    if not significant or any(known_words.has(word) for word in significant):
        return False
    return any(
        sum(_TextWords([text]).has(word) for word in significant) >= _MAJORITY * len(significant)
        for text in other_spans
    )


def is_mostly_grounded(statement: str, texts: Iterable[str]) -> bool:
    """Return whether a statement says something and at least half of the words that do stand in some texts."""
    significant, known_words = _significant_words(statement), _TextWords(texts)
    return bool(significant) and 2 * sum(known_words.has(word) for word in significant) >= len(significant)


def distinctive_words(statement: str) -> frozenset[str]:
    """Return the words of a statement that say something, and its names and numbers."""
    return frozenset({*_significant_words(statement), *map(fold_marks, _names_and_numbers(statement))})


def words_found(statement: str, text: str) -> frozenset[str]:
    """Return the telling words of a statement that stand in a text."""
    known_words = _TextWords([text])
    return frozenset(word for word in distinctive_words(statement) if known_words.has(word))


def adds_from(statement: str, texts: Iterable[str], foreign: Sequence[str]) -> bool:
    """Return whether a statement adds to the user's words something that stands in foreign ones, translated or encoded
    too: then it has none of the user's."""
    known_words, foreign_words = _TextWords(texts), _TextWords(foreign)
    said = distinctive_words(statement)
    new_words = {word for word in said if not known_words.has(word)}
    return bool(foreign and said) and (new_words == said or any(map(foreign_words.has, new_words)))


def states_what_is_asked(content: str, quote: str, before: str) -> bool:
    """Return whether a quote runs into a question, from which its statement comes and not from what stands before.

    One word before it ("Hello!") is not what a statement comes from, unless that has the word.
    """
    said, told = set(terms_of(content)), set(terms_of(before))
    runs_on = not set(words(quote)) <= set(words(before))
    asks = not said.isdisjoint(set(terms_of(quote)) - told)
    return runs_on and said.isdisjoint(told) and (asks or len(words(before)) == 1)


def _are_near(new_words: list[str], moment: datetime) -> bool:
    """Return whether words name nothing but a month, or days in it, of the years around a moment."""
    years = {str(year) for year in range(moment.year - 1, moment.year + 2)}
    numbers = [number for word in new_words for number in re.findall(r"\d+", word)]
    names = [fold_marks(word) for word in new_words if not any(char.isdigit() for char in word)]
    days = [number for number in numbers if number not in years]
    has_year = len(days) < len(numbers)
    return all(name in month_names() for name in names) and all(has_year and int(day) <= 31 for day in days)


@cache
def month_names() -> frozenset[str]:
    """Return the folded names of months in every language of Babel."""
    months = set[str]()
    for _language, calendar in own_calendars():
        forms = [form.get("wide") for form in calendar.get("months", {}).values() if isinstance(form, dict)]
        wide = [names for names in forms if isinstance(names, dict)]
        months |= {fold_marks(name) for names in wide for name in names.values() if name.isalpha()}
    return frozenset(months)


class _TextWords:
    """The words of some texts, to look others up in."""

    def __init__(self, texts: Iterable[str]) -> None:
        plain = _fold(" ".join(texts))
        self._text = f"{plain} {_THOUSANDS.sub('', plain)}"
        self._words = set(_PART.findall(self._text))

    def has(self, phrase: str) -> bool:
        return all(self._has_word(part) for part in _PART.findall(_fold(phrase)))

    def _has_word(self, word: str) -> bool:
        if word in self._words:
            return True
        if not unicodedata.name(word[0], "").startswith(_SPACED):
            return word in self._text
        if any(char.isdigit() for char in word):
            # "5 mg" and "5mg", but not the 5 of 45.
            return re.search(rf"(?<!\d){re.escape(word)}(?!\d)", self._text) is not None
        need = max(_MIN_PREFIX, -(-len(word) * 2 // 3))
        return any(
            other[:need] == word[:need] or (len(other) >= _MIN_PREFIX and word.startswith(other))
            for other in self._words
            if other[:_MIN_PREFIX] == word[:_MIN_PREFIX]
        )


def _fold(text: str) -> str:
    return _SEAM.sub(" ", plain_form(fold_marks(text)))


def _names_and_numbers(statement: str) -> Iterator[str]:
    for match in _WORD.finditer(statement):
        word = re.split("['’]", match.group(), maxsplit=1)[0]
        if any(char.isdigit() for char in word):
            spaced = unicodedata.name(word[0], "").startswith(_SPACED)
            yield from [word] if spaced else re.findall(r"\d+", word)
        elif match.start() > 0 and word[0].isupper() and len(word) > 1:
            yield word


def _significant_words(statement: str) -> list[str]:
    """Return the words that say something: numbers, words of four or more letters, pairs of characters elsewhere."""
    return [word for word in words(statement) if word.isdigit() or len(word) >= _MIN_WORD_LETTERS or not word.isascii()]
