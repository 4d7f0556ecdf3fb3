"""Lists and pages with 1,000, 100,000 and 1,000,000 rows of one user: server time, and whether it stays flat."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from flask import Flask
from sqlalchemy import event, text
from werkzeug.test import TestResponse

from bench.product import application
from bench.report import percentile, table, verdict
from testkit.account_rows import MAX_MEMORIES, fill
from testkit.list_requests import list_requests
from testkit.people import make_person
from testkit.servers import test_servers
from webapp.db.base import db

SIZES = (1_000, 100_000, 1_000_000)
DATABASES = {"mysql": "mariadb", "sqlite": "sqlite"}
REQUESTS = 50
WARM_UP = 5
LIMIT_MS = 25.0
BUFFER_POOL = 512 * 2**20  # for MariaDB while it is filled; with the tests' 64 MB that would be a test of the disk


def main() -> bool:
    """Fill each database step by step and time the hot views at each size; returns whether the promise held.

    TEST_DB=mysql or TEST_DB=sqlite measures only one of them.
    """
    wanted = os.environ.get("TEST_DB")
    held = [_measure(name, label) for name, label in DATABASES.items() if wanted in (None, "", name)]
    return all(held)


def _measure(database: str, label: str) -> bool:
    rows, slowest = [], 0.0
    first: dict[str, float] = {}
    with test_servers(database) as servers:
        app = application(servers, rate_limits=False)
        if servers.mariadb is not None:
            with app.app_context():
                db.session.execute(text(f"SET GLOBAL innodb_buffer_pool_size = {BUFFER_POOL}"))
        person = make_person(app)
        filled = 0
        for size in SIZES:
            started = time.monotonic()
            with app.app_context():
                conversation = fill(person.user_id, filled, size)
            filled = size
            print(
                f"{label}: {size:,} conversations and messages, {min(size, MAX_MEMORIES):,} memories,"
                f" filled in {time.monotonic() - started:.0f} s",
                flush=True,
            )
            for name, request in list_requests(app, person, conversation, size).items():
                queries, p50, p95, cpu = _time(app, request)
                first.setdefault(name, p50)
                slowest = max(slowest, p95)
                rows.append((f"{size:,}", name, queries, p50, p95, cpu, f"{p50 / first[name]:.2f} ×"))
        with app.app_context():
            db.engine.dispose()
    table(
        f"Server time of lists and pages, {label} (ms)",
        ("rows", "view", "queries", "p50", "p95", "CPU of Python p50", "p50 against 1,000"),
        rows,
    )
    return verdict(
        f"every list and page p95 under {LIMIT_MS:.0f} ms up to a million rows on {label}", slowest < LIMIT_MS
    )


def _time(app: Flask, request: Callable[[], TestResponse]) -> tuple[int, float, float, float]:
    """The number of statements of one request, p50 and p95 of its time, and p50 of its thread's CPU time."""
    for _ in range(WARM_UP):
        _check_status(request())
    with app.app_context():
        engine = db.engine
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", note := lambda _c, _k, statement, *_: sent.append(statement))
    _check_status(request())
    event.remove(engine, "before_cursor_execute", note)
    times, cpu = [], []
    for _ in range(REQUESTS):
        started, used = time.perf_counter(), time.thread_time()
        response = request()
        times.append((time.perf_counter() - started) * 1_000)
        cpu.append((time.thread_time() - used) * 1_000)
        _check_status(response)
    queries = sum(not statement.startswith("BEGIN") for statement in sent)
    return queries, percentile(times, 50), percentile(times, 95), percentile(cpu, 50)


def _check_status(response: TestResponse) -> None:
    if response.status_code != 200:
        raise RuntimeError(f"{response.request.path} answered {response.status_code}")
