"""Who gets in where, and how those who do not are told."""

from datetime import timedelta
from io import BytesIO
from itertools import product

import pytest
from sqlalchemy import update

from tests.accounts.conftest import PASSWORD, Browser, People
from webapp.accounts import auth, service, tokens
from webapp.accounts.identity import Identity
from webapp.accounts.models import ApiToken, User
from webapp.accounts.schemas import UserChanges
from webapp.db.base import count_rows, db, now, write_transaction
from webapp.http.views import SMALL_BYTES


@pytest.fixture
def callers(people: People) -> dict[str, dict[str, str]]:
    """The headers of everybody who might call."""
    ann, root = people.user("ann"), people.user("eve", is_admin=True)
    return {
        "nobody": {},
        "stranger": {"Authorization": "Bearer cmpl_" + "x" * 43},
        "user": people.token(ann),
        "admin": people.token(root),
        "service": people.token(ann, is_service=True),
        "admin's service": people.token(root, is_service=True),
    }


@pytest.mark.parametrize(
    ("path", "admitted"),
    [
        ("/api/probe/user", {"user", "admin"}),
        ("/api/probe/either", {"user", "admin", "service", "admin's service"}),
        ("/api/probe/admin", {"admin"}),
        ("/api/internal/probe", {"admin", "service", "admin's service"}),
    ],
)
def test_who_may_call_what(caller, callers, path, admitted):
    for (name, headers), method in product(callers.items(), ("GET", "POST")):
        answer = caller.open(path, method=method, headers={**headers, "Accept": "application/json"})
        expected = 200 if name in admitted else 401 if name in ("nobody", "stranger") else 403
        assert (name, method, answer.status_code) == (name, method, expected)
        if expected != 200:
            assert answer.content_type == "application/problem+json"
            assert answer.get_json()["status"] == expected
        if expected == 401:
            assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_who_may_open_which_page(people):
    people.user("ann")
    people.user("root2", is_admin=True)
    ann, root = people.browser("ann"), people.browser("root2")
    for path, status in (("/page/user", 200), ("/page/admin", 403), ("/page/forgotten", 403)):
        answers = [browser.get(path, headers={"Accept": "application/json"}) for browser in (ann, root)]
        assert [answer.status_code for answer in answers] == [status, 200]


def test_a_wrong_method_and_an_unknown_path_need_nobody(caller):
    assert caller.delete("/api/probe/user").status_code == 405
    assert caller.get("/api/probe/none").status_code == 404
    assert caller.options("/api/probe/user").status_code == 200


def test_public_views_know_who_asks(caller, callers):
    assert caller.get("/api/probe/public").get_json() is None
    assert caller.get("/api/probe/public", headers=callers["stranger"]).get_json() is None
    assert caller.get("/api/probe/public", headers=callers["admin"]).get_json()[1:] == [True, False]
    assert caller.get("/api/probe/public", headers=callers["admin's service"]).get_json()[1:] == [False, True]
    assert caller.get("/page/public", headers=callers["admin"]).get_json() is None


def test_odd_authorization_headers(caller):
    for header in ("Bearer", "Bearer ", "bearer x", "Basic YTpi", "Bearer \u00ff", "cmpl_x", "Bearer a b"):
        answer = caller.get("/api/probe/user", headers={"Authorization": header})
        assert (header, answer.status_code, answer.content_type) == (header, 401, "application/problem+json")


def test_pages_send_to_the_login_page_and_back(caller):
    answer = caller.get("/page/user?a=b&c=d")
    assert answer.status_code == 303
    assert answer.location == "/login?next=%2Fpage%2Fuser%3Fa%3Db%26c%3Dd"
    assert caller.post("/page/user").location == "/login"
    form = {"Referer": "http://localhost/schedules/new?x=1"}
    assert caller.post("/page/user", headers=form).location == "/login?next=%2Fschedules%2Fnew%3Fx%3D1"


def test_parts_of_pages_send_the_whole_page_there(caller):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://localhost/c/7?x=1"}
    answer = caller.get("/page/user", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/login?next=%2Fc%2F7%3Fx%3D1"
    for strange in ("http://evil.example//evil.example/c", "http://["):
        headers["HX-Current-URL"] = strange
        assert caller.get("/page/user", headers=headers).headers["HX-Redirect"] == "/login"


@pytest.mark.parametrize(
    "target",
    [
        *("", None, "c/7", "//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)", "/a\\b"),
        *("/\n/evil.example", "/\t/evil.example", " /c/7", "/c\x00", "\\/evil.example", "///evil.example"),
    ],
)
def test_next_stays_on_this_site(target):
    assert auth.safe_next(target) == "/"


@pytest.mark.parametrize("target", ["/", "/c/7", "/search?q=a%2Fb&x=//y", "/c/7#m-1", "/über"])
def test_next_within_this_site(target):
    assert auth.safe_next(target) == target


def test_a_session_from_sign_in_to_sign_out(people):
    """The first CSRF token is void once somebody has signed in."""
    ann = people.user("ann")
    browser = Browser(people.app.test_client())
    before = {**browser.csrf(), "Accept": "application/json"}
    form = {"email": "ann@example.com", "password": PASSWORD}
    assert browser.caller.post("/test-login", data=form, headers={"Accept": "application/json"}).status_code == 403
    browser.post("/test-login", data=form)
    assert browser.get("/api/probe/user").get_json() == [ann, False, False]
    assert browser.caller.post("/page/user", headers=before).status_code == 403
    assert browser.post("/page/user").status_code == 200
    assert browser.post("/test-logout").get_json() is None
    assert browser.get("/api/probe/user").status_code == 401


@pytest.mark.parametrize("path", ["/page/user", "/api/probe/user"])
def test_unsafe_requests_of_a_session_need_the_csrf_token(people, path):
    people.user("ann")
    browser = people.browser("ann")
    for headers in (
        {},
        {"X-CSRFToken": "made up"},
        {"X-CSRFToken": Browser(people.app.test_client()).csrf()["X-CSRFToken"]},
    ):
        answer = browser.caller.post(path, headers={**headers, "Accept": "application/json"})
        assert answer.status_code == 403
        assert answer.content_type == "application/problem+json"
    assert browser.caller.post(path, headers=browser.csrf()).status_code == 200
    assert browser.caller.post(path, data={"csrf_token": browser.csrf()["X-CSRFToken"]}).status_code == (
        415 if path.startswith("/api/") else 200
    )


def test_a_token_counts_before_a_session(people):
    people.user("ann")
    eve = people.user("eve")
    browser = people.browser("ann")
    assert browser.caller.post("/api/probe/user", headers=people.token(eve)).get_json()[0] == eve
    assert browser.caller.get("/api/probe/user", headers={"Authorization": "Bearer no"}).status_code == 401


def test_a_stopped_or_deleted_account_is_nobody_at_once(people):
    ann = people.user("ann")
    browser, token = people.browser("ann"), people.token(ann)
    service_token = people.token(ann, is_service=True)
    caller = people.app.test_client()

    def statuses() -> list[int]:
        asked = [browser.get("/api/probe/user"), caller.get("/api/probe/user", headers=token)]
        return [a.status_code for a in (*asked, caller.get("/api/internal/probe", headers=service_token))]

    with write_transaction():
        service.update_user(ann, UserChanges(is_active=False))
    assert statuses() == [401] * 3
    with write_transaction():
        service.update_user(ann, UserChanges(is_active=True))
    assert statuses() == [401, 200, 200]
    people.browser("ann")
    browser = people.browser("ann")
    with write_transaction():
        service.delete_user(ann)
    assert statuses() == [401] * 3


def test_malformed_session_ids_are_nobody(people):
    people.user("ann")
    caller = people.app.test_client()
    for session_id in ("", "1", ":", "x:y", "1:", "-1:1", "1:1:1", "²:1", "9" * 40 + ":1"):
        with caller.session_transaction() as session:
            session["_user_id"] = session_id
        assert (session_id, caller.get("/api/probe/user").status_code) == (session_id, 401)


@pytest.mark.parametrize("field", ["revoked_at", "expires_at"])
def test_an_expired_or_revoked_token_is_refused(people, caller, field):
    ann = people.user("ann")
    headers = people.token(ann)
    assert caller.get("/api/probe/user", headers=headers).status_code == 200
    with write_transaction():
        db.session.execute(update(ApiToken).values({field: now() - timedelta(seconds=1)}))
    assert caller.get("/api/probe/user", headers=headers).status_code == 401


def test_use_of_a_token_is_noted_at_most_once_a_minute(people, caller):
    headers = people.token(people.user("ann"))

    def last_use() -> object:
        db.session.rollback()
        return db.session.scalars(db.select(ApiToken.last_used_at)).one()

    assert last_use() is None
    caller.get("/api/probe/user", headers=headers)
    first = last_use()
    assert first is not None
    caller.post("/api/probe/user", headers=headers)
    assert last_use() == first
    with write_transaction():
        db.session.execute(update(ApiToken).values(last_used_at=now() - timedelta(seconds=61)))
    caller.get("/api/probe/user", headers=headers)
    assert last_use() > first


def test_another_process_that_noted_the_use_first_is_not_overwritten(people):
    people.token(people.user("ann"))
    token_id = db.session.scalars(db.select(ApiToken.token_id)).one()
    stamp = now().replace(microsecond=0)
    with write_transaction():
        db.session.execute(update(ApiToken).values(last_used_at=stamp))
        tokens.note_use(token_id, stamp - timedelta(minutes=1))
    assert db.session.scalars(db.select(ApiToken.last_used_at)).one() == stamp


@pytest.mark.parametrize("path", ["/api/probe/user", "/api/probe/stream"])
def test_visits_are_noted_those_of_a_stream_at_its_end(people, path):
    ann = people.user("ann")
    browser = people.browser("ann")
    with write_transaction():
        db.session.execute(update(User).values(last_seen_at=now() - timedelta(minutes=6)))
    response, recent = browser.get(path), User.last_seen_at > now() - timedelta(minutes=5)
    assert count_rows(recent) == int(path.endswith("user"))
    response.close()
    db.session.rollback()
    assert service.get_user(ann).last_seen_at > now() - timedelta(minutes=5)


@pytest.mark.parametrize("size", [SMALL_BYTES, SMALL_BYTES + 1])
def test_no_transaction_is_open_while_a_body_arrives(people, caller, size):
    is_open = []

    class Body(BytesIO):
        def readinto(self, buffer):
            is_open.append(db.session().in_transaction())
            return super().readinto(buffer)

    body, headers = Body(b" " * size), people.token(people.user("ann"))
    caller.post("/api/probe/user", input_stream=body, content_length=size, headers=headers)
    assert is_open and not any(is_open)


def test_a_service_token_is_no_user(people):
    ann = people.user("ann")
    identity = Identity(user_id=ann, is_admin=False, is_service=True, via="token")
    with people.app.test_request_context("/"):
        from flask import g

        from webapp.errors import Forbidden, Unauthenticated

        with pytest.raises(Unauthenticated):
            auth.current_user_id()
        g.identity = identity
        with pytest.raises(Forbidden):
            auth.current_user_id()
