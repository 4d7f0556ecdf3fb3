"""The administration: who may open it, what it shows, and what it does to accounts."""

import re

import pytest
from redis import Redis

from testkit.people import follow, post_form
from webapp.accounts import service
from webapp.accounts.passwords import password_problem, random_code
from webapp.accounts.schemas import Credentials, UserChanges
from webapp.admin import users
from webapp.db.base import db
from webapp.errors import Conflict, NotFound, Unauthenticated


def test_somebody_without_a_name_is_called_by_the_address_once(app, browser, make_user):
    other = make_user(email="heron@example.org")
    with app.app_context():
        service.get_user(other.user_id).name = ""
        db.session.commit()
    page = browser.get(f"/admin/users/{other.user_id}").text
    assert page.partition("<h1>")[2].partition("<h2")[0].count("heron@example.org") == 1
    row = browser.get("/admin/users?q=heron").text.partition('class="rows"')[2].partition("</ul>")[0]
    assert row.count("heron@example.org") == 1


def test_overview_tells_the_state(browser, user, app):
    text = browser.get("/admin").text
    assert re.search(r"<dt>Users</dt><dd>2</dd>", text)
    assert re.search(r"<dt>Admins</dt><dd>1</dd>", text)
    assert "test-chat" in text
    assert "No worker is running" in text
    assert app.extensions["settings"].secret_key not in text


def test_overview_works_without_redis(browser, monkeypatch, app):
    monkeypatch.setitem(app.extensions, "redis", Redis(port=1, socket_connect_timeout=0.1, retry=None))
    answer = browser.get("/admin")
    assert answer.status_code == 200
    assert "Redis cannot be reached" in answer.text


def test_users_are_found_by_address_and_name(browser, make_user):
    make_user(email="heron@example.org", name="Wader")
    make_user(email="100%@example.org", name="Per Cent")
    assert "heron@example.org" in browser.get("/admin/users?q=HERON").text
    assert "heron@example.org" in browser.get("/admin/users?q=wade").text
    found = browser.get("/admin/users?q=%25").text
    assert "100%@example.org" in found
    assert "heron@example.org" not in found
    assert "No user matches" in browser.get("/admin/users?q=nobody-like-that").text


def test_users_come_in_pages_and_as_rows_for_htmx(browser, make_user, monkeypatch):
    monkeypatch.setattr("webapp.admin.pages.PAGE_LENGTH", 2)
    people = [make_user() for _ in range(3)]
    first = browser.get("/admin/users")
    address = re.search(r'href="(/admin/users\?cursor=[^"]+)"', first.text)[1]
    rows = browser.get(address, headers={"HX-Request": "true"})
    assert "<html" not in rows.text
    assert people[2].email in rows.text
    assert people[0].email not in rows.text
    assert browser.get("/admin/users?cursor=nonsense").status_code == 422


def test_rights_are_given_and_taken(browser, user, app):
    page = f"/admin/users/{user.user_id}"
    assert post_form(browser, f"{page}/admin", admin="1").headers["Location"] == page
    assert "is now an admin" in browser.get(page).text
    with app.app_context():
        assert service.get_user(user.user_id).is_admin
    post_form(browser, f"{page}/admin", admin="0")
    with app.app_context():
        assert not service.get_user(user.user_id).is_admin


def test_an_account_is_switched_off_and_on(browser, user, login, client):
    theirs = login(user)
    post_form(browser, f"/admin/users/{user.user_id}/active", active="0")
    assert theirs.get("/settings").status_code == 303
    assert client.get("/api/account").status_code == 401
    post_form(browser, f"/admin/users/{user.user_id}/active", active="1")
    assert client.get("/api/account").status_code == 200
    assert theirs.get("/settings").status_code == 303, "sessions of before stay ended"


def test_a_new_password_is_shown_once_and_works(browser, user, login, app):
    theirs = login(user)
    page = f"/admin/users/{user.user_id}"
    shown = follow(browser, post_form(browser, f"{page}/password"))
    password = re.search(r'<code id="password">([^<]+)</code>', shown.text)[1]
    assert "no-store" in shown.headers["Cache-Control"]
    assert "signed out everywhere." in shown.text
    assert password not in browser.get(page).text
    assert theirs.get("/settings").status_code == 303
    with app.app_context():
        assert service.log_in(Credentials(email=user.email, password=password)).user_id == user.user_id
        with pytest.raises(Unauthenticated):
            service.log_in(Credentials(email=user.email, password=user.password))
        db.session.rollback()


def test_deleting_wants_the_address(browser, user, app):
    page = f"/admin/users/{user.user_id}"
    refused = post_form(browser, f"{page}/delete", email="somebody@example.org")
    assert refused.status_code == 422
    assert "What you typed does not belong to this account." in refused.text
    with app.app_context():
        assert service.get_user(user.user_id)
    done = post_form(browser, f"{page}/delete", email=f" {user.email.upper()} ")
    assert done.headers["Location"] == "/admin/users"
    with app.app_context(), pytest.raises(NotFound):
        service.get_user(user.user_id)
    assert browser.get(page).status_code == 404


def test_never_oneself(login, make_user, app):
    ada = make_user(email="ada@example.org", is_admin=True)
    make_user(is_admin=True)
    browser = login(ada)
    deeds = {"admin": {"admin": "0"}, "active": {"active": "0"}, "password": {}, "delete": {"email": ada.email}}
    for action, form in deeds.items():
        answer = post_form(browser, f"/admin/users/{ada.user_id}/{action}", **form)
        assert (action, answer.status_code) == (action, 409)
        with app.app_context():
            kept = service.get_user(ada.user_id)
            assert kept.is_admin and kept.is_active


def test_a_user_is_added_with_a_password_to_hand_over(browser, app):
    post_form(browser, "/admin/registration", open="0")
    shown = follow(browser, post_form(browser, "/admin/users", email="New@Example.org", name="New"))
    assert "signed out everywhere." not in shown.text
    password = re.search(r'<code id="password">([^<]+)</code>', shown.text)[1]
    with app.app_context():
        assert service.log_in(Credentials(email="new@example.org", password=password)).name == "New"
        db.session.rollback()
    again = post_form(browser, "/admin/users", email="new@example.org", name="Other")
    assert again.status_code == 422
    assert "already has an account" in again.text
    assert 'value="Other"' in again.text


def test_passwords_are_long_and_acceptable():
    made = {random_code(*users.PASSWORD) for _ in range(50)}
    assert len(made) == 50
    assert all(re.fullmatch("(-?[a-hjkmnp-z2-9]{5}){4}", password) for password in made)
    assert not any(password_problem(password, "somebody@example.org") for password in made)


def test_the_last_admin_stays_when_two_unmake_each_other(app_context, make_user):
    ada, bob = make_user(is_admin=True), make_user(is_admin=True)
    users.change(ada.user_id, bob.user_id, UserChanges(is_admin=False))
    # Bob's request was admitted before he lost his rights.
    with pytest.raises(Conflict):
        users.change(bob.user_id, ada.user_id, UserChanges(is_admin=False))
    with pytest.raises(Conflict):
        users.change(bob.user_id, ada.user_id, UserChanges(is_active=False))
    with pytest.raises(Conflict):
        users.delete(bob.user_id, ada.user_id, ada.email)
    assert service.get_user(ada.user_id).is_admin


def test_holdings_count_what_is_theirs(app_context, make_user):
    person = make_user()
    make_user()
    assert users.count_contents(person.user_id) == {"conversations": 0, "tokens": 1}
