"""A user's schedules as a calendar (RFC 5545) that other programs read, at a URL that can be withdrawn."""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta

from flask import url_for
from sqlalchemy import select

from webapp.accounts.access_kinds import Kind, add_kind
from webapp.accounts.models import User
from webapp.db.base import db, delete_row, get_or_raise, now
from webapp.db.encryption import digest_of, keyed_hash
from webapp.errors import NotFound
from webapp.http.views import absolute_url
from webapp.i18n.dates import zone
from webapp.i18n.marks import N_
from webapp.schedules.models import Schedule, ScheduleFeed
from webapp.schedules.recurrence import LAST_YEAR
from webapp.schedules.service import list_schedules

REFRESH = timedelta(hours=1)
"""How often a calendar is asked to look again."""
LENGTH = timedelta(minutes=15)
"""How long a message takes up in a calendar."""


def _dates(user_id: int) -> list[str]:
    made_at = feed_made_at(user_id)
    return [made_at.date().isoformat()] if made_at else []


@dataclass(frozen=True, slots=True)
class Feed:
    """The calendar of a user: the secret that opens it, and when that was made."""

    secret: str
    created_at: datetime


def feed_of(user_id: int) -> Feed:
    """Return a user's calendar, which is made if there is none, or if SECRET_KEY has changed since."""
    if (found := _stored_feed(user_id)) is not None:
        return found
    get_or_raise(User, user_id, lock=True)  # of two requests at once, the second finds what the first has made
    return _stored_feed(user_id) or make_feed(user_id)


def _stored_feed(user_id: int) -> Feed | None:
    row = db.session.get(ScheduleFeed, user_id, populate_existing=True)
    if row is None or digest_of(secret := _secret(user_id, row.created_at)) != row.digest:
        return None
    return Feed(secret, row.created_at)


def make_feed(user_id: int) -> Feed:
    """Return a new calendar of a user; the URL of the one before opens nothing any more."""
    get_or_raise(User, user_id, lock=True)
    made_at = now()
    secret = _secret(user_id, made_at)
    db.session.merge(ScheduleFeed(user_id=user_id, digest=digest_of(secret), created_at=made_at))
    db.session.flush()
    return Feed(secret, made_at)


def delete_feed(user_id: int) -> None:
    """Withdraw the URL of a user's calendar, if there is one."""
    if (row := db.session.get(ScheduleFeed, user_id)) is not None:
        delete_row(row)


add_kind("calendar", Kind(N_("Calendar link"), _dates, delete_feed))  # whoever has one sees what is due


def feed_url(secret: str) -> str:
    """Return the URL of a calendar."""
    return absolute_url(url_for("schedules_pages.calendar", secret=secret))


def feed_made_at(user_id: int) -> datetime | None:
    """Return when the URL of a user's calendar was made; None without one."""
    return db.session.scalar(select(ScheduleFeed.created_at).where(ScheduleFeed.user_id == user_id))


def calendar_of(secret: str) -> bytes:
    """Return the calendar that a secret opens: what is due, by its title. Raises NotFound."""
    owner = db.session.scalar(
        select(ScheduleFeed.user_id)
        .join(User, User.user_id == ScheduleFeed.user_id)
        .where(ScheduleFeed.digest == digest_of(secret), User.is_active)
    )
    if owner is None or _stored_feed(owner) is None:
        raise NotFound("There is no such calendar.")
    return _calendar([row for row in list_schedules(owner) if row.next_at is not None and row.is_active])


def _calendar(rows: list[Schedule]) -> bytes:
    from icalendar import Calendar, Event, vRecur  # noqa: PLC0415 - .15 s that only calendars need

    calendar = Calendar()
    calendar.add("prodid", "-//Commonplace//Schedules//EN")
    calendar.add("version", "2.0")
    calendar.add("name", "Commonplace")
    calendar.add("x-wr-calname", "Commonplace")
    calendar.add("refresh-interval", REFRESH, parameters={"value": "DURATION"})
    for row in rows:
        event = Event()
        place = absolute_url(url_for("schedules_pages.show", schedule_id=row.schedule_id))
        event.add("uid", place)
        event.add("dtstamp", row.created_at)
        event.add("dtstart", row.at.replace(tzinfo=zone(row.timezone)))
        event.add("duration", LENGTH)
        event.add("summary", row.title)
        event.add("url", place)
        event.add("transp", "TRANSPARENT")
        if row.rrule:
            event.add("rrule", vRecur.from_ical(row.rrule))
        calendar.add_component(event)
    first = min((row.at.date() for row in rows), default=now().date())
    calendar.add_missing_timezones(first_date=first, last_date=first.replace(month=1, day=1, year=LAST_YEAR + 1))
    return bytes(calendar.to_ical())


def _secret(user_id: int, made_at: datetime) -> str:
    """Return the secret of a calendar made then: it is stored nowhere."""
    message = f"calendar of {user_id} made {made_at.isoformat()}".encode()
    return base64.urlsafe_b64encode(keyed_hash(message).digest()).decode().rstrip("=")
