"""Words of a text as search terms, in any language: normalised, stemmed, stop words left out."""

import calendar
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from pathlib import Path

from Stemmer import Stemmer

ENGLISH = "english"
_HANGUL, _KANA, _HAN = map(re.compile, ("[\uac00-\ud7af]", "[\u3040-\u30ff]", "[\u4e00-\u9fff]"))

# English, whatever the machine speaks: Python takes on no locale by itself.
MONTHS = tuple(name.lower() for name in calendar.month_name[1:])
WEEKDAYS = tuple(name.lower() for name in calendar.day_name)
_SHORT = {name[:length]: name for name in (*MONTHS, *WEEKDAYS) for length in (3, 4)}
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)(?!\d)")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_QUESTION_END = re.compile(r"[?？؟][\s\"')*]*(?:\[[^\[\]]*\]\s*)?$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003134f"
)
"""Scripts written without spaces, and Hangul, whose endings are attached to words: indexed as pairs of characters."""
_PAIRED = re.compile(f"[{PAIRED}]+")
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts without spaces, in which a comma has none either."""


_LATIN_MARKS = "\u0300-\u036f"
_HEBREW_MARKS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_ARABIC_MARKS = "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
IGNORED_MARKS = f"\u00ad{_LATIN_MARKS}{_HEBREW_MARKS}{_ARABIC_MARKS}"
"""Characters that may or may not be written: soft hyphens, accents, the vowel marks of Hebrew and Arabic, tatweel."""
_IGNORED = re.compile(f"[{IGNORED_MARKS}]")
INVISIBLE = "\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
"""Characters that take no place, but for the joiner of emoji, which makes another of them."""
VARIANTS = "\ufe0e\ufe0f"
"""Marks that ask for a character as text or as a picture."""
_OPTIONAL = re.compile(f"[{INVISIBLE}{VARIANTS}{_HEBREW_MARKS}{_ARABIC_MARKS}]")
_DIGIT = re.compile(r"\d")
_VARIANTS = str.maketrans({"ı": "i", "ي": "ی", "ك": "ک", "ʼ": "'", "\u0326": "\u0327"})
"""Letters that keyboards write in two ways: of Turkish, Persian, Ukrainian and Romanian."""


_MAX_QUERY = 4_000
_LATER_WORD = re.compile(r"(?<=[\w,;:] )[^\W\d_][\w'’-]+")


def character_ranges(codes: range, is_member: Callable[[str], bool]) -> str:
    """Return the characters of some codes that meet a condition, as ranges for a pattern's brackets."""
    ranges: list[list[int]] = []
    for code in codes:
        if is_member(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)


@cache
def _word_pattern() -> re.Pattern[str]:
    """Match runs of word characters with the combining marks that `\\w` leaves out, and inner apostrophes."""
    marks = character_ranges(range(0x300, 0x11000), lambda char: unicodedata.category(char) in ("Mn", "Mc"))
    return re.compile(rf"[^\W_][^\W_{marks}]*(?:[^\W_]|[{marks}])*(?:'[^\W_]+)?{_SIGNED}|{_PICTURE}")


_SIGNED = r"(?:(?<=[a-z])(?:\+\+|#)(?![a-z0-9]))?"
"""What belongs to a word as a letter does: "C++", "C#"."""
_PICTURE = "[\u2600-\u27bf\U0001f000-\U0001faff]"
_ASCII_WORD = re.compile(rf"[a-z0-9]+(?:'[a-z]+)?{_SIGNED}")


def _spell_date(match: re.Match[str]) -> str:
    year, month, day = (int(part) for part in match.groups())
    return f" {day} {MONTHS[month - 1]} {year} " if 1 <= month <= 12 and 1 <= day <= 31 else match.group()


def _split_into_pairs(match: re.Match[str]) -> str:
    run = match.group()
    return f" {' '.join(run[i : i + 2] for i in range(max(1, len(run) - 1)))} "


def is_paired(word: str) -> bool:
    """Return whether a word is of a script that is indexed as pairs of characters."""
    return _PAIRED.fullmatch(word) is not None


def fold_marks(text: str) -> str:
    """Return a text with case, accents and width folded."""
    if text.isascii():
        return text.lower()
    # Compatibility forms and Latin accents are folded; composing again keeps Hangul and kana whole.
    text = unicodedata.normalize("NFKD", text.replace("’", "'")).casefold()
    # The Cyrillic short i is a letter of its own that endings depend on.
    text = text.replace("\u0438\u0306", "й")
    return unicodedata.normalize("NFC", _IGNORED.sub("", text))


STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(map(fold_marks, stop_words))
    for language, stop_words in json.loads(Path(__file__).with_name("stop_words.json").read_text("utf-8")).items()
}
"""The commonest words by language (Snowball's lists, shortened), folded: not indexed."""
_LANGUAGES_OF_STOP_WORD: dict[str, tuple[str, ...]] = {
    word: tuple(language for language, stop_words in STOP_WORDS.items() if word in stop_words)
    for word in frozenset().union(*STOP_WORDS.values())
}
_SCRIPTS = (
    ("\u0400", "\u052f", "russian"),
    ("\u0370", "\u03ff", "greek"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0b80", "\u0bff", "tamil"),
)
_LATIN = ("german", "french", "spanish", "portuguese", "italian", "dutch", "turkish")


def language_of(folded_words: Sequence[str]) -> str:
    """Return the language of folded words: the script's, or that of the most common words; English if in doubt."""
    first = max(folded_words, key=len, default="")[:1]
    if first > "\u02ff":
        return next((language for low, high, language in _SCRIPTS if low <= first <= high), ENGLISH)
    votes = Counter(language for word in folded_words[:200] for language in _LANGUAGES_OF_STOP_WORD.get(word, ()))
    best = max(_LATIN, key=lambda language: votes[language])
    return best if votes[best] > votes[ENGLISH] else ENGLISH


def plain_form(text: str) -> str:
    """Return a folded text without what may be left out in writing, in one form of digits and of letters."""
    if text.isascii():
        return text
    return _DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), _OPTIONAL.sub("", text).translate(_VARIANTS))


def search_form(text: str) -> str:
    """Return the form of a text in which words are looked for within it: folded, syllables of Hangul in their parts."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFD", fold_marks(text))


def words(text: str) -> list[str]:
    """Split a text into folded words, in order: case, accents and width folded, ISO dates in words, CJK in pairs."""
    text, pattern = fold_marks(text), _ASCII_WORD
    if not text.isascii():
        text, pattern = _PAIRED.sub(_split_into_pairs, text), _word_pattern()
        if text.isascii():
            pattern = _ASCII_WORD
    if any(map(text.__contains__, "0123456789")):
        text = _ISO_DATE.sub(_spell_date, text) if "-" in text else text
        text = _THOUSANDS.sub("", text) if "," in text else text
        text = _ORDINAL.sub(r"\1", text)
    return pattern.findall(text)


def term_of(stemmer: Callable[[str], str], word: str, language: str = ENGLISH) -> str:
    """Return the term of a folded word of a language, "" if it is a stop word."""
    stop_words = STOP_WORDS.get(language, STOP_WORDS[ENGLISH])
    if word in stop_words:
        return ""
    before, apostrophe, after = word.partition("'")
    if apostrophe:
        # "Anna's" and "can't" lose their endings, "l'année" its article.
        word = after if len(before) <= 2 and len(after) > 2 else before
        if word in stop_words:
            return ""
    if language == ENGLISH:
        return stemmer(word) if word.isascii() else word
    # Numbers and words of other scripts are the same in every language; the ends of pairs are not endings.
    return stemmer(word) if len(word) > 2 and not word.isdigit() else word


def stems(folded: Sequence[str], *, keep_stop_words: bool = False) -> list[str]:
    """Return the terms of folded words; stop words are kept as "" in their places, or else left out."""
    terms = [_english_term(word[:64]) for word in folded]
    return terms if keep_stop_words else [term for term in terms if term]


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in order, without stop words."""
    return stems(words(text))


# A reply's search reads nine hundred words of its results, mostly the same few thousand from turn to turn.
@lru_cache(maxsize=16_384)
def _english_term(word: str) -> str:
    return term_of(Stemmer("english", 0).stemWord, word)


@dataclass(frozen=True, slots=True)
class DateWords:
    """The dates in a query; tuples are empty if it says nothing."""

    years: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()


def date_words(query: Sequence[str]) -> DateWords:
    """Return years, months (1–12), days and weekdays (Monday 0) in folded query words.

    A bare number is a day only beside a month, a short name a month or day only beside a number.
    """
    names = [
        _SHORT[word] if word in _SHORT and any(other[:1].isdigit() for other in neighbour) else word
        for neighbour, word in zip(_neighbours(query), query, strict=True)
    ]
    months = tuple(MONTHS.index(name) + 1 for name in names if name in MONTHS)
    days = [
        int(name)
        for neighbour, name in zip(_neighbours(names), names, strict=True)
        if name.isascii() and name.isdigit() and len(name) <= 2 and 1 <= int(name) <= 31 and neighbour & set(MONTHS)
    ]
    years = [
        int(name) for name in names if len(name) == 4 and name.isascii() and name.isdigit() and "1900" <= name < "2100"
    ]
    return DateWords(
        tuple(years), months, tuple(days), tuple(WEEKDAYS.index(name) for name in names if name in WEEKDAYS)
    )


def _neighbours(names: Sequence[str]) -> list[set[str]]:
    return [set(names[max(0, i - 2) : i + 3]) for i in range(len(names))]


def date_columns(day: date) -> tuple[int, int, int, int]:
    """Return a date as the columns of a date field: year, month, day, weekday."""
    return day.year, day.month, day.day, day.weekday()


def asks_something(text: str) -> bool:
    """Return whether a text ends by asking something, an appended note in brackets aside."""
    return _QUESTION_END.search(text[-400:]) is not None


def names_in(query: str) -> frozenset[str]:
    """Return the capitalised words of a query that do not begin a sentence, folded."""
    return frozenset(words(" ".join(word for word in _LATER_WORD.findall(query[:_MAX_QUERY]) if word[0].isupper())))


def language_name(texts: Iterable[str]) -> str:
    """Return the English name of the language that most of some texts is in: "German"; English if in doubt."""
    text = " ".join(texts)
    least = len(text) // 4  # names and quotes in it may be in another script
    if len(_HANGUL.findall(text)) > least:
        return "Korean"
    if len(_KANA.findall(text)) + len(_HAN.findall(text)) > least:
        return "Japanese" if _KANA.search(text) else "Chinese"
    return language_of(words(text)).capitalize()
