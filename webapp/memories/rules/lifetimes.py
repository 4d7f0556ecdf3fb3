"""How long a statement is likely to stay true: when to ask about it, and when it leaves every prompt. Pure.

Nothing here ends a memory: what has faded can still be found, and its user says what is over.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from webapp.text.words import MONTHS, WEEKDAYS

FADES_AFTER = timedelta(days=365)
"""After this long without a mention, a statement is in a prompt only if the question calls for it."""

_LIVES: tuple[tuple[int, str], ...] = (
    (3, "today tonight tomorrow heute morgen aujourd['’]hui demain hoy mañana oggi domani"),
    (14, "this_week next_week this_weekend diese_woche esta_semana has_the_flu has_a_cold has_a_fever erkältet"),
    (
        45,
        (
            r"this_month next_month headaches? pain hurts? sore sprained \w*schmerzen tut_weh mal_(?:au|aux|à_la|di) "
            r"dolor duelen? dor(?:es)?_(?:na|no|nas|nos|de) dói-\w+ fa_male \w*[疼痛](?!爱)\w* ألم \w?ؤلمه"
        ),
    ),
    (90, r"trip travell?ing_to on_holiday vacation visiting moving_house reise urlaub voyage viaje"),
    (120, r"job_hunting looking_for_an?_\w+ applying exam deadline interview prüfung"),
    (180, "project thesis course working_on preparing training_for renovating projekt pregnant"),
    (365, r"currently at_the_moment for_now this_year temporar\w+ zurzeit momentan actuellement actualmente"),
)
"""Days, and the words for what is over by then."""
_RECENTLY = rf"(?:yesterday|last\b|this\b|{'|'.join(WEEKDAYS)})"
_LASTING = re.compile(
    rf"\b(?:chronic|always|never|every|each|usually|often|since(?! {_RECENTLY})|for years|allerg\w+)\b", re.IGNORECASE
)
_KINDS = tuple(
    (timedelta(days), re.compile(rf"(?<!\w)(?:{'|'.join(words.split())})(?!\w)".replace("_", " "), re.IGNORECASE))
    for days, words in _LIVES
)
_ISO = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_SPOKEN = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? ({'|'.join(MONTHS)}),? (20\d\d)\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}})(?:st|nd|rd|th)?,? (20\d\d)\b", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:born|since|until|married|founded|geboren|seit|née?|depuis|nacid[oa]|desde)\b", re.IGNORECASE)


@lru_cache(maxsize=4_096)  # every prompt calls it for what is always known
def ask_again_on(content: str, last_sign: datetime) -> datetime | None:
    """When to ask whether a statement, last confirmed then, is still true; None if it has no natural end."""
    days = [] if _SINCE.search(content) else [day for day in _dates(content) if day > last_sign]
    if days:
        return max(days) + timedelta(days=1)
    if _LASTING.search(content):
        return None
    return next((last_sign + life for life, words in _KINDS if words.search(content)), None)


def is_due(content: str, last_sign: datetime, now: datetime) -> bool:
    """Whether a statement may well be over by now."""
    day = ask_again_on(content, last_sign)
    return day is not None and day <= now


def has_faded(content: str, last_sign: datetime, now: datetime) -> bool:
    """Whether a statement no longer needs to be in every prompt."""
    return now - last_sign > FADES_AFTER or is_due(content, last_sign, now)


def _dates(content: str) -> list[datetime]:
    found = [(year, month, day) for year, month, day in _ISO.findall(content)]
    found += [(year, _number(month), day) for day, month, year in _SPOKEN.findall(content)]
    found += [(year, _number(month), day) for month, day, year in _MONTH_FIRST.findall(content)]
    days = []
    for year, month, day in found:
        try:
            at = date(int(year), int(month), int(day))
        except ValueError:
            continue
        days.append(datetime(at.year, at.month, at.day, tzinfo=UTC))
    return days


def _number(month: str) -> int:
    return MONTHS.index(month.lower()) + 1
