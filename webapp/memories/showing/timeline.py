"""Memories along time: how many were learned and ended each month, what held when, and what replaced what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo

from sqlalchemy import select

from webapp.db.base import db, now
from webapp.i18n.dates import is_dated
from webapp.memories.models import Memory

MOST = 20_000
"""The memories looked at, those learned last."""
MOST_ROWS = 60
MOST_LISTED = 500
"""Rows for a program."""
MOST_MONTHS = 60
"""Bars; of a longer time each is a year."""


@dataclass(frozen=True, slots=True)
class Period:
    """A month, or a year if `month` is 0; of the zone of whoever reads."""

    year: int
    month: int = 0

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """Return its first moment, and the first after it."""
        first = date(self.year, self.month or 1, 1)
        following = date(self.year + (self.month in (0, 12)), 1 if self.month in (0, 12) else self.month + 1, 1)
        first_moment, end = (datetime.combine(day, time(), zone).astimezone(UTC) for day in (first, following))
        return first_moment, end


@dataclass(frozen=True, slots=True)
class Bar:
    """A period with how many memories were learned and ended in it, as heights out of 100."""

    period: Period
    learned: int
    ended: int
    learned_height: float
    ended_height: float


@dataclass(frozen=True, slots=True)
class Span:
    """A memory from when it held until it ended, `start` and `width` as shares of the time shown, out of 1,000."""

    memory_id: int
    content: str
    began: datetime
    ended: datetime | None
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Row:
    """Memories of which each replaced the one before, oldest first."""

    spans: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Everything that is shown; `left_out` rows are more than fit."""

    bars: Sequence[Bar]
    rows: Sequence[Row]
    period: Period | None
    kind: str
    began: datetime
    ended: datetime
    left_out: int = 0


@dataclass(slots=True)
class _Held:
    memory_id: int
    began: datetime
    ended: datetime | None
    followed_by: int | None


def timeline_of(user_id: int, zone: tzinfo, period: Period | None = None, kind: str = "") -> Timeline:
    """Return the timeline of a user's own memories, all or of one kind; without a period, of all time."""
    held = _held(user_id, kind)
    at = now()
    first = min((item.began for item in held), default=at)
    began, ended = period.bounds(zone) if period else (first, at)
    rows, left_out = _latest_rows(user_id, held, began, ended, is_narrowed=period is not None)
    return Timeline(_bars(held, zone, at), rows, period, kind, began, ended, left_out)


def rows_between(user_id: int, began: datetime | None, ended: datetime | None) -> tuple[list[Row], int]:
    """Return what was learned, held and replaced in a time, latest first, and how many rows more there are."""
    held = _held(user_id, "")
    first = min((item.began for item in held), default=now())
    is_narrowed = began is not None or ended is not None
    return _latest_rows(user_id, held, began or first, ended or now(), is_narrowed=is_narrowed, most=MOST_LISTED)


def _latest_rows(
    user_id: int, held: Sequence[_Held], began: datetime, ended: datetime, *, is_narrowed: bool, most: int = MOST_ROWS
) -> tuple[list[Row], int]:
    rows = [row for row in _rows(held) if not is_narrowed or any(_touches(item, began, ended) for item in row)]
    rows.sort(key=lambda row: max(filter(None, (row[-1].began, row[-1].ended))), reverse=True)
    shown = rows[:most]
    texts = _texts(user_id, [item.memory_id for row in shown for item in row])
    until = min(ended, now())
    spans = ([_span(item, texts, began, until) for item in row if item.memory_id in texts] for row in shown)
    return list(map(Row, spans)), len(rows) - len(shown)


def _held(user_id: int, kind: str) -> list[_Held]:
    wanted = (
        select(
            Memory.memory_id,
            Memory.valid_from,
            Memory.asserted_at,
            Memory.created_at,
            Memory.valid_to,
            Memory.superseded_by_id,
        )
        .where(
            Memory.user_id == user_id,
            Memory.space_id.is_(None),
            Memory.is_archived.is_(False),
            Memory.needs_review.is_(False),
            *([Memory.memory_type == kind] if kind else []),
        )
        .order_by(Memory.created_at.desc(), Memory.memory_id.desc())
        .limit(MOST)
    )
    held = []
    for memory_id, valid_from, asserted_at, created_at, valid_to, following in db.session.execute(wanted):
        dated = [at for at in (valid_from, asserted_at, created_at) if at and is_dated(at)]
        began = dated[0] if dated else created_at
        held.append(_Held(memory_id, began, max(began, valid_to) if valid_to else None, following))
    return held


def _rows(held: Iterable[_Held]) -> list[list[_Held]]:
    """Return what replaced what as chains, oldest first."""
    by_id = {item.memory_id: item for item in held}
    ends: dict[int, int] = {}

    def end_of(memory_id: int) -> int:
        path = []
        while memory_id not in ends and memory_id not in path:
            path.append(memory_id)
            following = by_id[memory_id].followed_by
            if following is None or following not in by_id:
                break
            memory_id = following
        last = ends.get(memory_id, memory_id)
        ends.update(dict.fromkeys(path, last))
        return last

    rows: dict[int, list[_Held]] = {}
    for item in by_id.values():
        rows.setdefault(end_of(item.memory_id), []).append(item)
    return [sorted(row, key=lambda item: (item.began, item.memory_id)) for row in rows.values()]


def _touches(item: _Held, began: datetime, ended: datetime) -> bool:
    """Return true if something happened to a memory in a time."""
    return any(moment is not None and began <= moment < ended for moment in (item.began, item.ended))


def _texts(user_id: int, memory_ids: Sequence[int]) -> dict[int, str]:
    wanted = select(Memory.memory_id, Memory.content).where(Memory.user_id == user_id, Memory.memory_id.in_(memory_ids))
    return dict(db.session.execute(wanted).all()) if memory_ids else {}


def _span(item: _Held, texts: dict[int, str], began: datetime, ended: datetime) -> Span:
    whole = max(1.0, (ended - began).total_seconds())
    start = min(1.0, max(0.0, (item.began - began).total_seconds() / whole))
    end = min(1.0, max(0.0, ((item.ended or ended) - began).total_seconds() / whole))
    width = max(6.0, 1_000 * (end - start))
    left = min(1_000 * start, 1_000 - width)
    return Span(item.memory_id, texts[item.memory_id], item.began, item.ended, round(left, 1), round(width, 1))


def _bars(held: Sequence[_Held], zone: tzinfo, at: datetime) -> list[Bar]:
    learned = Counter(_month(item.began, zone) for item in held)
    ended = Counter(_month(item.ended, zone) for item in held if item.ended is not None and item.ended <= at)
    if not learned:
        return []
    first, last = min(learned), max(*learned, _month(at, zone))
    months = (last[0] - first[0]) * 12 + last[1] - first[1] + 1
    if months > MOST_MONTHS:
        learned, ended = _by_year(learned), _by_year(ended)
        periods = [(year, 0) for year in range(first[0], last[0] + 1)][-MOST_MONTHS:]
    else:
        periods = [divmod(first[0] * 12 + first[1] - 1 + number, 12) for number in range(months)]
        periods = [(year, month + 1) for year, month in periods]
    most = max(1, *(count for key in periods for count in (learned[key], ended[key])))
    return [
        Bar(Period(*key), learned[key], ended[key], _share(learned[key], most), _share(ended[key], most))
        for key in periods
    ]


def _share(count: int, most: int) -> float:
    return round(100 * count / most, 1)


def _month(at: datetime, zone: tzinfo) -> tuple[int, int]:
    local = at.astimezone(zone)
    return local.year, local.month


def _by_year(months: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    years: Counter[tuple[int, int]] = Counter()
    for (year, _), count in months.items():
        years[year, 0] += count
    return years
