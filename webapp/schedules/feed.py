"""A user's schedules as a calendar (RFC 5545) that other programs read, at a URL that can be withdrawn."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from flask import url_for
from sqlalchemy import select

from webapp.accounts.models import User
from webapp.db.base import db, get_or_raise, now
from webapp.errors import NotFound
from webapp.http.views import absolute
from webapp.schedules.models import Schedule, ScheduleFeed
from webapp.schedules.recurrence import LAST_YEAR
from webapp.schedules.service import list_schedules

REFRESH = timedelta(hours=1)
"""How often a calendar is asked to look again."""
LENGTH = timedelta(minutes=15)
"""How long a message takes up in a calendar."""


def make_feed(user_id: int) -> str:
    """Return a new secret for a user's calendar; the one before opens nothing any more."""
    get_or_raise(User, user_id, lock=True)
    secret = secrets.token_urlsafe(32)
    db.session.merge(ScheduleFeed(user_id=user_id, digest=_digest(secret), created_at=now()))
    db.session.flush()
    return secret


def delete_feed(user_id: int) -> None:
    """Withdraw the URL of a user's calendar, if there is one."""
    if (row := db.session.get(ScheduleFeed, user_id)) is not None:
        db.session.delete(row)
        db.session.flush()


def feed_url(secret: str) -> str:
    """Return the URL of a calendar."""
    return absolute(url_for("schedules_pages.calendar", secret=secret))


def feed_made_at(user_id: int) -> datetime | None:
    """Return when the URL of a user's calendar was made; None without one."""
    return db.session.scalar(select(ScheduleFeed.created_at).where(ScheduleFeed.user_id == user_id))


def calendar_of(secret: str) -> bytes:
    """Return the calendar that a secret opens: what is due, by its title. Raises NotFound."""
    owner = db.session.scalar(
        select(ScheduleFeed.user_id)
        .join(User, User.user_id == ScheduleFeed.user_id)
        .where(ScheduleFeed.digest == _digest(secret), User.is_active)
    )
    if owner is None:
        raise NotFound("There is no such calendar.")
    return _calendar([row for row in list_schedules(owner) if row.next_at is not None and not row.is_paused])


def _calendar(rows: list[Schedule]) -> bytes:
    from icalendar import Calendar, Event, vRecur  # noqa: PLC0415 - .15 s that only calendars need

    found = Calendar()
    found.add("prodid", "-//Commonplace//Schedules//EN")
    found.add("version", "2.0")
    found.add("name", "Commonplace")
    found.add("x-wr-calname", "Commonplace")
    found.add("refresh-interval", REFRESH, parameters={"value": "DURATION"})
    for row in rows:
        event = Event()
        place = absolute(url_for("schedules_pages.show", schedule_id=row.schedule_id))
        event.add("uid", place)
        event.add("dtstamp", row.created_at)
        event.add("dtstart", row.starts_at.replace(tzinfo=ZoneInfo(row.zone)))
        event.add("duration", LENGTH)
        event.add("summary", row.title)
        event.add("url", place)
        event.add("transp", "TRANSPARENT")
        if row.rule:
            event.add("rrule", vRecur.from_ical(row.rule))
        found.add_component(event)
    first = min((row.starts_at.date() for row in rows), default=now().date())
    found.add_missing_timezones(first_date=first, last_date=first.replace(month=1, day=1, year=LAST_YEAR + 1))
    return bytes(found.to_ical())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
