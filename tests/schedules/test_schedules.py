"""Schedules over the API, in pages, and what is sent when one is due."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from testkit.people import ApiClient, csrf_token, post_form
from testkit.processes import wait_until
from tests.conversations.test_api import assert_problem
from tests.journeys.rows import load, write_fixture
from tests.support.queries import change_row, get_row
from webapp.accounts import site
from webapp.accounts.models import ApiToken, User
from webapp.accounts.schemas import NewToken
from webapp.accounts.tokens import create_token
from webapp.background import queues
from webapp.background.queues import enqueue_owed
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, write_transaction
from webapp.schedules import runs as sending
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.shell.upkeep import purge, sweep

PAST = datetime(2020, 1, 1)  # noqa: DTZ001 - local
WEEKLY = {"prompt": "Ask me how my week was.", "rrule": "FREQ=WEEKLY", "at": "2036-12-01T18:00", "timezone": "UTC"}


def make(client: ApiClient, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/schedules", json={**WEEKLY, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json


def make_due(app: Flask, schedule_id: int, ago: timedelta = timedelta(minutes=1)) -> None:
    """Let a daily schedule have been due some time ago."""
    past = now() - ago
    daily = {"rrule": "FREQ=DAILY", "timezone": "UTC", "at": past.replace(tzinfo=None), "next_at": past}
    change_row(app, Schedule, schedule_id, **daily)


def claim(app: Flask) -> int:
    """Claim what is due and queue what waits, as the sweep does; returns how many were claimed."""
    with app.app_context():
        claimed = sending.claim_due()
        enqueue_owed("scheduled_turn", sending.runs_to_resume())
        return claimed


def send_due(app: Flask, run_jobs: Any, schedule_id: int, minutes: int = 1, **options: bool) -> None:
    """Let a daily schedule have been due some minutes ago, claim it and run what is queued."""
    make_due(app, schedule_id, timedelta(minutes=minutes))
    assert claim(app) == 1
    run_jobs(**options)


def runs(client: ApiClient, schedule_id: int) -> list[dict[str, Any]]:
    return client.get(f"/api/schedules/{schedule_id}/runs").json["runs"]


def load_schedule(app: Flask, schedule_id: int) -> Schedule:
    return get_row(app, Schedule, schedule_id)


@pytest.fixture
def schedule(client: ApiClient) -> dict[str, Any]:
    """A weekly one."""
    return make(client)


def test_it_is_made_read_changed_and_deleted(client):
    made = make(client, timezone="Europe/Berlin", title="Review")
    assert (made["rrule"], made["next_at"]) == ("FREQ=WEEKLY", "2036-12-01T17:00:00.000000Z")
    place = f"/api/schedules/{made['schedule_id']}"
    assert client.get(place).json == client.get("/api/schedules").json["schedules"][0] == made
    changed = client.patch(place, json={"repeat": "daily", "timezone": "UTC", "is_active": False}).json
    assert (changed["rrule"], changed["next_at"], changed["is_active"]) == (
        "FREQ=DAILY",
        "2036-12-01T18:00:00.000000Z",
        False,
    )
    assert client.patch(place, json={"rrule": "FREQ=MONTHLY;BYDAY=-1FR"}).json["title"] == "Review"
    assert client.delete(place).status_code == 204
    assert_problem(client.get(place), 404)
    untitled = make(client, prompt="One two three four five six seven eight nine")
    assert untitled["title"] == "One two three four five six seven eight…"


def test_it_takes_the_words_of_the_contract(client, user, make_user, api):
    client.put("/api/account", json={"settings": {"timezone": "Europe/Berlin"}})
    ruled = client.post(
        "/api/schedules", json={"prompt": "Review", "rrule": "RRULE:FREQ=WEEKLY;BYDAY=SU;BYHOUR=18;BYMINUTE=0"}
    )
    assert ruled.status_code == 201 and ruled.json["next_at"].endswith(("17:00:00.000000Z", "16:00:00.000000Z"))
    instant = make(client, at="2036-12-01T18:00:00Z", timezone="Europe/Berlin", rrule=None)
    assert (instant["at"], instant["next_at"], instant["rrule"]) == (*["2036-12-01T18:00:00.000000Z"] * 2, None)
    paused = make(client, is_active=False)
    assert (paused["is_active"], paused["conversation"]) == (False, "new")
    talk = client.post("/api/conversations", json={"title": "My weeks"}).json["conversation_id"]
    standing = make(client, conversation=talk)
    place = f"/api/schedules/{standing['schedule_id']}"
    assert standing["conversation"] == talk
    assert client.patch(place, json={"conversation": "same"}).json["conversation"] == talk
    assert client.patch(place, json={"conversation": "new"}).json["conversation"] == "new"
    assert client.patch(place, json={"rrule": None}).json["rrule"] is None
    assert client.patch(place, json={"at": "2036-12-05T07:00Z"}).json["next_at"] == "2036-12-05T07:00:00.000000Z"
    for prompt in (None, "花" * 30_000):  # more than a column of MySQL holds
        assert_problem(client.patch(place, json={"prompt": prompt}), 422)
    theirs = api(make_user()).post("/api/conversations", json={}).json["conversation_id"]
    assert_problem(client.post("/api/schedules", json={**WEEKLY, "conversation": theirs}), 404)
    passing = client.post("/api/conversations", json={"is_temporary": True}).json["conversation_id"]
    assert_problem(client.post("/api/schedules", json={**WEEKLY, "conversation": passing}), 409)
    assert_problem(client.post("/api/schedules", json={**WEEKLY, "repeat": "daily"}), 422)


def test_what_has_no_future_or_is_no_schedule_is_refused(client):
    fields = {
        "prompt": [" ", None],
        "at": ["2020-01-01T10:00", "2038-01-01T10:00", "soon", None],
        "timezone": ["Nowhere/Land"],
        "conversation": ["old"],
        "repeat": ["yearly"],
        "rrule": ["x" * 501, "FREQ=HOURLY;BYMINUTE=0,30", "FREQ=DAILY;BYSECOND=7", "FREQ=SECONDLY"],
    }
    for field, value in ((field, value) for field, values in fields.items() for value in values):
        answer = client.post("/api/schedules", json={**WEEKLY, "rrule": None, field: value})
        assert_problem(answer, 422)
        assert field in answer.text, value
    assert client.get("/api/schedules").json["schedules"] == []


def test_what_is_due_is_sent_in_a_conversation_of_its_own(app, client, model, run_jobs):
    """What was missed is due once, and late."""
    made = make(client, title="My week")
    make_due(app, made["schedule_id"])
    model.script(match="Ask me how", reply="How was your week?")
    assert claim(app) == 1 and claim(app) == 0
    run_jobs()
    (run,) = runs(client, made["schedule_id"])
    assert (run["status"], run["is_late"], run["problem"]) == ("done", False, None)
    talk = client.get(f"/api/conversations/{run['conversation_id']}").json
    assert talk["title"] == "My week"
    said = client.get(f"/api/conversations/{run['conversation_id']}/messages").json["messages"]
    assert [message["content"] for message in said] == ["Ask me how my week was.", "How was your week?"]
    assert client.get(f"/api/schedules/{made['schedule_id']}").json["next_at"] > now().isoformat()
    send_due(app, run_jobs, made["schedule_id"], 5 * 24 * 60)
    assert claim(app) == 0
    first, missed = runs(client, made["schedule_id"])  # the one that was due last comes first
    assert missed["conversation_id"] != first["conversation_id"]
    assert (missed["is_late"], first["is_late"]) == (True, False)


def test_the_sweep_looks_for_what_is_due(app, client, run_jobs, schedule):
    make_due(app, schedule["schedule_id"])
    with app.app_context():
        sweep()
    run_jobs()
    assert [run["status"] for run in runs(client, schedule["schedule_id"])] == ["done"]


def test_one_that_stands_goes_on_in_its_conversation_and_begins_anew_once_that_is_gone(app, client, run_jobs):
    made = make(client, conversation="same")
    for _ in range(2):
        send_due(app, run_jobs, made["schedule_id"])
    (talk,) = {run["conversation_id"] for run in runs(client, made["schedule_id"])}
    assert load_schedule(app, made["schedule_id"]).conversation_id == talk
    client.delete(f"/api/conversations/{talk}")
    send_due(app, run_jobs, made["schedule_id"])
    assert runs(client, made["schedule_id"])[0]["conversation_id"] not in (None, talk)


def test_once_is_over_afterwards(app, client, run_jobs):
    made = make(client, rrule=None)
    change_row(app, Schedule, made["schedule_id"], at=PAST, next_at=now() - timedelta(seconds=1))
    assert claim(app) == 1
    run_jobs()
    assert client.get(f"/api/schedules/{made['schedule_id']}").json["next_at"] is None
    assert claim(app) == 0
    assert_problem(client.patch(f"/api/schedules/{made['schedule_id']}", json={"is_active": True}), 422)


def test_neither_paused_nor_closed_accounts_are_due(app, client, user, schedule):
    make_due(app, schedule["schedule_id"])
    client.patch(f"/api/schedules/{schedule['schedule_id']}", json={"is_active": False})
    assert claim(app) == 0
    change_row(app, Schedule, schedule["schedule_id"], is_active=True, next_at=now() - timedelta(minutes=1))
    change_row(app, User, user.user_id, is_active=False)
    assert claim(app) == 0


@pytest.fixture
def run_id(app: Flask, client: ApiClient, schedule: dict[str, Any]) -> int:
    """A run of the weekly one, which was due and is claimed."""
    make_due(app, schedule["schedule_id"])
    claim(app)
    return runs(client, schedule["schedule_id"])[0]["run_id"]


def die(_started: object) -> None:
    raise KeyboardInterrupt


def test_a_worker_that_dies_sends_nothing_twice_and_loses_nothing(app, client, monkeypatch, schedule, run_id):
    with app.app_context():
        with monkeypatch.context() as patched:
            patched.setattr(sending, "launch", die)
            with pytest.raises(KeyboardInterrupt):
                sending.run(run_id)
        assert list(sending.runs_to_resume()) == [], "its reply is still being written, as far as anybody knows"
        turn_id = db.session.get_one(ScheduleRun, run_id).message_id
        with write_transaction():  # as recovery leaves it once the lease has lapsed
            db.session.get_one(Message, turn_id).status = "interrupted"
        assert list(sending.runs_to_resume()) == [run_id]
        assert sending.run(run_id) is False
        assert sending.run(run_id) is False
        assert db.session.query(Message).filter_by(content=WEEKLY["prompt"]).count() == 1
    (run,) = runs(client, schedule["schedule_id"])
    assert (run["status"], run["message_id"]) == ("failed", turn_id)


def test_a_reply_whose_worker_died_is_written_once_more(app, client, monkeypatch, schedule, run_id):
    turns = []
    with app.app_context():
        for _ in range(2):
            with monkeypatch.context() as patched:
                patched.setattr(sending, "launch", die)
                with pytest.raises(KeyboardInterrupt):
                    sending.run(run_id)
            db.session.rollback()
            turns.append(db.session.get_one(ScheduleRun, run_id).message_id)
            with write_transaction():  # as recovery leaves it once the lease has lapsed
                reply = db.session.get_one(Message, turns[-1])
                reply.status, reply.error_code = "interrupted", "interrupted"
            assert list(sending.runs_to_resume()) == [run_id]
        assert sending.run(run_id) is False, "no third time"
        assert db.session.query(Message).filter_by(content=WEEKLY["prompt"]).count() == 1
    (run,) = runs(client, schedule["schedule_id"])
    assert (run["status"], run["message_id"]) == ("failed", turns[1]) and turns[0] != turns[1]


def test_a_repeated_reply_ends_its_run(app, client, monkeypatch, schedule, run_id):
    with app.app_context():
        with monkeypatch.context() as patched:
            patched.setattr(sending, "launch", lambda _started: None)
            patched.setattr(sending, "follow", lambda *_given, **_more: ())
            assert sending.run(run_id) is False
        with write_transaction():
            reply = db.session.get_one(Message, db.session.get_one(ScheduleRun, run_id).message_id)
            reply.status, reply.error_code = "interrupted", "interrupted"
        assert sending.run(run_id) is True
    (run,) = runs(client, schedule["schedule_id"])
    assert run["status"] == "done"


def test_what_waits_or_was_deleted_comes_to_an_end(app, client, run_jobs, schedule):
    make_due(app, schedule["schedule_id"], timedelta(minutes=5))
    claim(app)
    (run,) = runs(client, schedule["schedule_id"])
    with app.app_context():
        assert list(sending.runs_to_resume()) == [run["run_id"]], "the queue may have been emptied"
        with write_transaction():  # as after a worker died and somebody deleted the conversation
            db.session.get_one(ScheduleRun, run["run_id"]).status = "running"
        assert list(sending.runs_to_resume()) == [run["run_id"]]
        assert sending.run(run["run_id"]) is False
    assert runs(client, schedule["schedule_id"])[0]["problem"] == "What it sent was deleted."


def test_many_that_are_due_at_once_are_claimed_in_one_go_and_queued_a_few_at_a_time(app, client, run_jobs, monkeypatch):
    monkeypatch.setattr(sending, "BATCH", 2)
    monkeypatch.setattr(queues, "MAX_OWED", 2)
    ids = [make(client)["schedule_id"] for _ in range(5)]
    for schedule_id in ids:
        make_due(app, schedule_id)
    assert claim(app) == 5 and claim(app) == 0
    sent = []
    for _ in range(3):
        sent.append(sum(job.meta["name"] == "scheduled_turn" for job in run_jobs()))
        assert claim(app) == 0
    assert sent == [2, 2, 1]
    assert all([run["status"] for run in runs(client, schedule_id)] == ["done"] for schedule_id in ids)


def test_a_run_of_an_account_that_was_closed_meanwhile_sends_nothing(app, user, run_jobs, run_id):
    change_row(app, User, user.user_id, is_active=False)
    run_jobs()
    run = get_row(app, ScheduleRun, run_id)
    assert (run.status, run.message_id, run.problem) == ("failed", None, "The account is not in use.")


def test_one_that_cannot_be_reckoned_any_more_holds_up_no_other(app, client):
    """One has a rule that no program wrote, one a zone that there is no more, which counts as UTC here, too."""
    odd, lost, other = (make(client)["schedule_id"] for _ in range(3))
    for schedule_id in (odd, lost, other):
        make_due(app, schedule_id)
    change_row(app, Schedule, odd, rrule="FREQ=NEVER")
    change_row(app, Schedule, lost, timezone="Nowhere/Land")
    assert claim(app) == 3 and claim(app) == 0
    times = {row["schedule_id"]: row["next_at"] for row in client.get("/api/schedules").json["schedules"]}
    assert times[odd] is None and times[lost] and times[other]


def test_a_time_that_comes_twice_brings_one_run_and_holds_up_no_other(app, client):
    """The clock was set back and the schedule saved again: its time had a run, and no sweep ended any more."""
    twice, other = make(client)["schedule_id"], make(client)["schedule_id"]
    make_due(app, twice)
    due_at = load_schedule(app, twice).next_at
    assert claim(app) == 1
    make_due(app, other)
    change_row(app, Schedule, twice, next_at=due_at)
    assert claim(app) == 1
    assert [len(runs(client, schedule_id)) for schedule_id in (twice, other)] == [1, 1]
    assert load_schedule(app, twice).next_at > now()


def test_after_the_clock_was_ahead_a_schedule_comes_at_its_next_time(app, client):
    """It stayed where the wrong clock had put it: a daily one in a year."""
    ahead, other = make(client)["schedule_id"], make(client)["schedule_id"]
    for schedule_id in (ahead, other):
        make_due(app, schedule_id)
    claim(app)
    expected = load_schedule(app, other).next_at
    with app.app_context(), write_transaction():
        db.session.get_one(Schedule, ahead).next_at = now() + timedelta(days=365)
        (row,) = db.session.query(ScheduleRun).filter_by(schedule_id=ahead)
        row.status, row.ended_at = "done", now() + timedelta(days=364)
    with app.app_context():
        purge()
    assert load_schedule(app, ahead).next_at - expected < timedelta(minutes=1)
    assert load_schedule(app, other).next_at == expected


def test_two_workers_that_look_at_once_claim_each_time_once(app, client):
    ids = [make(client)["schedule_id"] for _ in range(8)]
    for schedule_id in ids:
        make_due(app, schedule_id)
    with ThreadPoolExecutor(2) as workers:
        claimed = sum(workers.map(lambda _: claim(app), range(2)))
    assert claimed == len(ids)
    assert all(len(runs(client, schedule_id)) == 1 for schedule_id in ids)


def test_five_failures_in_a_row_pause_it_and_say_why(app, client, login, model, run_jobs, schedule):
    model.script(match="Ask me how", fault={"http_status": 401})
    told = []
    for _ in range(sending.MAX_FAILURES):
        make_due(app, schedule["schedule_id"])
        assert claim(app) == 1
        told.append("the last one failed" in login(client.person).get("/schedules").text)
        run_jobs(failures=True)
    assert told == [False] + [True] * (sending.MAX_FAILURES - 1)
    found = client.get(f"/api/schedules/{schedule['schedule_id']}").json
    assert (found["is_active"], found["failures"]) == (False, sending.MAX_FAILURES)
    assert "key" in found["paused_why"]
    resumed = client.patch(f"/api/schedules/{schedule['schedule_id']}", json={"is_active": True}).json
    assert (resumed["is_active"], resumed["paused_why"], resumed["failures"]) == (True, None, 0)


@pytest.mark.parametrize("ends", ["revoked", "expired", "gone"])
def test_what_a_program_made_ends_with_its_token_until_the_person_takes_it_over(
    app, client, user, api, run_jobs, ends, browser
):
    with app.app_context(), write_transaction():
        token, secret = create_token(user.user_id, NewToken(name="A program", scopes=["chat"]))
        token_id = token.token_id
    program = api(replace(user, token=secret))
    schedule_id = make(program)["schedule_id"]
    send_due(app, run_jobs, schedule_id, 5, failures=True)
    assert [run["status"] for run in runs(client, schedule_id)] == ["done"]
    with app.app_context(), write_transaction():
        row = db.session.get_one(ApiToken, token_id)
        if ends == "revoked":
            row.revoked_at = now()
        elif ends == "expired":
            row.expires_at = now() - timedelta(seconds=1)
        else:
            db.session.delete(row)
    send_due(app, run_jobs, schedule_id, 3, failures=True)
    assert [run["status"] for run in runs(client, schedule_id)] == ["failed", "done"]
    row = client.get(f"/api/schedules/{schedule_id}").json
    assert not row["is_active"] and row["paused_why"] == sending.TOKEN_ENDED
    page = browser.get("/schedules").text
    assert "The token that made it has ended" in page
    browser.post(f"/schedules/{schedule_id}/do", data={"csrf_token": csrf_token(page), "do": "resume"})
    assert load_schedule(app, schedule_id).token_id is None
    send_due(app, run_jobs, schedule_id, failures=True)
    assert [run["status"] for run in runs(client, schedule_id)][0] == "done"


def test_run_now_comes_beside_its_times(client, run_jobs, schedule):
    place = f"/api/schedules/{schedule['schedule_id']}"
    once = {"Idempotency-Key": "run"}
    first = client.post(f"{place}/run", headers=once)
    assert first.status_code == 202
    assert client.post(f"{place}/run", headers=once).json == first.json
    assert_problem(client.post(f"{place}/run"), 409)
    run_jobs()
    assert [run["status"] for run in runs(client, schedule["schedule_id"])] == ["done"]
    assert client.get(place).json["next_at"] == schedule["next_at"]


def test_the_pages(client, make_user, login, browser):
    assert "No schedules yet" in browser.get("/schedules").text
    page = browser.get("/schedules/new?prompt=Water the plants").text
    assert "Water the plants" in page
    talk = client.post("/api/conversations", json={}).json["conversation_id"]
    client.post(f"/api/conversations/{talk}/messages", json={"content": "What is in the news?"})
    assert "What is in the news?" in browser.get(f"/schedules/new?conversation_id={talk}").text
    asked = client.get(f"/api/conversations/{talk}/messages").json["messages"][0]
    page = browser.get(f"/c/{talk}").text
    assert f"/schedules/new?conversation_id={talk}" in page
    assert (entry := f"/schedules/new?message_id={asked['message_id']}") in page
    assert "What is in the news?" in browser.get(entry).text
    assert browser.get("/schedules/new?conversation_id=99999").status_code == 404
    assert login(make_user()).get(entry).status_code == 404
    form = {"csrf_token": csrf_token(page), "prompt": "Water the plants", "repeat": "weekly"}
    wrong = browser.post("/schedules/new", data={**form, "at": "2020-01-01T10:00", "repeat": "once"})
    assert wrong.status_code == 422 and "has passed" in wrong.text and "Water the plants" in wrong.text
    empty = browser.post("/schedules/new", data={**form, "at": "2036-01-01T10:00", "repeat": "custom", "rrule": " "})
    assert empty.status_code == 422 and "The rule is empty." in empty.text
    assert re.findall(r'id="(\w+)"[^>]* autofocus', empty.text) == ["rrule"]
    assert browser.post("/schedules/new", data={**form, "at": "2036-01-01T10:00", "timezone": ""}).status_code == 303
    page = browser.get("/schedules").text
    assert "Water the plants" in page and "Every week" in page
    (row,) = client.get("/api/schedules").json["schedules"]
    place = f"/schedules/{row['schedule_id']}"
    saved = {**form, "at": "2036-01-31T10:00", "repeat": "monthly", "title": "Plants", "timezone": "UTC"}
    assert browser.post(place, data=saved).status_code == 303
    assert 'value="monthly" selected' in browser.get(place).text
    for deed in ("pause", "resume", "run", "delete"):
        assert browser.post(f"{place}/do", data={**form, "do": deed}).status_code == 303
    assert browser.post(f"{place}/do", data={**form, "do": "delete"}).status_code == 404
    assert client.get("/api/schedules").json["schedules"] == []


def test_the_longest_message_that_the_field_takes_is_saved(browser):
    (room,) = re.findall(r'<textarea[^>]*name="prompt"[^>]*maxlength="(\d+)"', browser.get("/schedules/new").text)
    form = {"prompt": "x" * int(room), "repeat": "weekly", "at": "2036-01-01T10:00", "timezone": ""}
    assert post_form(browser, "/schedules/new", "/schedules/new", **form).status_code == 303


def test_it_begins_conversations_of_a_journey(app, client, user, login, run_jobs, tmp_path):
    load(app, write_fixture(tmp_path))
    slug = client.get("/api/journeys").json["journeys"][0]["slug"]
    assert_problem(client.post("/api/schedules", json={**WEEKLY, "journey": "nowhere"}), 404)
    named = client.post("/api/schedules", json={"journey": slug, "at": WEEKLY["at"]}).json
    assert named["prompt"] == client.get("/api/journeys").json["journeys"][0]["title"]
    made = make(client, journey=slug)
    place = f"/api/schedules/{made['schedule_id']}"
    assert_problem(client.patch(place, json={"journey": "nowhere"}), 404)
    assert f'value="{slug}" selected' in login(user).get(f"/schedules/{made['schedule_id']}").text
    client.post(f"{place}/run")
    run_jobs()
    (run,) = runs(client, made["schedule_id"])
    assert get_row(app, Conversation, run["conversation_id"]).journey_id
    assert client.patch(place, json={"journey": None}).json["journey"] is None


def test_a_saved_prompt_fills_the_form(client, browser):
    saved = client.post("/api/saved_prompts", json={"name": "Plan", "content": "Plan my week"}).json
    place = f"/schedules/new?saved_prompt_id={saved['saved_prompt_id']}"
    assert place in browser.get("/prompts").text
    page = browser.get(place).text
    assert "Plan my week" in page and 'value="Plan"' in page
    assert browser.get("/schedules/new?saved_prompt_id=99999").status_code == 404


def test_old_runs_are_forgotten(app, client, run_jobs, monkeypatch):
    monkeypatch.setattr(sending, "MAX_RUNS", 2)
    made = make(client)
    for number in range(4):
        with app.app_context(), write_transaction():
            db.session.add(
                ScheduleRun(
                    schedule_id=made["schedule_id"], status="done", due_at=datetime(2026, 1, 1 + number, tzinfo=UTC)
                )
            )
    client.post(f"/api/schedules/{made['schedule_id']}/run")
    run_jobs()
    assert len(runs(client, made["schedule_id"])) == 2


def test_a_real_worker_sends_it(live_worker, client, model, app):
    """Not within this process, which has everything loaded that a worker may lack."""
    model.script(reply="A good week.")
    made = make(client)
    assert client.post(f"/api/schedules/{made['schedule_id']}/run").status_code == 202
    ends = ("done", "failed")
    number, log = made["schedule_id"], live_worker.log
    wait_until(lambda: runs(client, number)[0]["status"] in ends, "the end of the run", log=log)
    (run,) = runs(client, made["schedule_id"])
    assert (run["status"], run["problem"]) == ("done", None)
    assert get_row(app, Message, run["message_id"]).content == "A good week."


def test_what_it_used_is_counted_as_a_schedules(app, client, model, run_jobs, schedule):
    model.script(match="Ask me how", reply="How was your week?")
    send_due(app, run_jobs, schedule["schedule_id"])
    (run,) = runs(client, schedule["schedule_id"])
    (day,) = client.get("/api/usage").json["usage"]
    assert day["schedule_input_tokens"] > 0 and day["schedule_output_tokens"] > 0
    assert (day["chat_input_tokens"], day["chat_output_tokens"]) == (0, 0)
    assert day["background_input_tokens"] > 0, "what it made of memories is counted with memory work"
    (by_conversation,) = client.get("/api/usage?by=conversation").json["usage"]
    assert by_conversation["key"] == str(run["conversation_id"])
    again = client.post(f"/api/chat/turns/{run['message_id']}/regenerate", json={})
    assert again.status_code == 202, again.text
    client.get(f"/api/messages/{again.json['response_id']}/response?wait=20")
    (day,) = client.get("/api/usage").json["usage"]
    assert day["chat_input_tokens"] > 0, "what its owner asks for anew is a reply to them"


PLACE = "/admin/usage/quotas"


def limit(app: Flask) -> int:
    with app.app_context():
        return site.schedules_per_person()


def test_an_admin_sets_it_for_everybody(app, client, admin_browser):
    configured = limit(app)
    assert f"An empty field means {configured}." in admin_browser.get(PLACE).text
    assert post_form(admin_browser, PLACE, PLACE, user="", schedules="1", day_tokens="5000").status_code == 303
    page = admin_browser.get(PLACE).text
    assert re.search(r'name="schedules" inputmode="numeric" maxlength="5"\s+value="1"', page) and 'value="5000"' in page
    make(client)
    assert_problem(client.post("/api/schedules", json=WEEKLY), 429)
    assert post_form(admin_browser, PLACE, PLACE, user="", schedules="0").status_code == 303
    assert limit(app) == 0 and re.search(r'maxlength="5"\s+value="0"', admin_browser.get(PLACE).text)
    refused = post_form(admin_browser, "/schedules/new", prompt="Water it", at="2030-01-01T10:00", repeat="daily")
    assert refused.status_code == 429 and "Water it</textarea>" in refused.text and "schedules already" in refused.text
    assert post_form(admin_browser, PLACE, PLACE, user="", schedules=" ").status_code == 303
    assert limit(app) == configured
    make(client)


def test_what_is_no_number_of_schedules_changes_nothing(app, admin_browser):
    for given in ("-1", "ten", "10001", "1.5", "٣", "9" * 30):
        answer = post_form(admin_browser, PLACE, PLACE, user="", schedules=given, day_tokens="5000")
        assert (given, answer.status_code) == (given, 422) and "up to 10,000" in answer.text
        assert limit(app) == 50 and "5000" not in admin_browser.get(PLACE).text


def test_the_limits_of_one_person_leave_it_alone(app, user, admin_browser):
    assert 'name="schedules"' not in admin_browser.get(f"{PLACE}?user={user.user_id}").text
    post_form(admin_browser, PLACE, PLACE, user=str(user.user_id), schedules="3", day_tokens="")
    assert limit(app) == 50
