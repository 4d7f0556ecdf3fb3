"""Numbers, amounts of money, sizes and durations in the notation of a language."""

from functools import lru_cache

from babel import Locale
from babel.numbers import format_currency, format_decimal, format_percent
from babel.units import format_unit

from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.request_language import gettext as _


@lru_cache(maxsize=len(LANGUAGES))
def locale_of(language: str) -> Locale:
    """Return Babel's locale for a language; its data, about a megabyte, is loaded at the first use."""
    return Locale.parse(LANGUAGES[language].tag, sep="-")


def number(value: float, language: str = SOURCE) -> str:
    """Return a number with its digits grouped: "12,345", "12.345"."""
    return f"{value:,}" if language == SOURCE else str(format_decimal(value, locale=locale_of(language)))


def percent(value: float, language: str = SOURCE) -> str:
    """Return a share of 100 in whole percent, what is less than one as "<1%"."""
    few, number = 0 < value < 1, max(1, round(value)) if value else 0
    words = f"{number}%" if language == SOURCE else str(format_percent(number / 100, locale=locale_of(language)))
    return f"<{words}" if few else words


def round_count(value: int) -> int:
    """Return a count as people take it in: three digits of those from ten thousand on."""
    return value if abs(value) < 10_000 else round(value, 3 - len(str(abs(value))))


def dollars(value: float, places: int = 2, language: str = SOURCE) -> str:
    """Return an amount in dollars: "$1.50", "1,50 $"."""
    if language == SOURCE:
        return f"${value:.{places}f}"
    locale = locale_of(language)
    pattern = locale.currency_formats["standard"].pattern.replace("0.00", f"0.{'0' * places}")
    return str(format_currency(value, "USD", pattern, locale=locale, currency_digits=False))


UNITS = ("kilobyte", "megabyte", "gigabyte", "terabyte")


def size(value: float, language: str = SOURCE) -> str:
    """Return a number of bytes as people read it: "1.2 GB", "1,2 GB", "48 MB"; a kilobyte at least, unless nothing."""
    step = 0
    value /= 1024
    while value >= 1000 and step < len(UNITS) - 1:
        value, step = value / 1024, step + 1
    number = round(value, 1 if step and value < 10 else 0) if value > 1 or not value else 1
    number = int(number) if number == int(number) else number
    if language == SOURCE:
        return f"{number} {'kMGT'[step]}B"
    # CLDR writes one kilobyte in German as "1 kbyte", and 1.5 MB in Portuguese as "1,5 MByte".
    hundred = format_unit(100, f"digital-{UNITS[step]}", length="short", locale=locale_of(language))
    return str(hundred).replace("100", format_decimal(number, locale=locale_of(language)))


def duration(seconds: float, language: str = SOURCE) -> str:
    """Return how long something takes: "a moment", "12 seconds", "2 min 5 s", "1 h"."""
    total = round(seconds)
    if total < 2:
        return _("a moment")
    if total < 60:
        return (
            f"{total} seconds"
            if language == SOURCE
            else str(format_unit(total, "duration-second", locale=locale_of(language)))
        )
    parts = {"hour": total // 3600, "minute": total // 60 % 60, "second": total % 60}
    if language == SOURCE:
        short = {"hour": "h", "minute": "min", "second": "s"}
        return " ".join(f"{number} {short[unit]}" for unit, number in parts.items() if number)
    locale = locale_of(language)
    return " ".join(
        str(format_unit(number, f"duration-{unit}", "short", locale=locale)) for unit, number in parts.items() if number
    )
