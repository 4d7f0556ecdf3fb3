"""Deleting an account: closed at once, kept if its owner thinks again, gone in pieces, and nothing left anywhere."""

import io
import re
from datetime import timedelta

import pyotp
import pytest
from sqlalchemy import inspect, text

from testkit.people import PASSWORD, browser_client, post_form
from tests.accounts.authenticator import Authenticator
from tests.accounts.test_passkeys import add as add_passkey, sign_in as sign_in_with_passkey
from tests.memories.keeping.test_no_trace import cells, everywhere as _everywhere, in_redis
from tests.support.interleaving import killed_at
from tests.support.queries import change_row, get_row
from tests.transfer.test_restore import furnish
from webapp.accounts import deletion, second_factor
from webapp.accounts.models import AccountDeletion, User
from webapp.background.time_slices import ENDLESS
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.files.models import File
from webapp.files.storage import file_storage, key_of
from webapp.memories.models import Memory
from webapp.spaces.models import SpaceDocument, SpaceMember
from webapp.transfer import account_erasure

everywhere = _everywhere


def _share_with(app, owner, other):
    """Make somebody a member of the only space of another."""
    with app.app_context(), write_transaction():
        space_id = db.session.query(SpaceMember).filter_by(user_id=owner.user_id).one().space_id
        db.session.add(SpaceMember(space_id=space_id, user_id=other.user_id, role="member", status="active"))


def _close(browser, password=PASSWORD):
    return post_form(browser, "/settings/delete", page="/settings/delete", password=password)


def come_due(app) -> None:
    with app.app_context(), write_transaction():
        for row in db.session.query(AccountDeletion):
            row.due_at = now() - timedelta(seconds=1)


def _try_to_sign_in(app, person):
    client = app.test_client()
    page = client.get("/login").text
    token = re.search(r'name="csrf_token" value="([^"]+)"', page)
    form = {"email": person.email, "password": person.password, "csrf_token": token[1] if token else ""}
    return client, client.post("/login", data=form)


def test_the_page_says_what_goes_and_what_stays_and_what_others_have_stays(app, user, make_user, browser):
    other = make_user()
    with app.app_context():
        furnish(user.user_id, [["One", "Two"], ["Three"]], ["Tea"])
        with write_transaction():
            db.session.add(Memory(user_id=other.user_id, memory_type="fact", content="Theirs", statement_hash="x"))
    _share_with(app, user, other)
    page = browser.get("/settings/delete").text
    assert "2 conversations" in page and "2 memories" in page
    assert "The space Hive: its longest-standing member becomes the owner" in page
    assert "1 document that you added" in page
    assert "7 days" in page
    assert "/settings/delete" in browser.get("/settings").text
    _close(browser)
    come_due(app)
    with app.app_context():
        found = account_erasure.traces(user.user_id, user.email)["left"]
        assert found["users"] == 1 and found["api_tokens"] == 1, "another person's are no one's here"
        assert account_erasure.delete_account(user.user_id, seconds=ENDLESS) == "done"
        assert db.session.query(SpaceMember).one().role == "owner"
        assert db.session.query(SpaceDocument).one().user_id is None
        assert db.session.query(Memory).one().content == "Theirs"
        with write_transaction():
            assert deletion.purge(now()) == 0
            assert deletion.purge(now() + deletion.REPORT_RETENTION + timedelta(seconds=1)) == 1, (
                "reports go after a time"
            )
        app.extensions["redis"].mset({"limit/user:90001/x": 1, "user:900011": 1, "superuser:90001": 1})
        assert account_erasure._redis_keys(90001) == [b"limit/user:90001/x"]


def test_it_takes_the_password_and_signs_out_everywhere(app, login, user, client):
    browser, another = login(user), login(user)
    assert _close(browser, "wrong").status_code == 422
    assert client.get("/api/account").status_code == 200
    answer = _close(browser)
    assert answer.status_code == 303
    assert client.get("/api/account").status_code == 401
    assert another.get("/settings").status_code == 303
    assert browser.get("/settings").status_code == 303
    shown = browser.get(answer.location)
    assert "Your account is closed" in shown.text and shown.headers["Cache-Control"] == "no-store"
    assert user.email not in shown.text
    with app.app_context():
        assert account_erasure.delete_account(user.user_id) == "kept", "its time has not come"
        assert deletion.due_deletions() == []


def test_signing_in_offers_the_way_back_and_everything_is_as_it_was(app, login, user, client):
    client.post("/api/conversations", json={"title": "Mine"})
    _close(login(user))
    visitor, answer = _try_to_sign_in(app, user)
    assert answer.status_code == 303 and answer.location.endswith("/account/keep")
    page = visitor.get("/account/keep").text
    assert "Keep my account" in page
    assert visitor.get("/settings").status_code == 303, "not signed in by that"
    kept = post_form(visitor, "/account/keep", page="/account/keep")
    assert kept.location == "/" and "Your account stays as it was." in visitor.get("/").text
    assert visitor.get("/account/keep").status_code == 303
    assert visitor.get("/settings").status_code == 200, "who has just proved who they are is signed in"
    assert [row["title"] for row in client.get("/api/conversations").get_json()["conversations"]] == ["Mine"]
    actions = [event["action"] for event in client.get("/api/audit").get_json()["events"]]
    assert {"deletion_asked", "deletion_withdrawn"} <= set(actions)


def test_the_way_back_takes_the_right_password_and_is_nobody_elses(app, login, user, make_user, anonymous):
    _close(login(user))
    wrong = make_user()
    _, answer = _try_to_sign_in(app, type(user)(user.user_id, user.email, "", "not the password", ""))
    assert answer.status_code == 401
    assert anonymous.get("/account/keep").status_code == 303
    assert post_form(anonymous, "/account/keep", page="/login").status_code == 303
    stranger = login(wrong)
    assert post_form(stranger, "/account/keep", page="/").status_code == 303
    assert anonymous.get("/deleted/nonsense").status_code == 404
    with app.app_context():
        assert not db.session.get(User, user.user_id).is_active
        with write_transaction():  # as an admin does
            assert deletion.service.update_user(user.user_id, deletion.service.UserChanges(is_active=True)).is_active
        assert deletion.pending_deletion(user.user_id) is None
    assert login(user).get("/settings").status_code == 200


def test_the_last_admin_stays_while_there_are_others(login, make_user):
    admin = make_user(is_admin=True)
    make_user()
    answer = _close(login(admin))
    assert answer.status_code == 409 and "only admin" in answer.text


@pytest.mark.parametrize("at_once", [False, True])
def test_nothing_is_left_anywhere(app, login, client, user, everywhere, run_jobs, model, at_once):
    """Every table, Redis and the files, searched for the words, the address, the name and the number."""
    model.script(match="memory_operations", structured={"statements": []})
    change_row(app, User, user.user_id, name="Wilhelmina Quist")
    file = client.post(
        "/api/files", data={"file": (io.BytesIO(b"walnut oil"), "w.txt")}, content_type="multipart/form-data"
    ).get_json()
    client.post("/api/imports", json={"text": "- Walnuts"})
    with app.app_context():
        furnish(user.user_id, [["walnut", "walnuts"]], ["walnut"])
        stored = file_storage().path(key_of(db.session.get(File, file["file_id"]).digest))
        assert stored.exists()
    address = "" if at_once else _close(login(user)).location
    run_jobs()
    come_due(app)
    client.post("/api/nothing")
    with app.app_context():
        if at_once:
            with write_transaction():
                deletion.delete_account(user.user_id, PASSWORD)
        else:
            assert deletion.due_deletions() == [user.user_id]
            assert account_erasure.delete_account(user.user_id, seconds=ENDLESS) == "done"
            row = db.session.query(AccountDeletion).one()
            assert row.report["left"] == {} and row.report["tables"] > 25
            assert row.report["redis_keys_left"] == row.report["files_left"] == 0
            assert account_erasure.delete_account(user.user_id) == "kept", "run again it does nothing"
        assert not stored.exists()
        connection = db.session.connection()
        for name in inspect(connection).get_table_names():
            columns = {column["name"] for column in inspect(connection).get_columns(name)} & account_erasure.NAMES
            for column in columns if name != "account_deletions" else ():
                there = text(f"SELECT count(*) FROM {name} WHERE {column} = {user.user_id}")
                assert connection.execute(there).scalar() == 0, (name, column)
    words = f"walnut|quist|{re.escape(user.email)}"
    assert {table for table, _, value, _ in cells(app) if re.search(words, str(value), re.IGNORECASE)} == set()
    assert in_redis(app.extensions["redis"], words) == set()
    assert at_once or "Nothing is left" in browser_client(app).get(address).text


def test_a_killed_deletion_goes_on_and_can_not_be_taken_back_any_more(app, login, user, monkeypatch):
    with app.app_context():
        furnish(user.user_id, [[f"Talk {n}", "x"] for n in range(5)], ["Tea"])
    _close(login(user))
    come_due(app)
    monkeypatch.setattr(account_erasure, "CONVERSATIONS", 2)
    monkeypatch.setattr(account_erasure, "ROWS", 2)
    with app.app_context():
        with killed_at("DELETE FROM conversations", 2):
            account_erasure.delete_account(user.user_id, seconds=ENDLESS)
        assert db.session.query(Conversation).count() == 3
        with pytest.raises(deletion.Conflict), write_transaction():
            deletion.cancel(user.user_id)
        steps = 0
        while account_erasure.delete_account(user.user_id, seconds=0) == "running":
            steps += 1
        assert steps > 5
        assert db.session.query(User).filter_by(user_id=user.user_id).count() == 0
        assert db.session.query(AccountDeletion).one().report["left"] == {}


def test_over_the_api_it_is_gone_at_once_and_what_is_much_goes_by_a_job(
    app, api, session_api, make_user, monkeypatch, run_jobs
):
    little, much = make_user(), make_user()
    with app.app_context():
        furnish(much.user_id, [["One", "Two", "Three"]], ["Tea"])
    assert session_api(little).delete("/api/account", json={"password": PASSWORD}).status_code == 204
    assert get_row(app, User, little.user_id) is None
    monkeypatch.setattr(deletion, "SMALL_ACCOUNT", 2)
    assert session_api(much).delete("/api/account", json={"password": PASSWORD}).status_code == 204
    assert api(much).get("/api/account").status_code == 401
    _, answer = _try_to_sign_in(app, much)
    assert answer.status_code == 401
    again = make_user(email=much.email)  # the address is free
    run_jobs()
    with app.app_context():
        assert db.session.get(User, much.user_id) is None
        assert db.session.query(Conversation).count() == 0
        assert db.session.query(AccountDeletion).one().report["left"] == {}
        assert db.session.get(User, again.user_id) is not None


def test_without_a_time_to_think_it_is_done_by_the_next_job(app, run_jobs, monkeypatch, browser):
    with app.app_context():
        settings = app.extensions["settings"]
    monkeypatch.setitem(app.extensions, "settings", settings.model_copy(update={"account_grace_days": 0}))
    assert "at once and for good" in browser.get("/settings/delete").text
    place = _close(browser).location
    run_jobs()
    assert "Nothing is left" in browser.get(place).text


@pytest.fixture
def codes(app, user):
    """The recovery codes of a user with two-step sign-in."""
    with app.app_context(), write_transaction():
        second_factor.begin(user.user_id)
        secret = second_factor.pending_secret(user.user_id)
        return second_factor.confirm(user.user_id, pyotp.TOTP(secret).now())


def _is_kept(app, person) -> bool:
    return get_row(app, User, person.user_id).is_active


def test_the_way_back_takes_the_second_step_as_signing_in_does(app, login, user, client, codes):
    with app.app_context(), write_transaction():
        deletion.close(user.user_id, PASSWORD)
    visitor, answer = _try_to_sign_in(app, user)
    assert answer.location.endswith("/login/code")
    assert visitor.get("/account/keep").status_code == 303, "the password alone shows nothing"
    assert post_form(visitor, "/account/keep", page="/login/code").location.endswith("/login")
    assert post_form(visitor, "/login/code", page="/login/code", code="000000").status_code == 401
    assert not _is_kept(app, user)
    answer = post_form(visitor, "/login/code", page="/login/code", code=codes[0])
    assert answer.location.endswith("/account/keep")
    assert visitor.get("/settings").status_code == 303, "not signed in by that"
    assert post_form(visitor, "/account/keep", page="/account/keep").status_code == 303
    assert _is_kept(app, user)
    assert visitor.get("/settings").status_code == 200
    again, answer = _try_to_sign_in(app, user)
    assert answer.location.endswith("/login/code")
    assert post_form(again, "/login/code", page="/login/code", code=codes[0]).status_code == 401, "it is used up"
    assert post_form(again, "/login/code", page="/login/code", code=codes[1]).status_code == 303


def test_a_passkey_is_a_way_back_without_a_second_step(app, login, user, anonymous, codes):
    key = Authenticator()
    browser, _ = _try_to_sign_in(app, user)
    post_form(browser, "/login/code", page="/login/code", code=codes[0])
    assert add_passkey(browser, key).status_code == 303
    _close(browser)
    answer = sign_in_with_passkey(anonymous, key)
    assert answer.location.endswith("/account/keep")
    assert anonymous.get("/settings").status_code == 303, "not signed in by that"
    assert post_form(anonymous, "/account/keep", page="/account/keep").status_code == 303
    assert _is_kept(app, user)
    assert anonymous.get("/settings").status_code == 200


def test_nobody_comes_back_to_an_account_that_is_being_deleted_or_was_stopped(app, login, user, anonymous, monkeypatch):
    key = Authenticator()
    assert add_passkey(login(user), key).status_code == 303
    monkeypatch.setattr(deletion, "SMALL_ACCOUNT", -1)
    with app.app_context(), write_transaction():
        deletion.delete_now(user.user_id)
    assert sign_in_with_passkey(anonymous, key).status_code == 401
    with app.app_context(), write_transaction():
        db.session.query(AccountDeletion).delete()
    assert sign_in_with_passkey(anonymous, key).status_code == 401
