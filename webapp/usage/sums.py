"""Usage added up: the sums of each day, for everybody and for each person, of all records up to a mark.

Sums and the records after the mark are read in one statement; changing a record before it changes the sums.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Date, Select, case, exists, func, literal, or_, select, union_all

from webapp.accounts.signals import account_deleted
from webapp.background.time_slices import Slice
from webapp.db.base import add_row, db, now, write_transaction
from webapp.usage.models import BACKGROUND, CHAT, REPLIES, UsageMark, UsageRecord, UsageSum

BATCH_SIZE = 2_000
LAG = timedelta(minutes=5)
"""Younger records are left alone: one with a smaller id may be committed after them."""
SOURCE = case((UsageRecord.kind.in_(REPLIES), UsageRecord.kind), else_=BACKGROUND)
DAY = func.date(UsageRecord.created_at, type_=Date)


class Key(NamedTuple):
    """The values that the records of one sum share."""

    user_id: int | None
    day: date
    source: str
    model: str | None
    target: str | None
    input_price: float | None
    output_price: float | None


Sums = Mapping[Key, Iterable[int]]
COUNTS = ("input_tokens", "cached_tokens", "output_tokens", "calls", "estimated")
_COST = ("model", "target", "input_price", "output_price", "source")
_ESTIMATED = case((UsageRecord.is_estimated, 1), else_=0)
_AFTER_MARK = UsageRecord.usage_id > select(func.coalesce(func.max(UsageMark.usage_id), 0)).scalar_subquery()


def sum_records(*, seconds: float | None = None) -> bool:
    """Add up some records after the mark, which moves in the same transaction; return whether there are more."""
    turn = Slice(seconds)
    while turn.has_time():
        with write_transaction():
            count = _add_some()
        if count < BATCH_SIZE:
            return False
    return True


def used(first: datetime, after: datetime, user_id: int | None, by: str) -> Select[*tuple[Any, ...]]:
    """Return the statement for what was used from one midnight until before another, by what its cost depends on and by
    a key: `day`, `model`, `user`, or `conversation`, of which there are no sums.
    """
    since = select(*_of_records(by)).where(UsageRecord.created_at >= first, UsageRecord.created_at < after)
    if user_id is not None:
        since = since.where(UsageRecord.user_id == user_id)
    if by == "conversation":
        parts = since.subquery().c
    else:
        is_each = user_id is None and by == "user"
        whose = UsageSum.user_id.is_not(None) if is_each else UsageSum.user_id == user_id
        summed = select(*_of_sums(by)).where(whose, UsageSum.day >= first.date(), UsageSum.day < after.date())
        parts = union_all(summed, since.where(_AFTER_MARK)).subquery().c
    counts = [func.sum(parts[name]).label(name) for name in COUNTS]
    cost = [parts[name] for name in _COST]
    return select(parts.key, *cost, *counts).group_by(parts.key, *cost)


def people_by_day(first: datetime) -> dict[str, int]:
    """Return how many people wrote something on each day since a midnight, by the day."""
    summed = select(UsageSum.day, func.count(UsageSum.user_id.distinct()).label("people")).where(
        UsageSum.source == CHAT, UsageSum.day >= first.date(), UsageSum.user_id.is_not(None)
    )
    is_summed = exists().where(UsageSum.user_id == UsageRecord.user_id, UsageSum.day == DAY, UsageSum.source == CHAT)
    since = select(DAY, func.count(UsageRecord.user_id.distinct())).where(
        _AFTER_MARK, UsageRecord.kind == CHAT, UsageRecord.created_at >= first, ~is_summed
    )
    totals: dict[str, int] = defaultdict(int)
    for day, people in db.session.execute(union_all(summed.group_by(UsageSum.day), since.group_by(DAY))):
        totals[str(day)] += people
    return totals


def _of_sums(by: str) -> list[Any]:
    key = {"day": UsageSum.day, "model": UsageSum.model, "user": UsageSum.user_id}[by]
    return [key.label("key"), *(getattr(UsageSum, name) for name in (*_COST, *COUNTS))]


def _of_records(by: str) -> list[Any]:
    """Return the columns of `_of_sums`, of each record."""
    key = {
        "day": DAY,
        "model": UsageRecord.model,
        "conversation": UsageRecord.conversation_id,
        "user": UsageRecord.user_id,
    }[by]
    extra = {"source": SOURCE, "calls": literal(1), "estimated": _ESTIMATED}
    columns = [extra[name].label(name) if name in extra else getattr(UsageRecord, name) for name in (*_COST, *COUNTS)]
    return [key.label("key"), *columns]


def lock_mark() -> UsageMark:
    """Return the mark, which no one else moves before the transaction ends."""
    mark = db.session.scalar(select(UsageMark).with_for_update().execution_options(populate_existing=True))
    if mark is None:
        add_row(mark := UsageMark(mark_id=1, usage_id=0))
    return mark


def sums_of(*conditions: ColumnElement[bool]) -> dict[Key, list[int]]:
    """Return the sums of some records, of each person."""
    made: dict[str, Any] = {"day": DAY, "source": SOURCE}
    key = [made[name] if name in made else getattr(UsageRecord, name) for name in Key._fields]
    tokens = (UsageRecord.input_tokens, UsageRecord.cached_tokens, UsageRecord.output_tokens)
    counts = (*map(func.sum, tokens), func.count(), func.sum(_ESTIMATED))
    rows = db.session.execute(select(*key, *counts).where(*conditions).group_by(*key))
    return {Key(*row[: len(key)]): [int(count) for count in row[len(key) :]] for row in rows}


def add(more: Sums, sign: int = 1) -> None:
    """Add to the sums of persons and of everybody, or with `sign` -1 subtract from them; the mark is locked."""
    if not more:
        return
    changes: dict[Key, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for key, counts in more.items():
        for level in {key, key._replace(user_id=None)}:
            changes[level] = [old + sign * count for old, count in zip(changes[level], counts, strict=True)]
    people = {key.user_id for key in changes if key.user_id is not None}
    statement = select(UsageSum).where(
        or_(UsageSum.user_id.in_(people), UsageSum.user_id.is_(None)), UsageSum.day.in_({key.day for key in changes})
    )
    stored = {Key(*(getattr(row, name) for name in Key._fields)): row for row in db.session.scalars(statement)}
    for key, counts in changes.items():
        row = stored.get(key)
        if row is None:
            row = UsageSum(**key._asdict(), **dict.fromkeys(COUNTS, 0))
            db.session.add(row)
        for name, count in zip(COUNTS, counts, strict=True):
            setattr(row, name, getattr(row, name) + count)
        if not row.calls:
            db.session.delete(row)
    db.session.flush()


def _add_some() -> int:
    """Add up the oldest records after the mark that are old enough; returns how many."""
    mark = lock_mark()
    before = now() - LAG
    oldest = select(UsageRecord.usage_id, UsageRecord.created_at).where(UsageRecord.usage_id > mark.usage_id)
    rows = db.session.execute(oldest.order_by(UsageRecord.usage_id).limit(BATCH_SIZE)).all()
    ids = [row.usage_id for row in takewhile(lambda row: row.created_at <= before, rows)]
    if ids:
        add(sums_of(UsageRecord.usage_id > mark.usage_id, UsageRecord.usage_id <= ids[-1]))
        mark.usage_id = ids[-1]
    return len(ids)


@account_deleted.connect
def _account_deleted(_sender: object, *, user_id: int) -> None:
    """Take what somebody used out of everybody's sums; their own go with the account."""
    lock_mark()
    columns = [getattr(UsageSum, name) for name in (*Key._fields, *COUNTS)]
    more: dict[Key, list[int]] = {}
    for row in db.session.execute(select(*columns).where(UsageSum.user_id == user_id)):
        more[Key(*row[: len(Key._fields)])] = list(row[len(Key._fields) :])
    add(more, -1)
