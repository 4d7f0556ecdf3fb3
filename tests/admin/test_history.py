"""The past as the tables and the queues hold it, and the page that draws it."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import Redis
from rq.registry import FailedJobRegistry, FinishedJobRegistry

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.admin import overview
from webapp.admin.backups.backup import last_backup, note_backup
from webapp.background.job_specs import FAILURE_SECONDS, RESULT_SECONDS, Queue, rq_queue
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.extensions import redis
from webapp.files.models import File
from webapp.providers import catalogue
from webapp.usage.models import UsageRecord

AWAY = Redis(port=1, socket_connect_timeout=0.1, retry=None)


def spend(person: Person, days_ago: float, kind: str = "chat") -> None:
    db.session.add(UsageRecord(user_id=person.user_id, kind=kind, created_at=now() - timedelta(days=days_ago)))


def keep(person: Person, size: int, days_ago: float) -> None:
    row = File(user_id=person.user_id, digest="d", name="n", media_type="text/plain", size=size, status="ready")
    row.created_at = now() - timedelta(days=days_ago)
    db.session.add(row)


def test_people_are_counted_once_a_day_and_not_for_what_schedules_sent(app, make_user):
    ada, grace = make_user(), make_user()
    with app.app_context():
        with write_transaction():
            for _ in range(3):
                spend(ada, 0)
            spend(grace, 0)
            spend(grace, 29)
            spend(ada, 29, "schedule")
            spend(ada, 5, "memory_operations")
            spend(ada, 30)
        found = overview.growth()
    assert (found.days[-1] - found.days[0]).days == len(found.days) - 1 == overview.DAYS - 1
    assert found.days[-1] == datetime.now(UTC).date()
    assert list(found.people) == [1, *[0] * 28, 2]


def test_files_add_up_to_what_is_kept(app, user):
    with app.app_context():
        assert overview.growth().file_bytes == [0] * overview.DAYS
        with write_transaction():
            for size, days_ago in ((1_000, 90), (200, 29), (30, 1), (4, 0), (5, 0)):
                keep(user, size, days_ago)
        found = list(overview.growth().file_bytes)
    assert found == [1_200] * 28 + [1_230, 1_239]


def test_the_database_says_how_large_it_is(app_context):
    assert overview.database_bytes() > 100_000


def test_jobs_are_counted_when_they_ended(app_context):
    client, at = redis(), datetime.now(UTC).timestamp()
    queue = rq_queue(client, Queue.TURN)
    for number, ago in enumerate((10, 20, 299, 301, 3_599)):
        client.zadd(FinishedJobRegistry(queue=queue).key, {f"done-{number}": at - ago + RESULT_SECONDS})
    for number, ago in enumerate((10, 86_500, 6.9 * 86_400)):
        client.zadd(FailedJobRegistry(queue=queue).key, {f"failed-{number}": at - ago + FAILURE_SECONDS})
    found = overview.job_history(client)
    assert set(found) == {name.value for name in Queue}
    assert list(found["turn"].done) == [1, *[0] * 9, 1, 3]
    assert list(found["turn"].failed) == [1, 0, 0, 0, 0, 1, 1]
    assert not any(found["batch"].done)
    assert overview.sum_by_step(queue.failed for queue in found.values()) == list(found["turn"].failed)


def test_what_a_worker_did_is_counted(app, client, run_jobs):
    client.post("/api/chat/stream", json={"message": "Hello there"}).get_data()
    run_jobs()
    with app.app_context():
        done = overview.job_history(redis())["turn"].done
    assert done[-1] >= 1 and sum(done) == done[-1]


def test_without_redis_there_is_no_past_of_jobs(app_context):
    assert overview.job_history(AWAY) == {}


def test_backups_are_noted_as_they_are_made(app, tmp_path, user):
    with app.app_context():
        assert last_backup() is None
    done = app.test_cli_runner().invoke(args=["backup", "create", str(tmp_path / "one.zip")])
    assert done.exit_code == 0, done.output
    with app.app_context():
        noted = last_backup()
        assert noted is not None and timedelta() <= now() - noted < timedelta(minutes=1)
    assert app.test_cli_runner().invoke(args=["backup", "create", str(tmp_path / "one.zip")]).exit_code == 1
    with app.app_context():
        assert last_backup() == noted, "one that failed is none"


def test_a_database_that_is_only_read_is_backed_up_all_the_same(app, tmp_path, user, monkeypatch):
    def refuse(*_given: Any) -> None:
        db.session.execute(db.text("INSERT INTO no_such_table VALUES (1)"))

    monkeypatch.setattr("webapp.admin.backups.backup.set_setting", refuse)
    with app.app_context():
        note_backup()
        assert last_backup() is None
    done = app.test_cli_runner().invoke(args=["backup", "create", str(tmp_path / "two.zip")])
    assert done.exit_code == 0, done.output


def test_the_page_says_and_draws_it(app, login, make_user):
    admin = make_user(is_admin=True)
    browser = login(admin)
    with app.app_context(), write_transaction():
        spend(admin, 0)
        keep(admin, 3 * 1024 * 1024, 0)
        talk = add_row(Conversation(user_id=admin.user_id, title="t"))
        for code in ("unauthorized", "context_too_long"):
            row = Message(conversation_id=talk.conversation_id, role="assistant", content="", status="failed")
            row.error_code = code
            db.session.add(row)
    page = browser.get("/admin/overview").text
    assert "3 things need attention" in page and 'class="vitals is-critical"' in page
    assert re.search(r'<a href="/admin/rq/?">No worker is running', page)
    assert re.search(r'<a href="/admin/models">1 reply failed', page) and "3 MB" in page
    assert page.count('class="chart-spark"') == 4 + 2 * len(Queue)
    assert "none recorded" in page and 'aria-label="Active people each day: 0, ' in page


def test_the_page_lives_without_redis(app, monkeypatch, admin_browser):
    monkeypatch.setitem(app.extensions, "redis", AWAY)
    page = admin_browser.get("/admin/overview")
    assert page.status_code == 200 and "Redis cannot be reached" in page.text
    assert page.text.count('class="chart-spark"') == 2, "of jobs nothing is known"


def test_its_statements_do_not_grow(app, login, make_user, monkeypatch):
    monkeypatch.setattr(catalogue, "CACHE_SECONDS", 3_600.0)
    admin = make_user(is_admin=True)
    browser, sent = login(admin), []
    for size in (2, 150):
        with app.app_context(), write_transaction():
            for number in range(size):
                spend(admin, number % 29)
                keep(admin, 10, number % 40)
        assert browser.get("/admin/overview").status_code == 200
        with app.app_context(), count_queries() as statements:
            assert browser.get("/admin/overview").status_code == 200
        sent.append(sum(statement.startswith("SELECT") for statement in statements))
    assert sent[0] == sent[1] <= 14
