"""The RQ dashboard's data: queues and workers."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class QueueCounts:
    """A queue, how many of its jobs are in each state, and the seconds since the first that waits was queued."""

    name: str
    counts: dict[str, int]
    waited: float


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
