"""The state of the site on one page: how much it holds, what is queued, what is connected, what is installed."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from redis import Redis
from redis.exceptions import RedisError
from rq import Worker
from rq.registry import FailedJobRegistry, ScheduledJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer
from sqlalchemy import and_, case, func, select

from webapp.accounts.models import User
from webapp.background.job_specs import Queue, rq_queue
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.providers.status import Status
from webapp.redis.clients import server_of

# Workers send a heartbeat at least this often (worker_ttl in jobs/worker.py), with time to spare.
ALIVE = timedelta(seconds=90)
PACKAGES = ("Flask", "SQLAlchemy", "rq", "redis", "openai", "gunicorn")


@dataclass(frozen=True)
class QueueState:
    """A queue: how many jobs are waiting, running, waiting for another try, and failed for good."""

    name: str
    queued: int
    running: int
    scheduled: int
    failed: int


@dataclass(frozen=True)
class WorkerLine:
    """A worker that has sent a heartbeat lately."""

    name: str
    state: str
    queues: list[str]
    last_heartbeat: datetime


@dataclass(frozen=True)
class Work:
    """Background work; unknown while Redis is away."""

    known: bool
    queues: list[QueueState] = field(default_factory=list)
    workers: list[WorkerLine] = field(default_factory=list)

    @property
    def failed(self) -> int:
        """Jobs that failed for good, in all queues."""
        return sum(queue.failed for queue in self.queues)


@dataclass(frozen=True)
class Model:
    """The models that answer and work for the site, and their server."""

    address: str
    chat: str
    background: str
    embedding: str
    is_demonstration: bool
    embedder_is_away: bool


def counts() -> dict[str, int]:
    """The numbers of accounts, active accounts, active admins and conversations."""
    active = func.count(case((User.is_active, 1)))
    admins = func.count(case((and_(User.is_admin, User.is_active), 1)))
    users = db.session.execute(select(func.count(), active, admins).select_from(User)).one()
    conversations = db.session.scalar(select(func.count()).select_from(Conversation))
    return {"users": users[0], "active": users[1], "admins": users[2], "conversations": conversations or 0}


def work(client: Redis) -> Work:
    """Queues and workers."""
    try:
        return Work(True, [_queue_state(client, name) for name in Queue], _workers(client))
    except RedisError:
        return Work(False)


def model(answering: Status, embedding: str, *, background: str = "", embedder_is_away: bool = False) -> Model:
    """Return where replies come from, without anything secret, and whether search by meaning works, as this process
    knows.
    """
    return Model(
        address=without_credentials(answering.server.base_url),
        chat=answering.label,
        background=background or answering.server.background_model,
        embedding=embedding,
        is_demonstration=not answering.is_connected,
        embedder_is_away=embedder_is_away,
    )


def versions(client: Redis) -> dict[str, str]:
    """The versions of what this installation runs on, by name."""
    found = {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    dialect = db.engine.dialect
    numbers = ".".join(str(part) for part in dialect.server_version_info or ())
    name = "MariaDB" if getattr(dialect, "is_mariadb", False) else {"mysql": "MySQL", "sqlite": "SQLite"}[dialect.name]
    found[name] = numbers
    try:
        found["Redis server"] = server_of(client.info("server"))
    except RedisError:
        found["Redis server"] = "away"
    return found


def without_credentials(url: str) -> str:
    """An address without a user and a password, a query or a fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()


def _queue_state(client: Redis, name: Queue) -> QueueState:
    queue = rq_queue(client, name)
    return QueueState(
        name=name.value,
        queued=queue.count,
        running=StartedJobRegistry(queue=queue).get_job_count(cleanup=False),
        scheduled=ScheduledJobRegistry(queue=queue).get_job_count(cleanup=False),  # type: ignore[no-untyped-call]
        failed=FailedJobRegistry(queue=queue).get_job_count(cleanup=False),
    )


def _workers(client: Redis) -> list[WorkerLine]:
    since = datetime.now(UTC) - ALIVE
    found = []
    for worker in Worker.all(connection=client, serializer=JSONSerializer):
        heartbeat = worker.last_heartbeat
        if heartbeat is None:
            continue
        heartbeat = heartbeat if heartbeat.tzinfo else heartbeat.replace(tzinfo=UTC)
        if heartbeat >= since:
            found.append(WorkerLine(worker.name, _word(worker.get_state()), worker.queue_names(), heartbeat))
    return sorted(found, key=lambda worker: worker.name)


def _word(state: Any) -> str:
    word = str(getattr(state, "value", state))
    return "starting" if word == "?" else word
