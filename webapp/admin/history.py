"""The past as tables and queues hold it: people who were active, files that came, jobs that were done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate

from redis import Redis
from redis.exceptions import RedisError
from rq.registry import BaseRegistry, FailedJobRegistry, FinishedJobRegistry
from sqlalchemy import func, select, text

from webapp.background.job_specs import FAILURE_SECONDS, RESULT_SECONDS, Queue, rq_queue
from webapp.db.base import db, now
from webapp.files.models import File
from webapp.usage.reports import midnight
from webapp.usage.sums import people_by_day

DAYS = 30
DONE_STEPS, FAILED_STEPS = 12, 7
"""Jobs done are counted in five minutes of the last hour, failed ones in days: RQ keeps them for that long."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The last days, UTC, newest last: how many people wrote something, and the bytes of files by its end."""

    days: Sequence[date]
    people: Sequence[int]
    file_bytes: Sequence[int]


@dataclass(frozen=True, slots=True)
class QueueHistory:
    """Jobs of a queue that were done, and that failed and were not made good since; the newest last."""

    done: Sequence[int]
    failed: Sequence[int]


def growth() -> Growth:
    """Return the last thirty days of people and files. Whoever had only schedules write for them was not active."""
    today = now().date()
    days = [today - timedelta(days=number) for number in reversed(range(DAYS))]
    since = midnight(days[0])
    created_on = func.date(File.created_at)
    people = people_by_day(since)
    before = db.session.scalar(select(func.coalesce(func.sum(File.size), 0)).where(File.created_at < since))
    statement = select(created_on, func.sum(File.size)).where(File.created_at >= since).group_by(created_on)
    sizes = {str(day): int(size) for day, size in db.session.execute(statement)}
    grown = accumulate((sizes.get(day.isoformat(), 0) for day in days), initial=int(before or 0))
    return Growth(days, [people.get(day.isoformat(), 0) for day in days], list(grown)[1:])


def database_bytes() -> int:
    """Return how large the database is, as it says itself."""
    if db.engine.dialect.name == "sqlite":
        statement = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    else:
        statement = (
            "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables"
            " WHERE table_schema = DATABASE()"
        )
    return int(db.session.scalar(text(statement)) or 0)


def jobs(client: Redis) -> dict[str, QueueHistory]:
    """Return what became of the jobs of each queue; nothing while Redis is away."""
    timestamp = datetime.now(UTC).timestamp()
    try:
        with client.pipeline(transaction=False) as pipe:
            for name in Queue:
                queue = rq_queue(client, name)
                _count(pipe, FinishedJobRegistry(queue=queue), timestamp, DONE_STEPS, 300, RESULT_SECONDS)
                _count(pipe, FailedJobRegistry(queue=queue), timestamp, FAILED_STEPS, 86_400, FAILURE_SECONDS)
            counts = [int(count) for count in pipe.execute()]
    except RedisError:
        return {}
    counts_by_queue, each = {}, DONE_STEPS + FAILED_STEPS
    for number, name in enumerate(Queue):
        numbers = counts[number * each : (number + 1) * each]
        counts_by_queue[name.value] = QueueHistory(numbers[:DONE_STEPS], numbers[DONE_STEPS:])
    return counts_by_queue


def sum_by_step(counts: Iterable[Sequence[int]]) -> list[int]:
    """Return what all queues did in each step."""
    return [sum(step) for step in zip(*counts, strict=True)]


def _count(pipe: Redis, registry: BaseRegistry, timestamp: float, steps: int, seconds: int, lifetime: int) -> None:
    """Ask for the jobs of each step until now. A job's score is when it will be forgotten, `lifetime` seconds after."""
    for step in reversed(range(steps)):
        until = timestamp - step * seconds + lifetime
        pipe.zcount(registry.key, f"({until - seconds}", "+inf" if step == 0 else until)
