"""Holding people to their quotas."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import and_, delete, or_, select

from webapp.accounts.groups import groups_of
from webapp.db.base import after_commit, db, now
from webapp.errors import Invalid, TooMany
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.usage import reports
from webapp.usage.models import Quota
from webapp.usage.reports import line_of, midnight
from webapp.usage.schemas import QuotaFields, QuotaState, UsageQuery, UsageReport
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


NEAR = 0.8
"""The share of a limit from which people are told."""
CACHE_SECONDS = 10.0
_quotas: tuple[float, bool] = (0.0, False)


def report(user_id: int, query: UsageQuery, *, everyone: bool = False) -> UsageReport:
    """Return what `reports.report` does, with the limits of whose usage it is."""
    result = reports.report(user_id, query, everyone=everyone)
    return result if everyone else result.model_copy(update={"quotas": states(user_id)})


_SPENT_TODAY = N_(
    "You have reached your limit for today. Your message was not sent; you can continue tomorrow (UTC), "
    "or ask your administrator."
)
_SPENT_THIS_MONTH = N_(
    "You have reached your limit for this month. Your message was not sent; you can continue on %(day)s (UTC), "
    "or ask your administrator."
)


def require_room(user_id: int) -> None:
    """Raise TooMany if a user has spent all they may. Costs next to nothing while nobody has a quota."""
    if not _any_quotas():
        return
    for state in states(user_id):
        over_tokens = state.tokens is not None and state.tokens_used >= state.tokens
        if over_tokens or (state.dollars is not None and state.dollars_used >= state.dollars):
            ends = _ends(state.period)
            phrase = _SPENT_TODAY if state.period == "day" else _SPENT_THIS_MONTH
            raise TooMany(
                phrase,
                day=f"{ends:%d %B}",
                retry_after=max(1, int((ends - now()).total_seconds())),
            )


_NEAR = N_(
    {
        "day": "You have used %(share)s%% of your limit for today.",
        "month": "You have used %(share)s%% of your limit for this month.",
    }
)


def limit_notice(user_id: int) -> str:
    """Return a notice, without a query, for somebody who has used most of a limit, in their language; or empty."""
    if not _quotas[1]:
        return ""
    near = [(state.share, state.period) for state in states(user_id) if state.share >= NEAR]
    if not near:
        return ""
    share, period = max(near)
    return _(_NEAR[period], share=min(100, int(share * 100)))


def states(user_id: int) -> list[QuotaState]:
    """Return the quotas that apply to a user (their own, their groups' or everybody's), with how much is used."""
    everybodys = and_(Quota.user_id.is_(None), Quota.group_id.is_(None))
    applies = or_(Quota.user_id == user_id, Quota.group_id.in_(groups_of(user_id)), everybodys)
    result = []
    quotas = db.session.scalars(select(Quota).where(applies))
    for row in applicable_limits([Limit(row.owner_kind, row.period, row.tokens, row.dollars) for row in quotas]):
        rows = db.session.execute(used(_begins(row.period), _ends("day"), user_id, "model")).all()
        line = line_of("", "", rows)
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
