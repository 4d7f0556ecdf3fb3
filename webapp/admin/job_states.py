"""The RQ dashboard's data: queues, jobs, workers and the schedule."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class QueueCounts:
    """A queue, how many of its jobs are in each state, and the seconds since the first that waits was queued."""

    name: str
    counts: dict[str, int]
    waited: float


@dataclass(frozen=True)
class JobLine:
    """A job in a list."""

    job_id: str
    name: str
    description: str
    status: str
    enqueued_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True)
class JobState(JobLine):
    """All that is known about one job. `traceback` is that of its last failure; `actions` what can be done with it."""

    queue: str
    function: str
    ids: dict[str, Any]
    created_at: datetime | None
    started_at: datetime | None
    timeout: int | None
    retries_left: int
    worker: str
    depends_on: list[str]
    result: str
    traceback: str
    actions: tuple[str, ...]


@dataclass(frozen=True)
class WorkerState:
    """A worker, alive or gone; `job_id` is the job it is working on."""

    name: str
    state: str
    queues: list[str]
    last_heartbeat: datetime | None
    job_id: str
    done: int
    failed: int


@dataclass(frozen=True)
class Rhythm:
    """A job that runs on a schedule: every so many seconds, or as a cron line says."""

    name: str
    queue: str
    every: int | None
    cron: str | None
