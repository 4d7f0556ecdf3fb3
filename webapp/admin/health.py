"""One sentence on whether all is well, and what is not: each concern with where it is dealt with; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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


@dataclass(frozen=True, slots=True)
class Vitals:
    """The signs that are read: queues `idle` without a worker, seconds that the first job `waits`, jobs `failed` for
    good, the model's `background_failure`, and replies of the last hour `unanswered` by a model server.
    """

    parts: Mapping[str, str]
    knows_work: bool
    workers: int
    idle: Sequence[str]
    has_scheduler: bool
    waits: Mapping[str, float]
    failed: Mapping[str, int]
    has_model: bool
    embedder_is_away: bool
    background_failure: str
    unanswered: int
    free_bytes: int
    last_backup: datetime | None


def concerns(vitals: Vitals, moment: datetime) -> list[Concern]:
    """Return everything that is not well, what stops people first."""
    states = ((part, state.partition(":")[0]) for part, state in vitals.parts.items())
    servers = [_concern_on_page(_PARTS[state], "parts") for state in states if state in _PARTS]
    all_concerns = [*servers, *_work(vitals), *_models(vitals), *_room(vitals, moment)]
    return sorted(all_concerns, key=lambda concern: not concern.is_urgent)


def _work(vitals: Vitals) -> Iterator[Concern]:
    if not vitals.knows_work:
        return
    if not vitals.workers:
        yield _jobs(N_("No worker is running. Background work waits until one is started."))
    elif vitals.idle:
        yield _jobs(say("No worker serves these queues: %(names)s.", names=", ".join(vitals.idle)))
    if not vitals.has_scheduler:
        yield _jobs(N_("No scheduler is running: nothing is sent at its time, and nothing is cleaned up."))
    late = max(vitals.waits, key=lambda name: vitals.waits[name], default="")
    if late and vitals.waits[late] > LONG_QUEUE_SECONDS:
        minutes = round(vitals.waits[late] / 60)
        text = say("Queue “%(queue)s”: the first job has waited for %(minutes)s minutes.", queue=late, minutes=minutes)
        yield Concern(text, "admin_jobs.list_jobs", {"queue": late, "state": "queued"}, is_urgent=False)
    if failed := sum(vitals.failed.values()):
        worst = max(vitals.failed, key=lambda name: vitals.failed[name])
        text = say_n("%(num)s job failed for good.", "%(num)s jobs failed for good.", failed)
        yield Concern(text, "admin_jobs.list_jobs", {"queue": worst, "state": "failed"}, is_urgent=False)


def _models(vitals: Vitals) -> Iterator[Concern]:
    if not vitals.has_model:
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
    if vitals.embedder_is_away:
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
