"""Events of schedules for webhooks: one for each run that ended, one when a schedule pauses itself; ids, never text."""

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testkit.people import ApiClient
from tests.schedules.test_schedules import WEEKLY, claim, make, make_due, runs
from tests.webhooks import test_webhooks
from webapp.accounts import tokens
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.schedules import runs as sending
from webapp.schedules.models import ScheduleRun
from webapp.webhooks.models import Webhook, WebhookDelivery

KINDS = ["schedule.finished", "schedule.failed", "schedule.paused"]


receiver = test_webhooks.receiver


def listen(client: ApiClient, url: str, **fields: Any) -> None:
    assert client.post("/api/webhooks", json={"url": url, "kinds": KINDS, **fields}).status_code == 201


def deliveries(app: Flask) -> list[tuple[str, dict[str, Any]]]:
    with app.app_context():
        query = db.select(WebhookDelivery.kind, WebhookDelivery.data).order_by(WebhookDelivery.delivery_id)
        return [tuple(row) for row in db.session.execute(query)]


def test_the_end_of_a_run_is_told_by_ids(app, client, model, receiver, run_jobs):
    model.script(match="Ask me how", reply="How was your week?")
    listen(client, receiver.url)
    made = make(client)
    make_due(app, made["schedule_id"], timedelta(days=3))
    claim(app)
    run_jobs()
    (run,) = runs(client, made["schedule_id"])
    assert receiver.events() == [
        (
            "schedule.finished",
            {
                "schedule_id": made["schedule_id"],
                "run_id": run["run_id"],
                "is_late": True,
                "status": "complete",
                "conversation_id": run["conversation_id"],
                "message_id": run["message_id"],
            },
        )
    ]
    with app.app_context():
        assert sending.run(run["run_id"]) is False, "it has ended"
    assert len(deliveries(app)) == 1


def test_a_text_comes_along_only_where_it_was_asked_for(client, model, receiver, run_jobs):
    model.script(match="Ask me how", reply="How was your week?")
    listen(client, receiver.url, with_content=True)
    client.post(f"/api/schedules/{make(client)['schedule_id']}/run")
    run_jobs()
    ((_, data),) = receiver.events()
    assert data["content"] == "How was your week?" and data["is_late"] is False


def test_failures_are_told_and_the_fifth_that_it_paused(app, client, model, receiver, run_jobs):
    model.script(match="Ask me how", fault={"http_status": 401})
    listen(client, receiver.url)
    number = make(client)["schedule_id"]
    for _ in range(sending.MAX_FAILURES):
        make_due(app, number)
        claim(app)
        run_jobs(failures=True)
    assert [kind for kind, _ in deliveries(app)] == ["schedule.failed"] * sending.MAX_FAILURES + ["schedule.paused"]
    assert deliveries(app)[0][1]["status"] == "failed"
    assert deliveries(app)[-1][1] == {"schedule_id": number}
    assert WEEKLY["prompt"] not in json.dumps(deliveries(app))


def test_one_that_ended_with_its_token_is_told_once(app, client, user, receiver, run_jobs):
    number = make(client)["schedule_id"]
    make_due(app, number)
    claim(app)
    with app.app_context(), write_transaction():
        tokens.revoke_all(user.user_id)
        db.session.add(Webhook(user_id=user.user_id, url=receiver.url, kinds=f",{','.join(KINDS)},", secret="none"))
    run_jobs(failures=True)
    with app.app_context():
        run_id = db.session.scalar(db.select(ScheduleRun.run_id))
        assert sending.run(run_id) is False
    failed = {"schedule_id": number, "run_id": run_id, "is_late": False, "status": "failed"}
    assert deliveries(app) == [("schedule.failed", failed), ("schedule.paused", {"schedule_id": number})]


def test_a_worker_that_died_leaves_one_event(app, client, receiver, monkeypatch):
    listen(client, receiver.url)
    number = make(client)["schedule_id"]
    make_due(app, number)
    claim(app)
    run_id = runs(client, number)[0]["run_id"]

    def die(*_given: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with app.app_context():
        for where in ("launch", "enqueue_after_commit"):  # before the reply, and while its end is being noted
            with monkeypatch.context() as patched:
                patched.setattr(sending, where, die)
                with pytest.raises(KeyboardInterrupt):
                    sending.run(run_id)
            db.session.rollback()
            assert deliveries(app) == []
            with write_transaction():
                turn_id = db.session.get_one(ScheduleRun, run_id).message_id
                db.session.get_one(Message, turn_id).status = "interrupted"
        assert sending.run(run_id) is False
        assert sending.run(run_id) is False
    ((kind, data),) = deliveries(app)
    assert (kind, data["status"], data["message_id"]) == ("schedule.failed", "interrupted", turn_id)
