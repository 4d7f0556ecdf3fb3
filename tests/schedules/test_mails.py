"""Mail about runs that have ended, against a real SMTP server: wanted, in the person's language, once."""

import email
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from email.header import decode_header, make_header
from email.message import Message
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, Person, csrf_token
from tests.accounts import test_mails
from tests.accounts.test_mails import SITE, Postman
from tests.schedules.test_schedules import WEEKLY, claim, make, make_due, runs
from tests.support.queries import change_row, execute, scalar
from webapp.accounts import smtp
from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.request_language import use_language
from webapp.schedules import mails, runs as sending
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.shell.upkeep import sweep

Jobs = Callable[..., Any]
RunOnce = Callable[..., dict[str, Any]]
REPLY = "How was your week?"
postman = test_mails.postman


@pytest.fixture(autouse=True)
def answers(model: ServerHandle) -> None:
    model.script(match="Ask me how", reply=REPLY)


@pytest.fixture
def owner(app: Flask, user: Person) -> Person:
    """Somebody whose address is known to be theirs."""
    change_row(app, User, user.user_id, email_verified_at=now())
    return user


@pytest.fixture
def run_once(client: ApiClient, run_jobs: Jobs) -> RunOnce:
    """`run_once(**fields)`: a schedule that mails its owner, unless the fields say otherwise, run once."""

    def make_and_run(**fields: Any) -> dict[str, Any]:
        made = make(client, **{"title": "My week", "sends_mail": True, **fields})
        client.post(f"/api/schedules/{made['schedule_id']}/run")
        run_jobs(failures=True)
        return made | {"run": runs(client, made["schedule_id"])[0]}

    return make_and_run


@pytest.fixture
def queue_mail(run_once: RunOnce, monkeypatch: pytest.MonkeyPatch) -> RunOnce:
    """The same while the mail server is away: the mail is still owed."""

    def run(**fields: Any) -> dict[str, Any]:
        with monkeypatch.context() as patched:
            patched.setattr(smtp, "send", away)
            return run_once(**fields)

    return run


def subject(letter: Message) -> str:
    return str(make_header(decode_header(str(letter["Subject"]))))


def body(letter: Message) -> str:
    return str(letter.get_payload(decode=True), "utf-8").replace("\r\n", "\n")


def make_mail_due(app: Flask) -> None:
    """Let whatever is owed have been owed for a while."""
    owed = db.update(ScheduleRun).where(ScheduleRun.mail_due_at.is_not(None))
    execute(app, owed.values(mail_due_at=now() - timedelta(minutes=1)))


def fail_run(app: Flask, client: ApiClient, why: str = "It failed.", **fields: Any) -> tuple[int, int]:
    """A schedule that mails its owner and whose only run has failed: its id, and the run's."""
    number = make(client, sends_mail=True, **fields)["schedule_id"]
    make_due(app, number)
    claim(app)
    with app.app_context():
        run_id = db.session.scalar(db.select(ScheduleRun.run_id))
        sending._end(run_id, why)
    return number, run_id


def send(app: Flask, run_id: int) -> str:
    with app.app_context():
        return mails.send(run_id)


def is_mail_due(app: Flask) -> bool:
    return scalar(app, db.select(ScheduleRun.mail_due_at)) is not None


def test_it_names_the_conversation_links_to_it_and_says_nothing_of_it(owner, postman, run_once):
    made = run_once()
    (letter,) = postman.letters
    run = made["run"]
    assert run["status"] == "done"
    assert letter["To"] == owner.email and subject(letter) == "“My week” has been answered"
    assert f"{SITE}/c/{run['conversation_id']}#m-{run['message_id']}\n" in body(letter)
    assert f"{SITE}/schedules/{made['schedule_id']}\n" in body(letter)
    assert WEEKLY["prompt"] not in body(letter) and REPLY not in body(letter)


def test_nobody_gets_one_who_did_not_choose_it(app, client, owner, postman, run_once):
    made = run_once(sends_mail=False)
    assert made["sends_mail"] is False and make(client)["sends_mail"] is False
    assert postman.letters == [] and not is_mail_due(app)


def test_without_a_mail_server_nothing_is_owed(app, owner, run_once):
    run = run_once()["run"]
    assert run["status"] == "done" and not is_mail_due(app)


@pytest.mark.parametrize("values", [{"email_verified_at": None}, {"is_active": False}])
def test_an_address_that_may_be_somebody_elses_gets_none(app, client, owner, postman, values):
    _, run_id = fail_run(app, client)
    change_row(app, User, owner.user_id, **values)
    assert send(app, run_id) == "nothing to do"
    assert postman.letters == [] and not is_mail_due(app)


def test_nothing_is_sent_about_what_was_deleted_or_no_longer_wanted(app, client, owner, postman, queue_mail):
    first, second, third = (queue_mail() for _ in range(3))
    client.delete(f"/api/conversations/{first['run']['conversation_id']}")
    change_row(app, Conversation, third["run"]["conversation_id"], deleted_at=now())
    assert (
        client.patch(f"/api/schedules/{second['schedule_id']}", json={"sends_mail": False}).json["sends_mail"] is False
    )
    make_mail_due(app)
    for made in (first, second, third):
        assert send(app, made["run"]["run_id"]) == "nothing to do"
    assert postman.letters == [] and not is_mail_due(app)
    assert second["run"]["status"] == "done", "a mail server that is away fails no run"


def away(*_given: object, **_more: object) -> None:
    raise smtp.MailUnavailable("ConnectionRefusedError")


def test_one_that_failed_says_so_and_that_it_paused_itself(app, client, owner, model, postman, run_jobs):
    model.script(match="Ask me how", fault={"http_status": 401})
    number = make(client, title="My week", sends_mail=True)["schedule_id"]
    change_row(app, Schedule, number, failures=sending.MAX_FAILURES - 1)
    make_due(app, number, timedelta(days=1))
    claim(app)
    run_jobs(failures=True)
    (letter,) = postman.letters
    assert subject(letter) == "“My week” was not answered"
    assert "It ran late" in body(letter) and "has paused itself" in body(letter)
    assert WEEKLY["prompt"] not in body(letter)


def test_one_that_sent_nothing_leads_to_its_schedule(app, client, owner, postman):
    number, run_id = fail_run(app, client, "The limit of tokens is reached.", title="My\u2028week")
    assert send(app, run_id) == "sent"
    (letter,) = postman.letters
    assert f"{SITE}/c/" not in body(letter) and f"{SITE}/schedules/{number}\n" in body(letter)
    assert "tokens" not in body(letter), "what went wrong is said on the page"


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != SOURCE])
def test_it_is_in_the_persons_language(app, language):
    run = ScheduleRun(status="done", is_late=True, message_id=5)
    schedule = Schedule(schedule_id=3, title="My week", is_active=False, paused_why="x")
    with app.app_context():
        for run.status in ("done", "failed"):
            english = mails._texts(run, schedule, None)
            with use_language(language):
                said = mails._texts(run, schedule, None)
            assert said[0] != english[0] and "My week" in said[0]
            shared = set(said[1].splitlines()) & set(english[1].splitlines()) - {""}
            assert all("/schedules/3" in line for line in shared), shared


def test_the_account_says_which_language(app, client, owner, postman, run_once):
    client.put("/api/account", json={"settings": {"language": "de"}})
    run_once()
    (letter,) = postman.letters
    assert subject(letter) == "„My week“ wurde beantwortet"


def test_a_job_that_runs_twice_sends_one(app, owner, postman, run_once):
    run_id = run_once()["run"]["run_id"]
    assert len(postman.letters) == 1
    with app.app_context():
        assert sending.run(run_id) is False, "its end is noted once"
    assert send(app, run_id) == "nothing to do"
    change_row(app, ScheduleRun, run_id, mail_due_at=now())
    with ThreadPoolExecutor(2) as workers:
        outcomes = list(workers.map(lambda _: send(app, run_id), range(2)))
    assert sorted(outcomes) == ["nothing to do", "sent"] and len(postman.letters) == 2


@pytest.mark.parametrize(("dies", "letters"), [("before", 1), ("as it is taken", 0), ("after", 1)])
def test_one_that_dies_in_the_middle_sends_it_no_second_time(
    app, client, owner, postman, run_jobs, monkeypatch, dies, letters
):
    """Until the mail server is about to take it, another one sends it; from then on it counts as sent."""
    _, run_id = fail_run(app, client)
    real = smtp.send

    def die(*given: Any, before: Callable[[], object], **more: Any) -> None:
        if dies == "after":
            real(*given, before=before, **more)
        elif dies == "as it is taken":
            before()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(smtp, "send", die)
        with pytest.raises(KeyboardInterrupt):
            send(app, run_id)
    assert send(app, run_id) == "nothing to do", "as far as anybody knows it is being sent"
    make_mail_due(app)
    app.extensions["redis"].flushdb()
    with app.app_context():
        assert list(mails.due_mails()) == ([run_id] if dies == "before" else [])
        sweep()
    run_jobs()
    make_mail_due(app)
    assert send(app, run_id) == "nothing to do"
    assert len(postman.letters) == letters and not is_mail_due(app)


def test_a_mail_server_that_is_away_gets_it_later_and_fails_no_run(app, client, owner, postman, run_jobs, monkeypatch):
    tried: list[object] = []

    def refuse(*given: object, **_more: object) -> None:
        tried.append(given)
        raise smtp.MailUnavailable("ConnectionRefusedError")

    numbers = [make(client, sends_mail=True)["schedule_id"] for _ in range(3)]
    with monkeypatch.context() as patched:
        patched.setattr(smtp, "send", refuse)
        for number in numbers:
            make_due(app, number)
        claim(app)
        with app.app_context():
            for run_id in db.session.scalars(db.select(ScheduleRun.run_id)).all():
                sending._end(run_id, "It failed.")
        run_jobs()
    assert [runs(client, number)[0]["status"] for number in numbers] == ["failed"] * 3
    assert len(tried) == 1, "those that wait with it are not tried in vain"
    with app.app_context():
        assert list(mails.due_mails()) == []
    make_mail_due(app)
    app.extensions["redis"].flushdb()
    with app.app_context():
        sweep()
    run_jobs()
    assert len(postman.letters) == 3 and not is_mail_due(app)


def test_an_address_that_is_refused_for_now_is_tried_again_and_for_good_is_not(app, owner, postman, run_once):
    postman.answer = "450 later"
    run_id = run_once()["run"]["run_id"]
    assert is_mail_due(app)
    make_mail_due(app)
    postman.answer = "550 no such user"
    assert send(app, run_id) == "refused"
    assert not is_mail_due(app) and postman.letters == []


def test_what_the_mail_server_may_have_taken_is_not_sent_again(app, owner, postman, monkeypatch, run_once):
    async def hang_up(_self: Postman, server: Any, _session: Any, envelope: Any) -> str:
        _self.letters.append(email.message_from_bytes(envelope.content))
        server.transport.abort()
        return "250 OK"

    monkeypatch.setattr(Postman, "handle_DATA", hang_up)
    run_once()
    assert len(postman.letters) == 1 and not is_mail_due(app)


def test_it_is_given_up_after_a_day(app, owner, postman, queue_mail):
    run_id = queue_mail()["run"]["run_id"]
    make_mail_due(app)
    change_row(app, ScheduleRun, run_id, ended_at=now() - mails.MAX_AGE - timedelta(minutes=1))
    assert send(app, run_id) == "nothing to do"
    assert postman.letters == [] and not is_mail_due(app)


def test_the_form_asks_only_where_mail_is_sent(client, browser):
    made = make(client, sends_mail=True)
    page = browser.get(f"/schedules/{made['schedule_id']}").text
    assert "E-mail me" not in page
    form = {"csrf_token": csrf_token(page), "prompt": "Water", "repeat": "daily", "at": "2036-01-01T10:00"}
    assert browser.post(f"/schedules/{made['schedule_id']}", data=form).status_code == 303
    (row,) = client.get("/api/schedules").json["schedules"]
    assert row["sends_mail"] is True, "the form did not ask"


def test_the_form_stores_what_was_chosen(app, client, user, postman, browser):
    change_row(app, User, user.user_id, email_verified_at=None)
    page = browser.get("/schedules/new").text
    assert "E-mail me when it has run" in page and "once your address is confirmed" in page
    assert 'name="sends_mail" value="1" checked' not in page
    form = {"csrf_token": csrf_token(page), "prompt": "Water", "repeat": "daily", "at": "2036-01-01T10:00"}
    assert browser.post("/schedules/new", data={**form, "sends_mail": "1"}).status_code == 303
    (row,) = client.get("/api/schedules").json["schedules"]
    assert row["sends_mail"] is True
    change_row(app, User, user.user_id, email_verified_at=now())
    place = f"/schedules/{row['schedule_id']}"
    page = browser.get(place).text
    assert 'name="sends_mail" value="1" checked' in page and "once your address is confirmed" not in page
    assert browser.post(place, data=form).status_code == 303
    assert client.get("/api/schedules").json["schedules"][0]["sends_mail"] is False
