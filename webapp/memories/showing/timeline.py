"""Memories along time: how many were learned and ended each month, what held when, and what replaced what."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo

from sqlalchemy import select

from webapp.db.base import db, now
from webapp.i18n.dates import is_dated
from webapp.memories.models import Memory

MAX_MEMORIES = 20_000
"""The memories looked at, those learned last."""
MAX_ROWS = 60
MAX_LISTED = 500
"""Rows for a program."""
MIN_MONTHS, MAX_MONTHS = 12, 60
"""Bars; of a longer time each is a year."""


@dataclass(frozen=True, slots=True)
class Period:
    """A month, or a year if `month` is 0; of the zone of whoever reads."""

    year: int
    month: int = 0

    def bounds(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """Return the period's first moment, and the first after it."""
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


Row = Sequence[Span]
"""Memories of which each replaced the one before, those in use last."""


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
class _Lifetime:
    memory_id: int
    began: datetime
    ended: datetime | None
    followed_by: int | None


def timeline_of(user_id: int, zone: tzinfo, period: Period | None = None, kind: str = "") -> Timeline:
    """Return the timeline of a user's own memories, all or of one kind; without a period, of all time."""
    memories = _select_spans(user_id, kind)
    moment = now()
    first = min((item.began for item in memories), default=moment)
    start, end = period.bounds(zone) if period else (first, moment)
    rows, left_out = _latest_rows(user_id, memories, start, end, is_narrowed=period is not None)
    return Timeline(_bars(memories, zone, moment), rows, period, kind, start, end, left_out)


def rows_between(user_id: int, start: datetime | None, end: datetime | None) -> tuple[list[Row], int]:
    """Return what was learned, held and replaced in a time, latest first, and how many rows more there are."""
    memories = _select_spans(user_id, "")
    first = min((item.began for item in memories), default=now())
    is_narrowed = start is not None or end is not None
    return _latest_rows(user_id, memories, start or first, end or now(), is_narrowed=is_narrowed, limit=MAX_LISTED)


def _latest_rows(
    user_id: int,
    memories: Sequence[_Lifetime],
    start: datetime,
    end: datetime,
    *,
    is_narrowed: bool,
    limit: int = MAX_ROWS,
) -> tuple[list[Row], int]:
    rows = [row for row in _rows(memories) if not is_narrowed or any(_touches(item, start, end) for item in row)]
    rows.sort(key=lambda row: max(filter(None, (row[-1].began, row[-1].ended))), reverse=True)
    latest = rows[:limit]
    texts = _texts(user_id, [item.memory_id for row in latest for item in row])
    until = min(end, now())
    spans: list[Row] = [[_span(item, texts, start, until) for item in row if item.memory_id in texts] for row in latest]
    return spans, len(rows) - len(latest)


def _select_spans(user_id: int, kind: str) -> list[_Lifetime]:
    statement = (
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
        .limit(MAX_MEMORIES)
    )
    memories = []
    for memory_id, valid_from, asserted_at, created_at, valid_to, following in db.session.execute(statement):
        moments = [moment for moment in (valid_from, asserted_at, created_at) if moment and is_dated(moment)]
        start = moments[0] if moments else created_at
        memories.append(_Lifetime(memory_id, start, max(start, valid_to) if valid_to else None, following))
    return memories


def _rows(memories: Iterable[_Lifetime]) -> list[list[_Lifetime]]:
    """Return what replaced what as chains, what ended first first."""
    by_id = {item.memory_id: item for item in memories}
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

    rows: dict[int, list[_Lifetime]] = {}
    for item in by_id.values():
        rows.setdefault(end_of(item.memory_id), []).append(item)

    def by_end(item: _Lifetime) -> tuple[bool, datetime, int]:
        return item.ended is None, item.ended or item.began, item.memory_id

    return [sorted(row, key=by_end) for row in rows.values()]


def _touches(item: _Lifetime, start: datetime, end: datetime) -> bool:
    """Return true if something happened to a memory in a time."""
    return any(moment is not None and start <= moment < end for moment in (item.began, item.ended))


def _texts(user_id: int, memory_ids: Sequence[int]) -> dict[int, str]:
    statement = select(Memory.memory_id, Memory.content).where(
        Memory.user_id == user_id, Memory.memory_id.in_(memory_ids)
    )
    return dict(db.session.execute(statement).all()) if memory_ids else {}


def _span(item: _Lifetime, texts: dict[int, str], began: datetime, ended: datetime) -> Span:
    length = max(1.0, (ended - began).total_seconds())
    start = min(1.0, max(0.0, (item.began - began).total_seconds() / length))
    end = min(1.0, max(0.0, ((item.ended or ended) - began).total_seconds() / length))
    width = max(6.0, 1_000 * (end - start))
    left = min(1_000 * start, 1_000 - width)
    return Span(item.memory_id, texts[item.memory_id], item.began, item.ended, round(left, 1), round(width, 1))


def _bars(memories: Sequence[_Lifetime], zone: tzinfo, moment: datetime) -> list[Bar]:
    learned = Counter(_month(item.began, zone) for item in memories)
    ended = Counter(_month(item.ended, zone) for item in memories if item.ended is not None and item.ended <= moment)
    if not learned:
        return []
    first, last = min(learned), max(*learned, _month(moment, zone))
    months = max(MIN_MONTHS, (last[0] - first[0]) * 12 + last[1] - first[1] + 1)
    if months > MAX_MONTHS:
        learned, ended = _by_year(learned), _by_year(ended)
        periods = [(year, 0) for year in range(first[0], last[0] + 1)][-MAX_MONTHS:]
    else:
        periods = [divmod(last[0] * 12 + last[1] - 1 - number, 12) for number in reversed(range(months))]
        periods = [(year, month + 1) for year, month in periods]
    maximum = max(1, *(count for key in periods for count in (learned[key], ended[key])))
    return [
        Bar(Period(*key), learned[key], ended[key], _share(learned[key], maximum), _share(ended[key], maximum))
        for key in periods
    ]


def _share(count: int, maximum: int) -> float:
    return round(100 * count / maximum, 1)


def _month(moment: datetime, zone: tzinfo) -> tuple[int, int]:
    local = moment.astimezone(zone)
    return local.year, local.month


def _by_year(months: Counter[tuple[int, int]]) -> Counter[tuple[int, int]]:
    years: Counter[tuple[int, int]] = Counter()
    for (year, _), count in months.items():
        years[year, 0] += count
    return years
