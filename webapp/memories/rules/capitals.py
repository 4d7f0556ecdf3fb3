"""Capitalised words of many texts, in every script that has capitals; pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache

from webapp.text.words import PAIRED, character_ranges

_SENTENCE_ENDS = frozenset(".!?…؟।۔")
_LETTERS = rf"[^\W_{PAIRED}]"
_WORD = re.compile(rf"{_LETTERS}+(?:[-'’]{_LETTERS}+)*")

Runs = dict[tuple[bool, str], list[int]]
"""Capitalised words in a row, each with whether they begin a sentence, and the numbers of the texts they stand in."""


def capital_runs(texts: Sequence[str]) -> Runs:
    """Return the runs of capitalised words; a text that is all capitals has none."""
    runs: Runs = defaultdict(list)
    find = _capitalised_pattern().finditer
    for number, text in enumerate(texts):
        if not text.isupper():
            for match in find(text):
                start = match.start()
                starts_sentence = start < 2 or (not text[start - 2].isalnum() and _begins_sentence(text, start))
                runs[starts_sentence, match.group()].append(number)
    return runs


def _begins_sentence(text: str, index: int) -> bool:
    """Return whether a sentence begins at a place: nothing stands before, or the end of one."""
    for char in reversed(text[:index]):
        if char in _SENTENCE_ENDS:
            return True
        if char.isalnum():
            return False
    return True


@cache
def _capitalised_pattern() -> re.Pattern[str]:
    """Match capitalised words with a space between them, or the full stop of a title or an initial: "Dr. Weber"."""
    capital = f"[{character_ranges(range(0x41, 0x10000), lambda char: char.isupper() or char.istitle())}]"
    word = rf"{capital}{_LETTERS}*(?:[-'’]{_LETTERS}+)*"
    titles = "|".join(rf"(?<=(?<!\w){capital}{_LETTERS * length})\. " for length in range(3))
    return re.compile(rf"(?<!{_LETTERS})[a-z]?{word}(?:(?: |{titles}){word})*")


def parts_of(run: str, starts_sentence: bool) -> list[tuple[bool, list[str]]]:
    """Return the words of a run without what is attached to them, parted where that tells that a name ends."""
    parts, words = list[tuple[bool, list[str]]](), list[str]()
    for token in run.split():
        word = token.removesuffix(".")
        name = _core(word)
        is_initial = len(name) == 1 and word != token
        if len(name) > 1 or is_initial:
            words.append(name)
        ends_sentence = word != token and len(name) > 1 and name.isupper()  # "GP.", unlike "Dr."
        if name != word or (len(name) < 2 and not is_initial) or ends_sentence:
            parts.append((starts_sentence, words))
            words, starts_sentence = [], ends_sentence
    parts.append((starts_sentence, words))
    return [(starts_sentence, words) for starts_sentence, words in parts if any(len(word) > 1 for word in words)]


def _core(word: str) -> str:
    """Return a word without what is attached: "Anna" of "Anna's", "Porto" of "Porto-based"."""
    if word.isalnum():
        return word
    before, _, after = word.replace("’", "'").rpartition("'")
    word = word if after.lower() != after else before
    before, _, after = word.partition("-")
    return word if after.lower() != after else before


def count_small(texts: Sequence[str]) -> Counter[str]:
    """Count the words that are written without capitals."""
    tokens = Counter(" ".join(texts).split())
    small = Counter[str]()
    for token, count in tokens.items():
        for word in _WORD.findall(token):
            if word.lower() == word:
                small[word] += count
    return small
