"""Reading usage, and holding people to their quotas."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Select, and_, delete, func, or_, select

from webapp.accounts.groups import groups_of
from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.db.base import after_commit, db, now
from webapp.errors import Invalid, TooMany
from webapp.i18n.marks import N_, say
from webapp.i18n.request_language import gettext as _
from webapp.providers.catalogue import catalogue
from webapp.usage.limits import Limit, applicable_limits
from webapp.usage.models import Quota, UsageRecord
from webapp.usage.prices import cost
from webapp.usage.schemas import QuotaFields, QuotaState, UsageLine, UsageQuery, UsageReport

DAYS = 30
MOST_DAYS = 400
NEAR = 0.8
"""The share of a limit from which people are told."""
QUOTAS_KEPT = 10.0
_quotas: tuple[float, bool] = (0.0, False)


def report(user_id: int, query: UsageQuery, *, everyone: bool = False) -> UsageReport:
    """Return what was used between two days, in lines. `everyone` is for admins; the caller checks that."""
    first, last = _span(query)
    groups: dict[str, list[Any]] = defaultdict(list)
    rows = db.session.execute(_sums(first, last, None if everyone else user_id, query.by)).all()
    for row in rows:
        groups[str(row.key if row.key is not None else "")].append(row)
    labels = _labels(query.by, list(groups), everyone, user_id)
    lines = [_line(key, labels.get(key, key or _("Deleted")), found) for key, found in groups.items()]
    if query.by == "day":
        lines.sort(key=lambda line: line.key)
    else:
        lines.sort(key=lambda line: (line.dollars or 0.0, line.chat_input_tokens, line.key), reverse=True)
    return UsageReport(usage=lines, total=_line("total", "Total", rows), quotas=[] if everyone else states(user_id))


_SPENT_TODAY = N_(
    "You have reached your limit for today. Your message was not sent; you can continue tomorrow (UTC), "
    "or ask your administrator."
)
_SPENT_THIS_MONTH = N_(
    "You have reached your limit for this month. Your message was not sent; you can continue on %(day)s (UTC), "
    "or ask your administrator."
)


def require_room(user_id: int) -> None:
    """Raises TooMany if a user has spent all they may. Costs next to nothing while nobody has a quota."""
    if not _any_quotas():
        return
    for state in states(user_id):
        over_tokens = state.tokens is not None and state.tokens_used >= state.tokens
        if over_tokens or (state.dollars is not None and state.dollars_used >= state.dollars):
            ends = _ends(state.period)
            phrase = _SPENT_TODAY if state.period == "day" else _SPENT_THIS_MONTH
            raise TooMany(
                say(phrase, day=f"{ends:%d %B}"),
                retry_after=max(1, int((ends - now()).total_seconds())),
            )


_NEAR = N_(
    {
        "day": "You have used %(share)s%% of your limit for today.",
        "month": "You have used %(share)s%% of your limit for this month.",
    }
)


def limit_notice(user_id: int) -> str:
    """A notice for somebody who has used most of a limit, in their language; empty for anybody else.

    Needs no query while this process knows of no quota; sending a message (`require_room`) looks for one.
    """
    if not _quotas[1]:
        return ""
    near = [(state.share, state.period) for state in states(user_id) if state.share >= NEAR]
    if not near:
        return ""
    share, period = max(near)
    return _(_NEAR[period], share=min(100, int(share * 100)))


def states(user_id: int) -> list[QuotaState]:
    """The quotas that apply to a user (their own, else their groups', else everybody's), with how much is used."""
    everybodys = and_(Quota.user_id.is_(None), Quota.group_id.is_(None))
    mine = or_(Quota.user_id == user_id, Quota.group_id.in_(groups_of(user_id)), everybodys)
    found = []
    for row in applicable_limits([Limit.of(row) for row in db.session.scalars(select(Quota).where(mine))]):
        spent = db.session.execute(_sums(_begins(row.period), now(), user_id, "model")).all()
        line = _line("", "", spent)
        found.append(
            QuotaState(
                period=row.period,
                tokens=row.tokens,
                tokens_used=line.chat_input_tokens
                + line.chat_output_tokens
                + line.background_input_tokens
                + line.background_output_tokens,
                dollars=row.dollars,
                dollars_used=line.dollars or 0.0,
            )
        )
    return found


def set_quotas(user_id: int | None, quotas: Sequence[QuotaFields], *, group_id: int | None = None) -> None:
    """Replace the quotas of a user, of the members of a group or, with neither, of everybody.

    Raises Invalid.
    """
    if len({quota.period for quota in quotas}) < len(quotas):
        raise Invalid.field("period", "is named twice")
    db.session.execute(delete(Quota).where(Quota.user_id == user_id, Quota.group_id == group_id))
    for quota in quotas:
        if quota.tokens is not None or quota.dollars is not None:
            db.session.add(Quota(user_id=user_id, group_id=group_id, **quota.model_dump()))
    db.session.flush()
    after_commit(_forget)


def quotas_of(user_id: int | None, *, group_id: int | None = None) -> list[Quota]:
    """The quotas of a user, of a group or, with neither, of everybody."""
    mine = Quota.user_id == user_id, Quota.group_id == group_id
    return list(db.session.scalars(select(Quota).where(*mine).order_by(Quota.period)))


def _forget() -> None:
    global _quotas  # noqa: PLW0603  # a cache of one flag
    _quotas = (0.0, False)


def _any_quotas() -> bool:
    global _quotas  # noqa: PLW0603  # as above
    if _quotas[0] <= time.monotonic():
        found = db.session.scalar(select(Quota.quota_id).limit(1)) is not None
        _quotas = (time.monotonic() + QUOTAS_KEPT, found)
    return _quotas[1]


def _sums(first: datetime, last: datetime, user_id: int | None, by: str) -> Any:
    key = {
        "day": func.date(UsageRecord.created_at),
        "model": UsageRecord.model,
        "conversation": UsageRecord.conversation_id,
        "user": UsageRecord.user_id,
    }[by]
    statement: Select[*tuple[Any, ...]] = (
        select(
            key.label("key"),
            UsageRecord.model,
            UsageRecord.target,
            UsageRecord.input_price,
            UsageRecord.output_price,
            (UsageRecord.kind == "chat").label("is_chat"),
            func.sum(UsageRecord.input_tokens).label("given"),
            func.sum(UsageRecord.cached_tokens).label("cached"),
            func.sum(UsageRecord.output_tokens).label("made"),
            func.count().label("calls"),
            func.max(UsageRecord.is_estimated).label("is_estimated"),
        )
        .where(UsageRecord.created_at >= first, UsageRecord.created_at < last)
        .group_by(
            key,
            UsageRecord.model,
            UsageRecord.target,
            UsageRecord.input_price,
            UsageRecord.output_price,
            UsageRecord.kind == "chat",
        )
    )
    return statement if user_id is None else statement.where(UsageRecord.user_id == user_id)


def _line(key: str, label: str, rows: Sequence[Any]) -> UsageLine:
    prices = {o.target.id: (o.input_price, o.output_price) for o in catalogue.all()}

    def price(row: Any) -> tuple[float | None, float | None] | None:
        """The price at the time of use, even if the model is gone or its price has changed since."""
        then = (row.input_price, row.output_price)
        return prices.get(row.target or "") if then == (None, None) else then

    costs = [cost(row.model, (int(row.given), int(row.cached), int(row.made)), price(row)) for row in rows]
    known = [found for found in costs if found is not None]

    def total(field: str, *, chat: bool) -> int:
        return sum(int(getattr(row, field)) for row in rows if bool(row.is_chat) == chat)

    return UsageLine(
        key=key,
        label=label,
        chat_input_tokens=total("given", chat=True),
        chat_output_tokens=total("made", chat=True),
        background_input_tokens=total("given", chat=False),
        background_output_tokens=total("made", chat=False),
        cached_tokens=sum(int(row.cached) for row in rows),
        calls=sum(int(row.calls) for row in rows),
        dollars=round(sum(known), 6) if known else None,
        is_estimated=any(row.is_estimated for row in rows),
    )


def _labels(by: str, keys: list[str], everyone: bool, user_id: int) -> dict[str, str]:
    numbers = [int(key) for key in keys if key.isdecimal()]
    if by == "conversation":
        # Admins see how much was used, but not for what.
        mine = select(Conversation.conversation_id, Conversation.title).where(
            Conversation.conversation_id.in_(numbers), Conversation.user_id == user_id
        )
        titles = {str(number): title or _("New conversation") for number, title in db.session.execute(mine)}
        return titles | (
            {key: _("Conversation %(number)s", number=key) for key in keys if key and key not in titles}
            if everyone
            else {}
        )
    if by == "user":
        people = select(User.user_id, User.name, User.email).where(User.user_id.in_(numbers))
        return {str(number): name or email for number, name, email in db.session.execute(people)}
    return {key: key or _("Unknown model") for key in keys}


def _span(query: UsageQuery) -> tuple[datetime, datetime]:
    last = query.last or now().date()
    first = query.first or last - timedelta(days=DAYS - 1)
    if first > last:
        raise Invalid.field("to", "comes before the first day")
    if (last - first).days > MOST_DAYS:
        raise Invalid.field("from", say("is more than %(most_days)s days before the last day", most_days=MOST_DAYS))
    return _midnight(first), _midnight(last) + timedelta(days=1)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _begins(period: str) -> datetime:
    today = now().date()
    return _midnight(today if period == "day" else today.replace(day=1))


def _ends(period: str) -> datetime:
    begin = _begins(period)
    return begin + timedelta(days=1) if period == "day" else (begin + timedelta(days=32)).replace(day=1)
