"""Large imports and restores are taken back by a job: with progress, repeatable, and the same when it dies midway."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from testkit.exports import chatgpt_conversation
from testkit.people import ApiClient
from tests.support.interleaving import killed_at
from tests.transfer.moving import list_talks, upload
from tests.transfer.test_restore import export_account, furnish, restore_account
from webapp.accounts.models import User
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, write_transaction
from webapp.memories.models import Memory
from webapp.transfer import import_undo, service
from webapp.transfer.models import Import, RestoredRow

TALKS = [chatgpt_conversation(number) for number in range(3)]


@pytest.fixture(autouse=True)
def _small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_undo, "LARGE", 0)
    monkeypatch.setattr(import_undo, "BATCH", 1)


@pytest.fixture
def taken_in(client: ApiClient, run_jobs: Callable[..., Any]) -> int:
    """An import of three conversations that is done; its id."""
    made = upload(client, json.dumps(TALKS).encode(), "conversations.json").get_json()
    run_jobs()
    client.post(f"/api/imports/{made['import_id']}/start", json={"take": ["conversations"]})
    run_jobs()
    assert len(list_talks(client)) == 3
    return int(made["import_id"])


def test_a_job_takes_a_large_import_back(client, login, user, taken_in, run_jobs):
    place, browser = f"/api/imports/{taken_in}", login(user)
    begun = client.post(f"{place}/undo", json={})
    assert (begun.status_code, begun.get_json()["status"]) == (202, "undoing")
    assert (begun.get_json()["position"], begun.get_json()["total"]) == (0, 3)
    assert len(list_talks(client)) == 3
    assert client.post(f"{place}/undo", json={}).status_code == 409
    assert client.post(f"{place}/learning", json={}).status_code == 409
    page = browser.get(f"/imports/{taken_in}").text
    assert "0 of 3 parts undone" in page and "Undo this import" not in page and 'href="/c/' in page
    assert "Undoing" in browser.get("/transfer").text
    run_jobs()
    assert list_talks(client) == []
    assert client.get(place).get_json()["status"] == "undone"
    assert client.post(f"{place}/undo", json={}).status_code == 409
    page = browser.get(f"/imports/{taken_in}").text
    assert "Undone." in page and "Details" not in page, "of what is gone there is nothing to tell"


def test_it_goes_on_where_it_was_killed_and_counts_what_stays_once(app, client, taken_in, monkeypatch):
    with app.app_context(), write_transaction():
        first = db.session.scalars(db.select(Conversation.conversation_id)).first()
        db.session.add(Message(conversation_id=first, role="user", content="And on"))
    client.post(f"/api/imports/{taken_in}/undo", json={})
    with app.app_context():
        with killed_at("DELETE FROM conversations", 2):
            import_undo.run(taken_in)
        halfway = db.session.get_one(Import, taken_in)
        assert (halfway.stage, halfway.options["undone"]["parts"]) == ("undoing", 2)
        assert import_undo.run(taken_in) == "undone"
        assert import_undo.run(taken_in) == "undone", "twice is once"
        assert db.session.get_one(Import, taken_in).error == "1 part was changed since, and stayed."
    assert len(list_talks(client)) == 1


def test_it_makes_room_for_others_between_slices(app, client, taken_in, run_jobs):
    client.post(f"/api/imports/{taken_in}/undo", json={})
    with app.app_context():
        assert import_undo.run(taken_in, seconds=-1) == "undoing"
        assert db.session.get_one(Import, taken_in).options["undone"] == {"parts": 1, "of": 3}
        db.session.rollback()
    run_jobs()
    assert list_talks(client) == []


def test_a_restore_is_taken_back_by_the_job_with_all_that_goes_with_it(app, make_user):
    person, other = make_user(name="Someone"), make_user(name="Other")
    with app.app_context():
        furnish(person.user_id, [["One", "Two"], ["Three"]], ["Tea"])
        row = restore_account(other.user_id, export_account(person.user_id))
        number = row.import_id
        with write_transaction():
            assert service.undo(other.user_id, number).stage == "undoing"
        slices = 1
        while import_undo.run(number, seconds=-1) != "undone":  # one step at a time: each begins anew
            slices += 1
            assert slices < 100
        assert slices > 1
        for model in (Conversation, Memory):
            assert db.session.query(model).filter_by(user_id=other.user_id).count() == 0
        assert db.session.query(RestoredRow).count() == 0
        assert db.session.get_one(User, other.user_id).name == "Other"
