"""Times of something that repeats: wall-clock rules (RFC 5545) in a time zone, as instants. Pure.

A local time that spring skips is the next hour, one that comes twice in autumn the first.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from dateutil.parser import parse
from dateutil.rrule import rrule, rrulestr
from dateutil.tz import resolve_imaginary

from webapp.i18n.dates import zone

Repeat = Literal["once", "daily", "weekdays", "weekly", "monthly", "custom"]
REPEATS: tuple[Repeat, ...] = get_args(Repeat)
MAX_RULE_LENGTH = 500
LAST_YEAR = 2037
"""Nothing is due later: the instants that MySQL stores end in January 2038."""
_SIMPLE = {"daily": "FREQ=DAILY", "weekdays": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "weekly": "FREQ=WEEKLY"}
_FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY")
_PARTS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTH", "BYHOUR", "BYMINUTE", "BYSECOND", "WKST"}
_WITHIN_AN_HOUR = ("BYMINUTE", "BYSECOND")
_RANGES = {
    "INTERVAL": range(1, 10_000),
    "BYMONTH": range(1, 13),
    "BYHOUR": range(24),
    "BYMINUTE": range(60),
    "BYSECOND": range(1),
}
"""The numbers that a part may have: the library takes others, and then fails."""
_WEEKS_OF_MONTH, _WEEKS_OF_YEAR = 5, 53
_PARTS_OF_MONTHS = {"BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS"}
"""Only by month or year: an hourly rule for 30 February would be looked for, hour by hour, until the year 9999."""
_NEAR_THE_END = timedelta(days=19 * 146_097)
"""The calendar repeats itself every 400 years, weekdays included. Rules are read 19 times that later: the library looks
until the year 9999 for a time that never comes, and no reply in this process goes on meanwhile."""
_MAX_CANDIDATES = 1_000
"""How many times of a rule are passed over that lie within the hour that clocks were set back."""


def rule_of(repeat: Repeat, custom: str, moment: datetime) -> str:
    """Return the RRULE of a choice, "" for once. Raises ValueError, with what is wrong, for a custom one.

    Monthly on the 31st is the last day of shorter months.
    """
    if repeat == "once":
        return ""
    if repeat == "monthly":
        days = range(28, moment.day + 1) if moment.day > 28 else [moment.day]
        return f"FREQ=MONTHLY;BYMONTHDAY={','.join(map(str, days))};BYSETPOS=-1"
    if repeat != "custom":
        return _SIMPLE[repeat]
    rule = "".join(custom.split()).upper().removeprefix("RRULE:")
    values = dict(part.partition("=")[::2] for part in rule.split(";") if part)
    if values.get("FREQ") not in _FREQUENCIES:
        raise ValueError("must begin like FREQ=DAILY; the shortest is HOURLY")
    parts = _PARTS | _PARTS_OF_MONTHS if values["FREQ"] in ("MONTHLY", "YEARLY") else _PARTS
    if unknown := sorted(set(values) - parts):
        raise ValueError(f"has a part that is not supported: {unknown[0]}")
    if any("," in values.get(part, "") for part in _WITHIN_AN_HOUR):
        raise ValueError("must be due once an hour at most")
    try:
        numbers = [(int(text), part) for part in _RANGES.keys() & values.keys() for text in values[part].split(",")]
        weeks = map(int, re.findall(r"[0-9]+", values.get("BYDAY", "")))
        within_months = values["FREQ"] == "MONTHLY" or "BYMONTH" in values
        if any(number not in _RANGES[part] for number, part in numbers):
            raise ValueError
        if max(weeks, default=0) > (_WEEKS_OF_MONTH if within_months else _WEEKS_OF_YEAR):
            raise ValueError
        _rule(rule, moment)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("is not a rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=SU") from None
    return rule


def next_time(rule: str, moment: datetime, timezone: str, after: datetime) -> datetime | None:
    """Return a schedule's first instant (UTC) after `after`, or None; `moment` is its first local time, naive."""
    if not rule:
        first = to_instant(moment, timezone)
        return first if after < first and first.year <= LAST_YEAR else None
    start = after.astimezone(zone(timezone)).replace(tzinfo=None) - timedelta(hours=3)
    for attempt, local in enumerate(_rule(rule, moment).xafter(start + _NEAR_THE_END, inc=True)):
        instant = to_instant(local - _NEAR_THE_END, timezone)
        if instant > after:
            return instant if instant.year <= LAST_YEAR else None
        if attempt >= _MAX_CANDIDATES:
            break
    return None


def to_instant(local: datetime, timezone: str) -> datetime:
    """Return the instant, in UTC, of a local time: of one that comes twice the first, of a skipped one the next."""
    real: datetime = resolve_imaginary(local.replace(tzinfo=zone(timezone), fold=0))
    return real.astimezone(UTC)


def local_time(moment: datetime, timezone: str) -> datetime:
    """Return a time as the clocks of a zone show it, to the minute."""
    local = moment if moment.tzinfo is None else moment.astimezone(zone(timezone)).replace(tzinfo=None)
    return local.replace(second=0, microsecond=0)


def _rule(rule: str, moment: datetime) -> rrule:
    """Return what a rule means, _NEAR_THE_END. Its own end is given in UTC or as a local time; here all are local."""
    parts, _, end = rule.partition("UNTIL=")
    end, _, others = end.partition(";")
    parsed = rrulestr(f"{parts}{others}".strip(";"), dtstart=moment + _NEAR_THE_END)
    assert isinstance(parsed, rrule)
    if not end:
        return parsed
    until = min(parse(end.removesuffix("Z")), moment + timedelta(days=36_525))  # a century; later is past 9999
    return parsed.replace(until=until + _NEAR_THE_END)
