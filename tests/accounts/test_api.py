"""The JSON endpoints: for the owner, a stranger, an admin, nobody."""

import pytest

from tests.accounts.conftest import PASSWORD
from webapp.accounts import service, site
from webapp.db.base import db


def test_account(people, caller):
    headers = people.token(people.user("ann"))
    account = caller.get("/api/account", headers=headers).get_json()
    assert account["email"] == "ann@example.com" and account["created_at"].endswith("Z")
    assert not {"password_hash", "auth_version"} & set(account)
    body = {
        "name": " Ann ",
        "settings": {"theme": "dark", "timezone": "Europe/Lisbon", "custom_instructions": "Be brief."},
    }
    changed = caller.put("/api/account", headers=headers, json=body).get_json()
    assert changed["name"] == "Ann"
    assert changed["settings"]["theme"] == "dark" and changed["settings"]["memory_enabled"] is True
    assert caller.get("/api/account", headers=headers).get_json() == changed


@pytest.mark.parametrize(
    ("body", "where"),
    [
        *[({"name": wrong}, ["name"]) for wrong in ("x" * 201, "a\x00b", "\ud83d")],
        *[({"email": "new@example.com"}, ["email"]), ({"is_admin": True}, ["is_admin"])],
        *[
            ({"settings": {name: wrong}}, ["settings", name])
            for name, wrong in {
                "theme": "neon",
                "timezone": "Mars",
                "custom_instructions": "x" * 8_001,
                "unknown": 1,
            }.items()
        ],
    ],
)
def test_account_changes_are_checked(people, caller, body, where):
    answer = caller.put("/api/account", headers=people.token(people.user("ann")), json=body)
    assert answer.status_code == 422
    assert answer.content_type == "application/problem+json"
    assert answer.get_json()["errors"][0]["loc"][-len(where) :] == where


@pytest.mark.parametrize(
    ("kwargs", "status"),
    [
        ({"data": "{", "content_type": "application/json"}, 400),
        *(({"data": text, "content_type": "application/json"}, 422) for text in ("[]", '"x"', "null", "5")),
        ({"data": "name=x", "content_type": "application/x-www-form-urlencoded"}, 415),
        ({"json": {}}, 200),
    ],
)
def test_bodies_are_json_objects(people, caller, kwargs, status):
    answer = caller.put("/api/account", headers=people.token(people.user("ann")), **kwargs)
    assert answer.status_code == status
    assert status != 422 or [error["loc"] for error in answer.json["errors"]] == [["body"]]


def test_tokens_are_made_in_a_session_shown_once_and_revoked(people, caller):
    ann = people.user("ann")
    browser = people.browser("ann")
    made = browser.post("/api/account/tokens", json={"name": "Laptop", "expires_in_days": 30})
    assert made.status_code == 201
    secret, details = made.get_json()["token"], made.get_json()["details"]
    headers = {"Authorization": f"Bearer {secret}"}
    assert caller.get("/api/account", headers=headers).get_json()["user_id"] == ann
    listed = caller.get("/api/account/tokens", headers=headers)
    assert secret not in listed.text
    assert [token["token_id"] for token in listed.get_json()["tokens"]] == [details["token_id"]]
    assert caller.post("/api/account/tokens", headers=headers, json={"name": "child"}).status_code == 403
    path = f"/api/account/tokens/{details['token_id']}"
    assert caller.delete(path, headers=headers).status_code == 403
    assert browser.delete(path).status_code == 204
    assert caller.get("/api/account", headers=headers).status_code == 401
    assert browser.delete(path).status_code == 404


def test_a_password_change_keeps_this_session_and_ends_the_others(people):
    people.user("ann")
    here, there = people.browser("ann"), people.browser("ann")
    wrong = here.post("/api/account/password", json={"current_password": "no", "new_password": "kettle orbit"})
    assert wrong.status_code == 422 and wrong.get_json()["errors"][0]["loc"] == ["current_password"]
    right = here.post("/api/account/password", json={"current_password": PASSWORD, "new_password": "kettle orbit"})
    assert right.status_code == 204
    assert here.get("/api/account").status_code == 200
    assert there.get("/api/account").status_code == 401


def test_guessing_the_present_password_is_bounded(people):
    people.user("ann")
    browser = people.browser("ann")
    answers = [
        browser.post("/api/account/password", json={"current_password": "no", "new_password": "kettle orbit"})
        for _ in range(7)
    ]
    assert [answer.status_code for answer in answers] == [422] * 6 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_deleting_an_account(people, caller):
    ann = people.user("ann")
    headers, browser = people.token(ann), people.browser("ann")
    assert browser.delete("/api/account", json={"password": "no"}).status_code == 422
    assert browser.delete("/api/account", json={"password": PASSWORD}).status_code == 204
    assert caller.get("/api/account", headers=headers).status_code == 401
    assert ann not in [user.user_id for user in db.session.query(service.User)]


def test_changing_the_address(people):
    people.user("ann")
    browser = people.browser("ann")
    answer = browser.post("/api/account/email", json={"email": "Ann.New@Example.com", "password": PASSWORD})
    assert answer.get_json()["email"] == "ann.new@example.com"
    assert browser.get("/api/account").status_code == 200
    people.user("eve")
    taken = browser.post("/api/account/email", json={"email": "eve@example.com", "password": PASSWORD})
    assert taken.status_code == 422
    wrong = browser.post("/api/account/email", json={"email": "free@example.com", "password": "wrong"})
    assert wrong.status_code == 422 and wrong.get_json()["errors"][0]["loc"] == ["password"]


def test_admins_see_stop_and_make_accounts(people, caller):
    ann = people.user("ann")
    token, admin = people.token(ann), people.token(people.user("root2", is_admin=True))
    root = people.browser("root2")
    page = caller.get("/api/users?limit=2", headers=admin).get_json()
    assert [user["email"] for user in page["users"]] == ["root@example.com", "ann@example.com"]
    rest = caller.get(f"/api/users?limit=2&cursor={page['next_cursor']}", headers=admin).get_json()
    assert [user["email"] for user in rest["users"]] == ["root2@example.com"] and rest["next_cursor"] is None
    assert caller.get("/api/users?cursor=x", headers=admin).status_code == 422
    assert root.put(f"/api/users/{ann}", json={"is_active": False}).get_json()["is_active"] is False
    assert caller.get("/api/account", headers=token).status_code == 401
    assert root.put("/api/users/2147483647", json={"is_active": False}).status_code == 404
    assert root.put("/api/users/99999999999", json={"is_active": False}).status_code == 404
    body = {"email": "bob@example.com", "password": "kettle orbit"}
    assert root.post("/api/users", json=body).status_code == 201
    assert root.post("/api/users", json=body).status_code == 422
    assert root.post("/api/users", json={**body, "password": "password"}).status_code == 422


def test_admins_close_registration_and_set_how_many_schedules_each_person_may_have(app, people, caller):
    admin, ann = people.token(people.user("eve", is_admin=True)), people.token(people.user("ann"))

    def put(**changes: object) -> dict:
        answer = caller.put("/api/site", headers=admin, json=changes)
        assert answer.status_code == 200, answer.text
        assert caller.get("/api/site", headers=admin).get_json() == answer.get_json()
        return answer.get_json()

    def limit() -> int:
        with app.app_context():
            return site.schedules_per_person()

    configured = limit()
    assert put(registration_open=True) == {"registration_open": True, "schedules_per_person": None}
    assert put(schedules_per_person=0)["schedules_per_person"] == limit() == 0
    assert put(registration_open=False) == {"registration_open": False, "schedules_per_person": 0}
    for odd in (-1, 10_001, True, "many", 1.5):
        assert caller.put("/api/site", headers=admin, json={"schedules_per_person": odd}).status_code == 422, odd
    assert put(schedules_per_person=None)["schedules_per_person"] is None
    assert limit() == configured
    assert caller.put("/api/site", headers=ann, json={"schedules_per_person": 5}).status_code == 403
    assert caller.put("/api/site", json={"schedules_per_person": 5}).status_code == 401
