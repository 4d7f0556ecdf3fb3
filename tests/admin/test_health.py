"""The one status: each thing that is not well is named, with where it is seen to, and what stops people comes first."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import url_for

from webapp.admin.health import LITTLE_DISK, LONG_QUEUE_SECONDS, OLD_BACKUP, Model, Vitals, Work, concerns
from webapp.admin.jobs import QueueCounts, WorkerState

AT = datetime(2026, 11, 27, 12, tzinfo=UTC)
MODEL = Model("", "", "", "", is_demonstration=False, embedder_is_away=False)


def work(queues: list[tuple[str, float, int]], served: str = "turn upkeep index batch", has_scheduler=True) -> Work:
    """The background work: queues, each with the wait of its first job and its failed ones; which a worker serves."""
    counts = [QueueCounts(name, {"failed": failed}, waited) for name, waited, failed in queues]
    workers = [WorkerState("w", "busy", served.split(), AT, "", 0, 0)] if served else []
    return Work(True, counts, workers, has_scheduler)


IDLE = [("turn", 0.0, 0)]
WELL = Vitals(
    parts={"database": "ok", "redis": "ok", "migrations": "ok"},
    work=work([("turn", LONG_QUEUE_SECONDS, 0)]),
    model=MODEL,
    background_failure="",
    unanswered=0,
    free_bytes=LITTLE_DISK,
    last_backup=AT - OLD_BACKUP,
)
ILLS: list[tuple[dict[str, Any], str, str, bool]] = [
    ({"parts": {"database": "away", "migrations": "unknown"}}, "The database does not accept", "state_page", True),
    ({"parts": {"database": "full"}}, "The database is full", "state_page", True),
    ({"parts": {"redis": "away"}}, "Redis cannot be reached", "state_page", True),
    ({"parts": {"redis": "cannot be written to"}}, "Redis does not accept", "state_page", True),
    ({"parts": {"migrations": "not current"}}, "flask --app wsgi db upgrade", "state_page", True),
    ({"work": work(IDLE, served="")}, "No worker is running", "overview", True),
    ({"work": work(IDLE, served="turn upkeep")}, "No worker serves these queues: index, batch.", "overview", True),
    ({"work": work(IDLE, has_scheduler=False)}, "No scheduler is running", "overview", True),
    (
        {"work": work([("turn", 301.0, 0), ("batch", 720.0, 0)])},
        "Queue “batch”: the first job has waited for 12 minutes.",
        "list_jobs",
        False,
    ),
    ({"work": work([("turn", 0.0, 1), ("batch", 0.0, 2)])}, "3 jobs failed for good.", "list_jobs", False),
    ({"work": work([("turn", 0.0, 1)])}, "1 job failed for good.", "list_jobs", False),
    ({"model": replace(MODEL, is_demonstration=True)}, "No language model is connected", "new", False),
    ({"parts": {"tables": "missing: memories"}}, "Tables are missing", "state_page", True),
    ({"background_failure": "It is gone."}, "Memories and summaries wait for the model. It is gone.", "index", True),
    ({"unanswered": 2}, "2 replies failed in the last hour", "index", True),
    ({"model": replace(MODEL, embedder_is_away=True)}, "Search by meaning does not respond", "state_page", False),
    ({"free_bytes": LITTLE_DISK // 2}, "Only 0.5 GB are free", "state_page", False),
    ({"last_backup": AT - OLD_BACKUP - timedelta(minutes=1)}, "The last backup is 8 days old.", "state_page", False),
]


@pytest.mark.parametrize("change", [{}, {"last_backup": None}, {"work": Work(False)}])
def test_all_is_well(change):
    """Nobody who backs up in another way is told off; of what Redis does not say, nothing is said."""
    assert concerns(replace(WELL, **change), AT) == []


@pytest.mark.parametrize(("change", "said", "place", "is_urgent"), ILLS)
def test_each_thing_that_is_not_well(app, change, said, place, is_urgent):
    (found,) = concerns(replace(WELL, **change), AT)
    assert said in found.text and found.endpoint.endswith(f".{place}") and found.is_urgent is is_urgent
    with app.test_request_context():
        assert url_for(found.endpoint, **found.values).startswith("/admin")


def test_what_stops_people_comes_first():
    failed, tour = work([("turn", 0.0, 1)]), replace(MODEL, is_demonstration=True)
    found = concerns(replace(WELL, work=failed, last_backup=None, model=tour, unanswered=1), AT)
    assert [concern.is_urgent for concern in found] == [True, False, False]
