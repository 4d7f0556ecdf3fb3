"""Single values as exports give them: moments, days, flags, texts; pure."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from webapp.i18n.dates import is_dated

_NUMBER = re.compile(r"-?\d{9,}(?:\.\d+)?")
_MONTH = re.compile(r"\d{4}-\d\d")
LATEST = datetime(2038, 1, 1, tzinfo=UTC)
"""The end of a TIMESTAMP column, with room for any time zone."""


def day(value: Any) -> date | None:
    """Return a day given as YYYY-MM-DD; None for anything else."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def instant(value: Any) -> datetime | None:
    """Return a moment as exports give it: (milli)seconds since 1970, ISO 8601, a mail's date, or one in an object as
    MongoDB, Firestore and OpenCode write it; None for anything else."""
    while isinstance(value, dict):
        value = next(filter(None, map(value.get, ("$date", "$numberLong", "seconds", "_seconds", "created"))), None)
    try:
        if isinstance(value, bool) or value in (None, ""):
            return None
        if isinstance(value, int | float) or _NUMBER.fullmatch(str(value)):
            seconds = float(value)
            while 1e11 < seconds < 1e21:  # milliseconds, microseconds or nanoseconds
                seconds /= 1000
            moment = datetime.fromtimestamp(seconds, UTC)
        else:
            moment = _moment(str(value))
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if is_dated(moment) and moment <= LATEST else None


def _moment(text: str) -> datetime:
    """Return a moment in ISO 8601, as in mails, or as SillyTavern writes it. Raises ValueError."""
    text = f"{text}-01" if _MONTH.fullmatch(text) else text.removesuffix(" UTC")
    for form in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            return form(text)
    return datetime.strptime(text, "%B %d, %Y %I:%M%p")  # noqa: DTZ007  # it names no zone


def is_true(value: Any) -> bool:
    """Return whether a field says yes, as a value or in a table's words."""
    return str(value or "").strip().lower() not in ("", "0", "false", "none", "null")


def text_or_none(value: Any) -> str | None:
    """Return a string that is not blank, stripped; None for anything else."""
    return value.strip() or None if isinstance(value, str) else None
