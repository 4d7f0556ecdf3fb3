"""Conditions on the words in a column, alike on every database: case, accents, vowel marks and soft hyphens aside.

SQLite asks Python. Where a MySQL collation folds too little (Hebrew and Arabic marks, Hangul's open syllables) a
pattern does; where too much (old ones above U+FFFF), characters are compared byte by byte.
"""

import re
from typing import Any, cast

from sqlalchemy import ColumnElement, and_, collate, func

from webapp.db.base import db
from webapp.text.words import IGNORED_MARKS, search_form

_USUAL = {"\u00ad": "", "’": "'", "\u00a0": " "}
"""Signs that no collation folds, each with what is found like it."""
_MARKED = re.compile("[\u0590-\u06ff]")
_SYLLABLES = range(0xAC00, 0xD7A4)
_FINALS = 28
"""So many syllables begin alike: the first has no final consonant."""
_ASTRAL = re.compile("[\U00010000-\U0010ffff]+")


def contains_words(column: Any, words: str) -> ColumnElement[bool]:
    """Return the condition that a text column holds some words, one after the other as they are."""
    if db.engine.dialect.name == "sqlite":
        return func.contains_words(column, search_form(words)) == 1
    if _MARKED.search(words) or _ends_in_open_syllable(words):
        return cast("ColumnElement[bool]", column.regexp_match(_pattern(words)))
    text, plain = column, words
    for sign, usual in _USUAL.items():
        text, plain = func.replace(text, sign, usual), plain.replace(sign, usual)
    contains = text.contains(plain, autoescape=True)
    exact = [
        collate(column, "utf8mb4_bin").contains(run, autoescape=True) for run in dict.fromkeys(_ASTRAL.findall(words))
    ]
    return and_(contains, *exact)


def register(connection: Any) -> None:
    """Give a connection of SQLite's driver the function `contains_words(text, search_form)`."""
    connection.create_function("contains_words", 2, _contains, deterministic=True)


def _contains(text: str | None, form: str) -> bool:
    return text is not None and form in search_form(text)


def _pattern(words: str) -> str:
    """Return a regular expression for words: marks and soft hyphens may stand after each character."""
    between = f"[{IGNORED_MARKS}]*"
    bare = re.sub(between, "", words)
    return between.join(_character(char, is_last=index == len(bare) - 1) for index, char in enumerate(bare))


def _character(char: str, *, is_last: bool) -> str:
    if is_last and _ends_in_open_syllable(char):
        return f"[{char}-{chr(ord(char) + _FINALS - 1)}]"
    return re.escape(char)  # as PCRE (MariaDB) and ICU (MySQL) read it, too


def _ends_in_open_syllable(words: str) -> bool:
    """Return whether words end in a syllable of Hangul to which a final consonant may be added."""
    last = ord(words[-1]) if words else 0
    return last in _SYLLABLES and (last - _SYLLABLES.start) % _FINALS == 0
