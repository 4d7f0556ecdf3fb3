"""Usage and quotas: the use between two days, by day, model, conversation or person, and who may go on."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import fsum
from typing import Any, TypeVar

from sqlalchemy import and_, delete, or_, select

from webapp.accounts.groups import groups_of
from webapp.accounts.models import User
from webapp.conversations.models import Conversation, Message
from webapp.db.base import after_commit, count_rows, db, now
from webapp.errors import Invalid, TooMany
from webapp.extensions import app_settings
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.providers.catalogue import catalogue
from webapp.usage.models import SOURCES, Quota
from webapp.usage.records import cost
from webapp.usage.schemas import QuotaFields, QuotaState, UsageLine, UsageQuery, UsageReport
from webapp.usage.sums import used

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a period; None means no limit of that kind."""

    whose: str
    period: str
    tokens: int | None
    dollars: float | None


def applicable_limits(limits: Sequence[Limit]) -> list[Limit]:
    """Return the limits that apply out of some, one per period.

    Of several groups' limits the largest counts, separately for tokens and for dollars; None is larger than any number.
    A group without a limit for a period does not lift the others' limits for it.
    """
    for whose in ("own", "group", "everybody"):
        if nearest := [limit for limit in limits if limit.whose == whose]:
            break
    else:
        return []
    result = []
    for period in sorted({limit.period for limit in nearest}):
        tokens = [limit.tokens for limit in nearest if limit.period == period]
        dollars = [limit.dollars for limit in nearest if limit.period == period]
        result.append(Limit(whose, period, _largest(tokens), _largest(dollars)))
    return result


def _largest(numbers: Sequence[Number | None]) -> Number | None:
    limits = [number for number in numbers if number is not None]
    return max(limits) if len(limits) == len(numbers) else None


NOTICE_SHARE = 0.8
"""The share of a limit from which people are told."""
CACHE_SECONDS = 10.0
_quotas: tuple[float, bool] = (0.0, False)


_SPENT_TODAY = N_(
    "You have reached your limit for today. Your message was not sent; you can continue tomorrow (UTC), "
    "or ask your administrator."
)
_SPENT_THIS_MONTH = N_(
    "You have reached your limit for this month. Your message was not sent; you can continue next month (UTC), "
    "or ask your administrator."
)
_MAY_BE_SPENT = N_(
    "The reply that is being written may take what is left of your limit. Your message was not sent; send it again "
    "when that is done."
)
RUNNING_SECONDS = 10
"""After which somebody may try again who waits for a reply to be written."""


class ReplyRunning(TooMany):
    """A reply that is being written may take what is left of a limit."""


def require_room(user_id: int) -> None:
    """Raise TooMany if a user has spent all they may, or what is being written may. Costs next to nothing while nobody
    has a quota; otherwise replies of one person begin one after another: lock a conversation before."""
    if not _any_quotas():
        return
    db.session.execute(select(User.user_id).where(User.user_id == user_id).with_for_update())
    running = count_rows(
        Message.status == "streaming",
        Message.conversation_id.in_(select(Conversation.conversation_id).where(Conversation.user_id == user_id)),
    )
    each = app_settings().context_tokens + app_settings().reply_tokens
    needed = (running + 1) * each if running else 0
    for state in states(user_id):
        if state.share() >= 1:
            seconds = max(1, int((_ends(state.period) - now()).total_seconds()))
            raise TooMany(_SPENT_TODAY if state.period == "day" else _SPENT_THIS_MONTH, retry_after=seconds)
        if state.share(needed) >= 1:
            raise ReplyRunning(_MAY_BE_SPENT, retry_after=RUNNING_SECONDS)


_NEAR = N_(
    {
        "day": "You have used %(share)s%% of your limit for today.",
        "month": "You have used %(share)s%% of your limit for this month.",
    }
)
_REACHED = N_(
    {
        "day": "You have reached your limit for today; you can continue tomorrow (UTC).",
        "month": "You have reached your limit for this month; you can continue next month (UTC).",
    }
)


def limit_notice(user_id: int) -> str:
    """Return a notice, without a query, for somebody who has used most of a limit, in their language; or empty."""
    if not _quotas[1]:
        return ""
    near = [(share, state.period) for state in states(user_id) if (share := state.share()) >= NOTICE_SHARE]
    if not near:
        return ""
    share, period = max(near)
    return _(_REACHED[period]) if share >= 1 else _(_NEAR[period], share=int(share * 100))


def states(user_id: int) -> list[QuotaState]:
    """Return the quotas that apply to a user (their own, their groups' or everybody's), with how much is used."""
    everybodys = and_(Quota.user_id.is_(None), Quota.group_id.is_(None))
    applies = or_(Quota.user_id == user_id, Quota.group_id.in_(groups_of(user_id)), everybodys)
    result = []
    quotas = db.session.scalars(select(Quota).where(applies))
    for row in applicable_limits([Limit(row.owner_kind, row.period, row.tokens, row.dollars) for row in quotas]):
        line = _line_of("", "", db.session.execute(used(_begins(row.period), _ends("day"), user_id, "model")).all())
        result.append(
            QuotaState(
                period=row.period,
                tokens=row.tokens,
                tokens_used=line.tokens,
                dollars=row.dollars,
                dollars_used=line.dollars or 0.0,
            )
        )
    return result


def set_quotas(user_id: int | None, quotas: Sequence[QuotaFields], *, group_id: int | None = None) -> None:
    """Replace the quotas of a user, a group's members or, with neither, everybody. Raises Invalid."""
    if len({quota.period for quota in quotas}) < len(quotas):
        raise Invalid.field("period", "is named twice")
    db.session.execute(delete(Quota).where(Quota.user_id == user_id, Quota.group_id == group_id))
    for quota in quotas:
        if quota.tokens is not None or quota.dollars is not None:
            db.session.add(Quota(user_id=user_id, group_id=group_id, **quota.model_dump()))
    db.session.flush()
    after_commit(forget)


def quotas_of(user_id: int | None, *, group_id: int | None = None) -> list[Quota]:
    """Return the quotas of a user, of a group or, with neither, of everybody."""
    condition = Quota.user_id == user_id, Quota.group_id == group_id
    return list(db.session.scalars(select(Quota).where(*condition).order_by(Quota.period)))


def forget() -> None:
    """Look for quotas again on next use."""
    global _quotas  # noqa: PLW0603  # a cache of one flag
    _quotas = (0.0, False)


def _any_quotas() -> bool:
    global _quotas  # noqa: PLW0603  # as above
    if _quotas[0] <= time.monotonic():
        exists = db.session.scalar(select(Quota.quota_id).limit(1)) is not None
        _quotas = (time.monotonic() + CACHE_SECONDS, exists)
    return _quotas[1]


def _begins(period: str) -> datetime:
    today = now().date()
    return midnight(today if period == "day" else today.replace(day=1))


def _ends(period: str) -> datetime:
    begin = _begins(period)
    return begin + timedelta(days=1) if period == "day" else (begin + timedelta(days=32)).replace(day=1)


DAYS = 30
MAX_DAYS = 400


def report(user_id: int, query: UsageQuery, *, everyone: bool = False) -> UsageReport:
    """Return what was used between two days, with the user's limits or, for admins, of everyone. Raises Invalid."""
    first, last = span(query)
    groups: dict[str, list[Any]] = defaultdict(list)
    rows = db.session.execute(used(first, last, None if everyone else user_id, query.by)).all()
    for row in rows:
        groups[str(row.key if row.key is not None else "")].append(row)
    labels = _labels(query.by, list(groups), everyone, user_id)
    lines = [_line_of(key, labels.get(key, key or _("Deleted")), group) for key, group in groups.items()]
    if query.by == "day":
        lines.sort(key=lambda line: line.key)
    else:
        lines.sort(key=lambda line: (line.dollars or 0.0, line.chat_input_tokens, line.key), reverse=True)
    quotas = [] if everyone else states(user_id)
    return UsageReport(usage=lines, total=_line_of("total", "Total", rows), quotas=quotas)


def _line_of(key: str, label: str, rows: Sequence[Any]) -> UsageLine:
    """Return one line for some rows of `used`, with what they cost."""
    prices = {o.target.id: (o.input_price, o.output_price) for o in catalogue.read().offered}

    def price(row: Any) -> tuple[float | None, float | None] | None:
        """Return the price at the time of use, even if the model is gone or its price has changed since."""
        stored = (row.input_price, row.output_price)
        return prices.get(row.target or "") if stored == (None, None) else stored

    counts = {f"{source}_{side}_tokens": 0 for source in SOURCES for side in ("input", "output")}
    cached = calls = 0
    paid: list[float] = []
    for row in rows:
        tokens = int(row.input_tokens), int(row.cached_tokens), int(row.output_tokens)
        counts[f"{row.source}_input_tokens"] += tokens[0]
        counts[f"{row.source}_output_tokens"] += tokens[2]
        cached += tokens[1]
        calls += int(row.calls)
        if (dollars := cost(row.model, tokens, price(row))) is not None:
            paid.append(dollars)
    return UsageLine(
        key=key,
        label=label,
        **counts,
        cached_tokens=cached,
        calls=calls,
        dollars=round(fsum(paid), 6) if paid else None,  # the same in any order of the rows
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
