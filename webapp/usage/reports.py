"""Reading usage: what was spent between two days, by day, model, conversation or person."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import select

from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.errors import Invalid
from webapp.i18n.request_language import gettext as _
from webapp.providers.catalogue import catalogue
from webapp.usage.models import BACKGROUND, CHAT, SCHEDULE, SOURCES
from webapp.usage.records import cost
from webapp.usage.schemas import UsageLine, UsageQuery, UsageReport
from webapp.usage.sums import used

DAYS = 30
MAX_DAYS = 400


def report(user_id: int, query: UsageQuery, *, everyone: bool = False) -> UsageReport:
    """Return what was used between two days, in lines, without limits; `everyone` is for admins. Raises Invalid."""
    first, last = span(query)
    groups: dict[str, list[Any]] = defaultdict(list)
    rows = db.session.execute(used(first, last, None if everyone else user_id, query.by)).all()
    for row in rows:
        groups[str(row.key if row.key is not None else "")].append(row)
    labels = _labels(query.by, list(groups), everyone, user_id)
    lines = [line_of(key, labels.get(key, key or _("Deleted")), group) for key, group in groups.items()]
    if query.by == "day":
        lines.sort(key=lambda line: line.key)
    else:
        lines.sort(key=lambda line: (line.dollars or 0.0, line.chat_input_tokens, line.key), reverse=True)
    return UsageReport(usage=lines, total=line_of("total", "Total", rows), quotas=[])


def line_of(key: str, label: str, rows: Sequence[Any]) -> UsageLine:
    """Return one line for some rows of `used`, with what they cost."""
    prices = {o.target.id: (o.input_price, o.output_price) for o in catalogue.all()}

    def price(row: Any) -> tuple[float | None, float | None] | None:
        """Return the price at the time of use, even if the model is gone or its price has changed since."""
        stored = (row.input_price, row.output_price)
        return prices.get(row.target or "") if stored == (None, None) else stored

    input_counts, output_counts = dict.fromkeys(SOURCES, 0), dict.fromkeys(SOURCES, 0)
    cached = calls = 0
    dollars: float | None = None
    for row in rows:
        tokens = int(row.input_tokens), int(row.cached_tokens), int(row.output_tokens)
        input_counts[row.source] += tokens[0]
        output_counts[row.source] += tokens[2]
        cached += tokens[1]
        calls += int(row.calls)
        if (paid := cost(row.model, tokens, price(row))) is not None:
            dollars = (dollars or 0.0) + paid
    return UsageLine(
        key=key,
        label=label,
        chat_input_tokens=input_counts[CHAT],
        chat_output_tokens=output_counts[CHAT],
        schedule_input_tokens=input_counts[SCHEDULE],
        schedule_output_tokens=output_counts[SCHEDULE],
        background_input_tokens=input_counts[BACKGROUND],
        background_output_tokens=output_counts[BACKGROUND],
        cached_tokens=cached,
        calls=calls,
        dollars=None if dollars is None else round(dollars, 6),
        is_estimated=any(row.estimated for row in rows),
    )


def _labels(by: str, keys: list[str], everyone: bool, user_id: int) -> dict[str, str]:
    numbers = [int(key) for key in keys if key.isdecimal()]
    if by == "conversation":
        # Admins see how much was used, but not for what.
        own_titles = select(Conversation.conversation_id, Conversation.title).where(
            Conversation.conversation_id.in_(numbers), Conversation.user_id == user_id
        )
        titles = {str(number): title or _("New conversation") for number, title in db.session.execute(own_titles)}
        return titles | (
            {key: _("Conversation %(number)s", number=key) for key in keys if key and key not in titles}
            if everyone
            else {}
        )
    if by == "user":
        people = select(User.user_id, User.name, User.email).where(User.user_id.in_(numbers))
        return {str(number): name or email for number, name, email in db.session.execute(people)}
    return {key: key or _("Unknown model") for key in keys}


def span(query: UsageQuery) -> tuple[datetime, datetime]:
    """Return the first moment asked for, and the first after it: thirty days by default. Raises Invalid."""
    last = query.last or now().date()
    first = query.first or last - timedelta(days=DAYS - 1)
    if first > last:
        raise Invalid.field("to", "comes before the first day")
    if (last - first).days > MAX_DAYS:
        raise Invalid.field("from", "is more than %(most_days)s days before the last day", most_days=MAX_DAYS)
    return midnight(first), midnight(last) + timedelta(days=1)


def midnight(day: date) -> datetime:
    """Return the first moment of a day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
