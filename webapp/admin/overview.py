"""The state of the site on one page: what it stores, what is queued, connected, installed, and how it grew."""

import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version
from itertools import accumulate
from urllib.parse import urlsplit

from redis import Redis
from redis.exceptions import RedisError
from rq.registry import BaseRegistry, FailedJobRegistry, FinishedJobRegistry
from sqlalchemy import and_, case, func, select, text

from webapp.accounts.models import User
from webapp.admin import jobs
from webapp.admin.backups.backup import last_backup
from webapp.admin.health import Model, Vitals, Work
from webapp.background.job_specs import FAILURE_SECONDS, RESULT_SECONDS, Queue, rq_queue
from webapp.background.queues import background_failure
from webapp.conversations.models import Conversation, Message
from webapp.db.base import count_rows, db, now
from webapp.extensions import app_settings, redis
from webapp.files.models import File
from webapp.llm.errors import MissingKey, ModelError, ModelNotFound, Unauthorized
from webapp.providers.model_choice import Status
from webapp.redis.clients import server_of
from webapp.usage.service import midnight
from webapp.usage.sums import people_by_day

# Workers send a heartbeat at least this often (worker_ttl in jobs/worker.py), with time to spare.
ALIVE = timedelta(seconds=90)
SCHEDULE_LOCK = "schedule:lock"
"""What the scheduler that runs holds (jobs/schedule.py)."""
SERVER_ERRORS = tuple(error.code for error in (ModelError, MissingKey, ModelNotFound, Unauthorized))
"""Codes of replies that failed because of the model's server."""
RECENT = timedelta(hours=1)
PACKAGES = ("Flask", "SQLAlchemy", "rq", "redis", "openai", "gunicorn")


def counts() -> dict[str, int]:
    """Return the numbers of accounts, active accounts, active admins and conversations."""
    active = func.count(case((User.is_active, 1)))
    admins = func.count(case((and_(User.is_admin, User.is_active), 1)))
    users = db.session.execute(select(func.count(), active, admins).select_from(User)).one()
    conversations = db.session.scalar(select(func.count()).select_from(Conversation))
    return {"users": users[0], "active": users[1], "admins": users[2], "conversations": conversations or 0}


def work(client: Redis) -> Work:
    """Queues, and the workers that have sent a heartbeat lately."""
    since = now() - ALIVE
    try:
        workers = [worker for worker in jobs.workers(client) if worker.last_heartbeat and worker.last_heartbeat > since]
        return Work(True, jobs.queues(client), workers, bool(client.exists(SCHEDULE_LOCK)))
    except RedisError:
        return Work(False)


def model(answering: Status, embedding: str, *, background: str = "", embedder_is_away: bool = False) -> Model:
    """Return where replies come from, without anything secret, and whether search by meaning works in this process."""
    return Model(
        address=without_credentials(answering.server.base_url),
        chat=answering.label,
        background=background or answering.server.background_model,
        embedding=embedding,
        is_demonstration=not answering.is_connected,
        embedder_is_away=embedder_is_away,
    )


def vitals(parts: Mapping[str, str], work: Work, answering: Model) -> Vitals:
    """Return the signs of whether all is well: the state of the site, and what else is quickly known."""
    return Vitals(
        parts,
        work,
        answering,
        background_failure=background_failure(redis()),
        unanswered=count_rows(
            Message.status == "failed", Message.created_at >= now() - RECENT, Message.error_code.in_(SERVER_ERRORS)
        ),
        free_bytes=shutil.disk_usage(app_settings().var_dir).free,
        last_backup=last_backup(),
    )


def versions(client: Redis) -> dict[str, str]:
    """Return the versions of what this installation runs on, by name."""
    result = {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    dialect = db.engine.dialect
    numbers = ".".join(str(part) for part in dialect.server_version_info or ())
    name = "MariaDB" if getattr(dialect, "is_mariadb", False) else {"mysql": "MySQL", "sqlite": "SQLite"}[dialect.name]
    result[name] = numbers
    try:
        result["Redis server"] = server_of(client.info("server"))
    except RedisError:
        result["Redis server"] = "away"
    return result


def without_credentials(url: str) -> str:
    """Return an address without a user and a password, a query or a fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


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


def job_history(client: Redis) -> dict[str, QueueHistory]:
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
