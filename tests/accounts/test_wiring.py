"""Accounts in the whole application: every view has a rule, and the pages keep to it."""

import re
from collections.abc import Callable

from flask import Flask
from flask.testing import FlaskClient

from testkit.people import Person, csrf_token
from webapp.accounts.access import access_of


def test_what_is_for_admins_or_services_says_so(app: Flask) -> None:
    """And `tests/test_access_matrix.py` calls what says so as everybody else."""
    views = [(rule.rule, access_of(app, rule.endpoint)) for rule in app.url_map.iter_rules()]
    areas = ("users", "site", "feedback", "connections", "local-servers", "groups", "quotas", "web-access")
    for start in ("/admin", *(f"/api/{name}" for name in areas), "/api/internal"):
        found = [(rule, access) for rule, access in views if rule.startswith(start)]
        wanted = "service" if start == "/api/internal" else "admin"
        assert found and not [(rule, access) for rule, access in found if access != wanted], start
    changes = [access for rule, access in views if re.match("/api/(prompts/.*versions|models/)", rule)]
    assert changes == ["admin"] * 3


def test_signing_in_without_the_csrf_token_is_refused(anonymous: FlaskClient, user: Person) -> None:
    answer = anonymous.post("/login", data={"email": user.email, "password": user.password})
    assert answer.status_code == 403 and "out of date" in answer.text


def test_the_jobs_dashboard_is_for_admins_and_for_requests_of_this_site(
    login: Callable[[Person], FlaskClient], make_user: Callable[..., Person], user: Person
) -> None:
    assert login(user).get("/admin/rq/").status_code == 403
    admin = login(make_user(is_admin=True))
    assert admin.get("/admin/rq/").status_code == 200
    path = "/admin/rq/queues/turn/failed/requeue"
    assert admin.post(path, headers={"Origin": "http://localhost"}).status_code == 403
    token = csrf_token(admin.get("/admin").text)
    assert admin.post(path, headers={"X-CSRFToken": token}).status_code == 303
