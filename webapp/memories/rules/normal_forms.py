"""Numbers and dates as people write them in words, so that "42" matches "forty-two"; pure."""

from __future__ import annotations

import re

_UNITS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_UNIT_NUMBERS = {word: number for number, word in enumerate(_UNITS.split(), 1)}
_TENS = {
    word: 10 * n
    for n, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_SMALL = (
    "eins|uno|um|een zwei|deux|dos|due|dois|twee drei|trois|tres|tre|três|drie vier|quatre|cuatro|quattro|quatro "
    "fünf|cinq|cinco|cinque|vijf sechs|seis|sei|zes sieben|sept|siete|sette|sete|zeven acht|huit|ocho|otto|oito "
    "neun|neuf|nueve|nove|negen zehn|dix|diez|dieci|dez|tien elf|onze|once|undici zwölf|douze|doce|dodici|doze|twaalf"
)
_ELSEWHERE = {word: number for number, group in enumerate(_SMALL.split(), 1) for word in group.split("|")}
_IN_WORDS = re.compile(rf"\b({'|'.join(_TENS)})(?:[\s-]({'|'.join(_UNITS.split()[:9])}))?\b|[^\W\d_]+", re.IGNORECASE)

_MONTHS = (
    "jan januar januari janvier enero gennaio janeiro january|feb februar februari février febrero febbraio fevereiro "
    "february|"
    "mar märz maart mars marzo março march|apr april avril abril aprile|mai mei mayo maggio maio may|"
    "jun juni juin junio giugno junho june|jul juli juillet julio luglio julho july|aug august augustus août agosto|"
    "sep sept september septembre septiembre settembre setembro|okt oct oktober octobre octubre ottobre outubro "
    "october|"
    "nov november novembre noviembre novembro|dez dec dezember december décembre diciembre dicembre dezembro"
)
_MONTH = {name: number for number, group in enumerate(_MONTHS.split("|"), 1) for name in group.split()}
_NAMED = re.compile(
    r"\b(\d{1,2})(?:\.|st|nd|rd|th|er|º|°)?\s+(?:of\s+|de\s+)?([^\W\d_]{3,})\.?(?:,?\s+(?:de\s+)?(\d{4}))?|"
    r"\b([^\W\d_]{3,})\.?\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4}))?"
)
_FIGURES = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b|\b(\d{1,2})[./-](\d{1,2})[./-](\d{4})?")
Day = tuple[int, int]


def numerals(text: str) -> set[str]:
    """The numbers that a text has in words, as figures: up to ninety-nine in English, up to twelve in others."""
    found = set()
    for match in _IN_WORDS.finditer(text.casefold()):
        tens, unit = match.group(1), match.group(2)
        number = (_TENS[tens] + _UNIT_NUMBERS.get(unit or "", 0)) if tens else None
        number = number or _UNIT_NUMBERS.get(match.group()) or _ELSEWHERE.get(match.group())
        if number:
            found.add(str(number))
    return found


def days_in(text: str) -> dict[Day, str]:
    """The days a text names, as month and day, with the year if given; ambiguous ones in both orders."""
    found: dict[Day, str] = {}
    for match in _NAMED.finditer(text.casefold()):
        day, month, year = match.group(1, 2, 3) if match.group(1) else match.group(5, 4, 6)
        if number := _MONTH.get(month):
            found[number, int(day)] = year or ""
    for match in _FIGURES.finditer(text):
        if match.group(1):
            found[int(match.group(2)), int(match.group(3))] = match.group(1)
        else:
            first, second, year = int(match.group(4)), int(match.group(5)), match.group(6) or ""
            found |= {pair: year for pair in ((first, second), (second, first)) if pair[0] <= 12}
    return found


def same_day(value: str, quote: str) -> bool:
    """Whether a value is a day that the quote names, in whatever form; a year must also match the quote's."""
    wanted, said = days_in(value), days_in(quote)
    return any(day in said and (not year or year == said[day]) and len(value) <= 30 for day, year in wanted.items())
