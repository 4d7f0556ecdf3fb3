"""Ten thousand schedules due at one minute: each is sent once, and nobody who chats meanwhile waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from sqlalchemy import func, insert, select, update

from bench import load
from bench.first import people
from bench.report import percentile, table, verdict
from bench.stack import Stack, run_stack
from webapp.accounts.models import User
from webapp.db.base import db, now, write_transaction
from webapp.schedules.models import Schedule, ScheduleRun

DUE = 10_000
OWNERS = 100
TURNS = 60
PAUSE = 0.3
SLOWER = 1.1
"""How many times longer a first token may take at p50 while they are claimed and sent."""
CLAIM_SECONDS = 300


def main() -> bool:
    """Print it for MariaDB; returns whether chats were as fast, and each schedule was claimed once."""
    with run_stack(database="mariadb", worker=True, schedule=True) as stack:
        stack.script(tokens=3, stamp=True)
        tokens = people(stack, OWNERS)
        with stack.application.app_context():
            _add_schedules()
            _first_tokens(stack, tokens, 10)
            usual = _first_tokens(stack, tokens, TURNS)
            began = time.monotonic()
            with write_transaction():
                db.session.execute(update(Schedule).values(next_at=now()))
            _wait_for(lambda: _runs() > 0)
            meanwhile = _first_tokens(stack, tokens, TURNS)
            _wait_for(lambda: _runs() >= DUE)
            claimed = time.monotonic() - began
            afterwards = _first_tokens(stack, tokens, TURNS)
            twice = _runs() - _schedules_with_runs()
            sent = _runs("done")
    rows = [
        (name, percentile(found, 50), percentile(found, 95))
        for name, found in (
            ("usual", usual),
            ("while they are claimed", meanwhile),
            ("while they are sent", afterwards),
        )
    ]
    table(f"First token with {DUE:,} schedules due, mariadb (ms)", ("", "p50", "p95"), rows)
    print(f"\nAll were claimed after {claimed:.0f} s; {sent:,} had been sent when this ended.")
    ratio = max(row[1] for row in rows[1:]) / rows[0][1]
    once = verdict("each is claimed, and none twice", not twice)
    return verdict(f"a first token takes at most {SLOWER} times as long (here {ratio:.2f})", ratio <= SLOWER) and once


def _add_schedules() -> None:
    """Give OWNERS people DUE schedules in all, due next year."""
    with write_transaction():
        ids = db.session.scalars(select(User.user_id).order_by(User.user_id.desc()).limit(OWNERS)).all()
        later = now() + timedelta(days=365)
        made = {"rrule": "FREQ=DAILY", "timezone": "UTC", "at": later.replace(tzinfo=None), "next_at": later}
        rows = [
            {"user_id": ids[number % OWNERS], "title": f"Plan {number}", "prompt": f"Plan {number}?", **made}
            for number in range(DUE)
        ]
        db.session.execute(insert(Schedule), rows)


def _first_tokens(stack: Stack, tokens: Sequence[str], count: int) -> list[float]:
    """Ask one question after another, each as another person; returns the milliseconds to each first token."""
    found = []
    for number in range(count):
        found.append(load.first_token(stack.url, load.chat_request(stack.url, tokens[number % len(tokens)])))
        time.sleep(PAUSE)
    return found


def _runs(status: str = "") -> int:
    wanted = select(func.count()).select_from(ScheduleRun)
    found = db.session.scalar(wanted.where(ScheduleRun.status == status) if status else wanted) or 0
    db.session.rollback()
    return found


def _schedules_with_runs() -> int:
    found = db.session.scalar(select(func.count(ScheduleRun.schedule_id.distinct()))) or 0
    db.session.rollback()
    return found


def _wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + CLAIM_SECONDS
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError("the schedules were not claimed")
        time.sleep(0.2)
