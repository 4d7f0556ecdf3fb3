"""Lists and pages at 1,000, 100,000 and 1,000,000 rows of one user: server time, and whether it stays flat."""

from __future__ import annotations

import time
from collections.abc import Callable

from flask import Flask
from flask.testing import FlaskClient
from flask_migrate import upgrade
from sqlalchemy import text

from bench.report import percentile, table, verdict
from tests.support.people import Person, browser_client, make_person
from tests.support.servers import test_servers
from webapp import create_app
from webapp.config import Settings
from webapp.database import db, write_transaction

SIZES = (1_000, 100_000, 1_000_000)
REQUESTS = 60
LIMIT_MS = 25.0


def main() -> bool:
    """Fill a MariaDB step by step and time the hot views at each size; whether the promise held."""
    with test_servers() as servers:
        app = create_app(Settings(
            var_dir=servers.directory, database_url=servers.database_url, redis_url=servers.redis_url,
            secret_key="only for benchmarks, and long enough", log_level="WARNING", rate_limits=False,
        ))
        with app.app_context():
            upgrade()
        person = make_person(app)
        rows, slowest = [], 0.0
        first: dict[str, float] = {}
        filled = 0
        for size in SIZES:
            started = time.monotonic()
            conversation = _fill(app, person, filled, size)
            filled = size
            print(f"filled to {size:,} conversations, messages and memories in {time.monotonic() - started:.0f} s")
            for name, request in _views(app, person, conversation).items():
                p50, p95 = _time(request)
                first.setdefault(name, p50)
                slowest = max(slowest, p95)
                rows.append((f"{size:,}", name, p50, p95, f"{p50 / first[name]:.2f} ×"))
    table("Server time of lists and pages, mariadb (ms)", ("rows", "view", "p50", "p95", "p50 against 1,000"), rows)
    return verdict(f"every list and page p95 under {LIMIT_MS:.0f} ms up to a million rows", slowest < LIMIT_MS)


def _views(app: Flask, person: Person, conversation: int) -> dict[str, Callable[[], object]]:
    api: FlaskClient = app.test_client()
    token = {"Authorization": f"Bearer {person.token}"}
    browser = browser_client(app, person)
    partial = {"HX-Request": "true"}
    return {
        "API: conversations": lambda: api.get("/api/conversations?limit=50", headers=token),
        "API: conversation with messages": lambda: api.get(f"/api/conversations/{conversation}", headers=token),
        "API: messages before": lambda: api.get(
            f"/api/conversations/{conversation}/messages?before=900&limit=50", headers=token),
        "sidebar": lambda: browser.get("/sidebar", headers=partial),
        "conversation page": lambda: browser.get(f"/c/{conversation}"),
        "API: memories": lambda: api.get("/api/memories?limit=50", headers=token),
        "memory panel": lambda: browser.get("/memories/panel", headers=partial),
    }


def _time(request: Callable[[], object]) -> tuple[float, float]:
    times = []
    for round_ in range(REQUESTS + 5):
        started = time.perf_counter()
        response = request()
        elapsed = (time.perf_counter() - started) * 1000
        if response.status_code != 200:
            raise RuntimeError(f"{response.request.path} answered {response.status_code}")
        if round_ >= 5:
            times.append(elapsed)
    return percentile(times, 50), percentile(times, 95)


def _fill(app: Flask, person: Person, start: int, size: int) -> int:
    """Bring the user to `size` conversations, `size` memories, and one conversation of `size` messages."""
    with app.app_context():
        with write_transaction():
            user = person.user_id
            if start == 0:
                db.session.execute(text(
                    "INSERT INTO conversations (user_id, title, title_source, message_count, updated_at)"
                    " VALUES (:user, 'The long one', 'user', 0, '2030-01-01')"), {"user": user})
            long_one = db.session.scalar(text("SELECT conversation_id FROM conversations WHERE title = 'The long one'"))
            span = f"seq_{start + 1}_to_{size}"
            db.session.execute(text(
                "INSERT INTO conversations (user_id, title, title_source, message_count, created_at, updated_at)"
                " SELECT :user, CONCAT('Conversation ', seq), 'user', 2, '2024-01-01',"
                f" TIMESTAMPADD(SECOND, seq, '2024-01-01') FROM {span}"), {"user": user})
            db.session.execute(text(
                "INSERT INTO messages (conversation_id, role, content, status)"
                " SELECT :long, IF(seq % 2, 'user', 'assistant'),"
                " CONCAT('Message ', seq, ': about **Lisbon**, the weather and what to pack.'), 'complete'"
                f" FROM {span}"), {"long": long_one})
            db.session.execute(text(
                "UPDATE messages SET parent_id = message_id - 1 WHERE conversation_id = :long"
                " AND parent_id IS NULL AND message_id > (SELECT lowest FROM (SELECT MIN(message_id) AS lowest"
                " FROM messages WHERE conversation_id = :long) AS first)"), {"long": long_one})
            db.session.execute(text("UPDATE conversations SET message_count = :size WHERE conversation_id = :long"),
                               {"size": size, "long": long_one})
            db.session.execute(text(
                "INSERT INTO memories (user_id, memory_type, content, statement_hash, updated_at)"
                " SELECT :user, 'fact', CONCAT('Fact number ', seq, ' about the user'), SHA2(seq, 256),"
                f" TIMESTAMPADD(SECOND, seq, '2024-01-01') FROM {span}"), {"user": user})
        db.session.execute(text("ANALYZE TABLE conversations, messages, memories"))
        db.session.rollback()
    return long_one


if __name__ == "__main__":
    main()
