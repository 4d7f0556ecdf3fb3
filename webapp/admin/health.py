"""One sentence on whether all is well, and what is not: each concern with where it is dealt with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from webapp.admin.jobs import QueueCounts, WorkerState
from webapp.background.job_specs import Queue
from webapp.i18n.marks import N_, say, say_n

LITTLE_DISK = 1024**3
"""Fewer free bytes than this are worth a warning."""
LONG_QUEUE_SECONDS = 300
OLD_BACKUP = timedelta(days=8)
"""A backup a week may be a day late."""

_PARTS = N_(
    {
        ("database", "away"): "The database does not accept what people write.",
        ("database", "refuses access"): "The database does not accept what people write.",
        ("database", "locked"): "The database does not accept what people write.",
        ("database", "full"): "The database is full: nothing more can be stored.",
        ("redis", "away"): "Redis cannot be reached. Pending work continues as soon as it is back.",
        ("redis", "refuses the password"): "Redis cannot be reached. Pending work continues as soon as it is back.",
        ("redis", "cannot be written to"): "Redis does not accept anything. It may be full.",
        ("migrations", "not current"): (
            "The database schema does not match this version. Run “flask --app wsgi db upgrade”."
        ),
        ("tables", "missing"): "Tables are missing from the database. “flask doctor” names them.",
    }
)


@dataclass(frozen=True, slots=True)
class Concern:
    """A thing that is not well, and the endpoint with its arguments where it is seen to; `is_urgent`: it is broken."""

    text: str
    endpoint: str
    values: Mapping[str, str]
    is_urgent: bool = True


@dataclass(frozen=True)
class Work:
    """Background work; unknown while Redis is away."""

    known: bool
    queues: list[QueueCounts] = field(default_factory=list)
    workers: list[WorkerState] = field(default_factory=list)
    has_scheduler: bool = False

    @property
    def failed(self) -> int:
        """Return jobs that failed for good, in all queues."""
        return sum(queue.counts["failed"] for queue in self.queues)

    @property
    def idle(self) -> list[str]:
        """Return the queues that no worker serves."""
        served = {name for worker in self.workers for name in worker.queues}
        return [queue.value for queue in Queue if queue.value not in served]


@dataclass(frozen=True)
class Model:
    """The models that answer and work for the site, and their server."""

    address: str
    chat: str
    background: str
    embedding: str
    is_demonstration: bool
    embedder_is_away: bool


@dataclass(frozen=True, slots=True)
class Vitals:
    """The signs that are read: the states of `parts`, what works, the failure of the model for background work, and
    replies of the last hour `unanswered` by a model server.
    """

    parts: Mapping[str, str]
    work: Work
    model: Model
    background_failure: str
    unanswered: int
    free_bytes: int
    last_backup: datetime | None


def concerns(vitals: Vitals, moment: datetime) -> list[Concern]:
    """Return everything that is not well, what stops people first."""
    states = ((part, state.partition(":")[0]) for part, state in vitals.parts.items())
    servers = [_concern_on_page(_PARTS[state], "parts") for state in states if state in _PARTS]
    all_concerns = [*servers, *_work(vitals.work), *_models(vitals), *_room(vitals, moment)]
    return sorted(all_concerns, key=lambda concern: not concern.is_urgent)


def _work(work: Work) -> Iterator[Concern]:
    if not work.known:
        return
    if not work.workers:
        yield _jobs(N_("No worker is running. Background work waits until one is started."))
    elif work.idle:
        yield _jobs(say("No worker serves these queues: %(names)s.", names=", ".join(work.idle)))
    if not work.has_scheduler:
        yield _jobs(N_("No scheduler is running: nothing is sent at its time, and nothing is cleaned up."))
    late = max(work.queues, key=lambda queue: queue.waited)
    if late.waited > LONG_QUEUE_SECONDS:
        values = {"queue": late.name, "minutes": round(late.waited / 60)}
        text = say("Queue “%(queue)s”: the first job has waited for %(minutes)s minutes.", **values)
        yield Concern(text, "admin_jobs.list_jobs", {"queue": late.name, "state": "queued"}, is_urgent=False)
    if work.failed:
        worst = max(work.queues, key=lambda queue: queue.counts["failed"])
        text = say_n("%(num)s job failed for good.", "%(num)s jobs failed for good.", work.failed)
        yield Concern(text, "admin_jobs.list_jobs", {"queue": worst.name, "state": "failed"}, is_urgent=False)


def _models(vitals: Vitals) -> Iterator[Concern]:
    if vitals.model.is_demonstration:
        text = N_("No language model is connected: a screen tour answers in its place.")
        yield Concern(text, "connect_pages.new", {}, is_urgent=False)
    if vitals.background_failure:
        text = say("Memories and summaries wait for the model. %(why)s", why=say(vitals.background_failure))
        yield Concern(text, "models_pages.index", {})
    if vitals.unanswered:
        text = say_n(
            "%(num)s reply failed in the last hour because of the model server.",
            "%(num)s replies failed in the last hour because of the model server.",
            vitals.unanswered,
        )
        yield Concern(text, "models_pages.index", {})
    if vitals.model.embedder_is_away:
        yield _concern_on_page(
            N_("Search by meaning does not respond. Keywords are searched meanwhile."), "model", is_urgent=False
        )


def _room(vitals: Vitals, moment: datetime) -> Iterator[Concern]:
    if vitals.free_bytes < LITTLE_DISK:
        free = f"{vitals.free_bytes / 1024**3:.1f}"
        yield _concern_on_page(say("Only %(free)s GB are free on the disk.", free=free), "site", is_urgent=False)
    if vitals.last_backup is not None and moment - vitals.last_backup > OLD_BACKUP:
        days = (moment - vitals.last_backup).days
        yield _concern_on_page(say("The last backup is %(days)s days old.", days=days), "parts", is_urgent=False)


def _concern_on_page(text: str, section: str, *, is_urgent: bool = True) -> Concern:
    return Concern(text, "admin_pages.state_page", {"_anchor": section}, is_urgent)


def _jobs(text: str) -> Concern:
    return Concern(text, "admin_jobs.overview", {})
