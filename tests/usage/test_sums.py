"""Usage added up by day: at any moment what is read is exactly what the records say, and few rows are read for it."""

from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import delete, func, select, text, update

from testkit.people import Person
from webapp.accounts.service import delete_user
from webapp.admin import overview
from webapp.background.queues import enqueue
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.usage import service, sums
from webapp.usage.models import UsageMark, UsageRecord, UsageSum
from webapp.usage.records import count_as_schedule
from webapp.usage.schemas import UsageQuery

MODELS = ("gpt-4o", "gpt-4o-mini", "nobody-knows-this", None)
PRICES = ((None, None), (2.5, 10.0), (0.15, 0.6), (None, 0.7))


@pytest.fixture(autouse=True)
def _in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "LAG", timedelta())
    monkeypatch.setattr(sums, "BATCH_SIZE", 40)


def spend(people: list[Person], count: int, chance: Random, **same: Any) -> None:
    """Add records of all sorts, in no order of time."""
    for _ in range(count):
        given, made = chance.choice(PRICES)
        values = {
            "kind": chance.choice(("chat", "schedule", "titles", "memory_operations")),
            "model": chance.choice(MODELS),
            "target": chance.choice(("c1/m", None)),
            "input_tokens": chance.randrange(3_000),
            "cached_tokens": chance.randrange(900),
            "output_tokens": chance.randrange(700),
            "input_price": given,
            "output_price": made,
            "is_estimated": chance.random() < 0.1,
            "created_at": now() - timedelta(days=chance.randrange(35), seconds=1),
        }
        db.session.add(UsageRecord(user_id=chance.choice(people).user_id, **values | same))


def usage_figures(people: list[Person]) -> dict[str, Any]:
    """All that pages say about what was used."""
    found: dict[str, Any] = {"active": list(overview.growth().people)}
    for by in ("day", "model", "user", "conversation"):
        found[f"all {by}"] = service.report(people[0].user_id, UsageQuery(by=by), everyone=True).model_dump()
        for person in people:
            found[f"{person.user_id} {by}"] = service.report(person.user_id, UsageQuery(by=by)).model_dump()
    some = {"from": now().date() - timedelta(days=9), "to": now().date() - timedelta(days=2), "by": "model"}
    found["some days"] = service.report(0, UsageQuery.model_validate(some), everyone=True).model_dump()
    return found


def said_by_records(people: list[Person]) -> dict[str, Any]:
    """The same, of the records alone."""
    db.session.rollback()
    db.session.execute(delete(UsageSum))
    db.session.execute(update(UsageMark).values(usage_id=0))
    found = usage_figures(people)
    db.session.rollback()
    return found


def agree(people: list[Person]) -> dict[str, Any]:
    """Assert that both say the same; return it."""
    by_sums = usage_figures(people)
    assert by_sums == said_by_records(people)
    db.session.rollback()
    return by_sums


def sum_calls() -> int:
    """How many calls are in everybody's sums."""
    return int(db.session.scalar(select(func.sum(UsageSum.calls)).where(UsageSum.user_id.is_(None))) or 0)


def test_sums_and_what_came_after_them_say_what_the_records_say(app, make_user):
    people, chance = [make_user() for _ in range(3)], Random(7)
    with app.app_context():
        with write_transaction():
            spend(people, 150, chance)
        before = usage_figures(people)
        assert sum(before["active"]) > 20 and len(before["all day"]["usage"]) == service.DAYS
        assert not sums.sum_records() and sum_calls() == 150
        assert agree(people) == before
        with write_transaction():  # late ones among them, and one of today
            spend(people, 30, chance)
            spend(people, 1, chance, kind="chat", created_at=now())
        after = agree(people)
        assert after["all model"]["total"]["calls"] > before["all model"]["total"]["calls"]
        sums.sum_records()
        assert agree(people) == after and sum_calls() == 181
        sums.sum_records()
        assert agree(people) == after and sum_calls() == 181, "again it adds nothing"
        levels = db.session.execute(select(UsageSum.user_id, func.sum(UsageSum.calls)).group_by(UsageSum.user_id)).all()
        assert sum(calls for _person, calls in levels) == 2 * 181 and len(levels) == 4
        keys = [getattr(UsageSum, name) for name in sums.Key._fields]
        assert not db.session.execute(select(*keys).group_by(*keys).having(func.count() > 1)).all()


def test_what_is_killed_goes_on_where_it_was(app, make_user, monkeypatch):
    people, calls, add = [make_user(), make_user()], [], sums.add

    def die(more: sums.Sums, sign: int = 1) -> None:
        add(more, sign)
        calls.append(more)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with app.app_context():
        with write_transaction():
            spend(people, 130, Random(3))
        monkeypatch.setattr(sums, "add", die)
        with pytest.raises(KeyboardInterrupt):
            sums.sum_records()
        assert sum_calls() == 80
        agree(people)
        assert sums.sum_records(seconds=0) and sum_calls() == 80, "there is more, but no time"
        sums.sum_records()
        assert sum_calls() == 130
        agree(people)


def test_young_records_wait_and_so_does_what_came_after_them(app, make_user, monkeypatch):
    monkeypatch.setattr(sums, "LAG", timedelta(minutes=5))
    people, chance = [make_user()], Random(1)
    with app.app_context():
        for at in (timedelta(days=2), timedelta(minutes=6), timedelta(minutes=4), timedelta(days=3)):
            with write_transaction():
                spend(people, 1, chance, created_at=now() - at)
        sums.sum_records()
        assert sum_calls() == 2
        agree(people)


def test_a_price_that_changes_changes_what_had_none(app, make_user, monkeypatch):
    people, chance = [make_user()], Random(2)
    with app.app_context():
        with write_transaction():
            spend(people, 30, chance, target="c1/m", created_at=now() - timedelta(days=3))
        sums.sum_records()
        before = agree(people)
        offer = SimpleNamespace(target=SimpleNamespace(id="c1/m"), input_price=900.0, output_price=900.0)
        monkeypatch.setattr(service, "catalogue", SimpleNamespace(read=lambda: SimpleNamespace(offered=[offer])))
        after = agree(people)
    assert after["all day"]["total"]["dollars"] > 2 * before["all day"]["total"]["dollars"]


def test_a_reply_that_proves_a_schedules_is_moved_in_the_sums(app, make_user):
    people, chance = [make_user(), make_user()], Random(4)
    with app.app_context():
        with write_transaction():
            talk = add_row(Conversation(user_id=people[0].user_id, title="t"))
            replies = [Message(conversation_id=talk.conversation_id, role="assistant", content="") for _ in range(2)]
            db.session.add_all(replies)
            db.session.flush()
            ids = [reply.message_id for reply in replies]
            yesterday = now() - timedelta(days=1)
            same = {"kind": "chat", "conversation_id": talk.conversation_id, "created_at": yesterday}
            for number in ids:
                spend(people[:1], 1, chance, message_id=number, **same)
            spend(people[1:], 1, chance, kind="chat", created_at=yesterday)
        assert overview.growth().people[-2] == 2
        sums.sum_records()
        for number in (ids[0], ids[0], ids[1]):
            with write_transaction():
                count_as_schedule(number)
            said_now = agree(people)
        assert said_now["active"][-2] == 1, "nobody wrote that"
        line = said_now[f"{people[0].user_id} day"]["total"]
        assert line["schedule_input_tokens"] and not line["chat_input_tokens"] and line["calls"] == 2


def test_who_is_deleted_is_taken_out_of_everybodys_sums(app, make_user):
    people, chance = [make_user(is_admin=True), make_user(), make_user()], Random(5)
    with app.app_context():
        with write_transaction():
            spend(people, 120, chance)
        sums.sum_records()
        with write_transaction():
            spend(people, 20, chance)
        before = agree(people)
        with write_transaction():
            delete_user(people[1].user_id)
        left = [people[0], people[2]]
        after = agree(left)
        assert after["all day"]["total"]["calls"] < before["all day"]["total"]["calls"]
        assert len(after["all user"]["usage"]) == 2
        sums.sum_records()
        assert agree(left) == after
        assert sum_calls() == db.session.scalar(select(func.count()).select_from(UsageRecord))


def test_the_job_adds_up_what_there_is(app, make_user, run_jobs):
    people = [make_user()]
    with app.app_context():
        with write_transaction():
            spend(people, 90, Random(6))
        enqueue("purge")
    run_jobs()
    with app.app_context():
        assert sum_calls() == 90
        agree(people)


def test_pages_read_few_rows_however_many_there_are(app, make_user, login, monkeypatch):
    admin = make_user(is_admin=True)
    browser = login(admin)
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            pytest.skip("about MySQL")  # SQLite does not count the rows it reads
        same = {"model": "gpt-4o", "target": None, "input_price": None, "output_price": None, "kind": "chat"}
        with write_transaction():
            spend([admin], 3_000, Random(8), **same, created_at=now() - timedelta(days=1))
        monkeypatch.setattr(sums, "BATCH_SIZE", 2_000)
        sums.sum_records()
        db.session.execute(text("ANALYZE TABLE usage_records, usage_sums"))
        db.session.rollback()

    def rows_read() -> int:
        with app.app_context():
            counts = db.session.execute(text("SHOW GLOBAL STATUS LIKE 'Handler_read%'")).all()
            db.session.rollback()
            return sum(int(count) for _name, count in counts)

    for place in ("/admin/usage", "/admin/usage?by=model", "/admin/usage?by=user", "/usage", "/admin/overview"):
        before = rows_read()
        assert browser.get(place).status_code == 200
        assert rows_read() - before < 1_500, place
