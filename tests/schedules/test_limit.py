"""The number of schedules a person may have: as configured, until an admin says otherwise on the page of limits."""

from collections.abc import Callable

import pytest
from flask import Flask

from testkit.people import ApiClient, Person, post_form
from tests.conversations.test_api import assert_problem
from tests.schedules.test_schedules import WEEKLY, make
from webapp.accounts import site

PLACE = "/admin/usage/quotas"


@pytest.fixture
def admin(make_user: Callable[..., Person], login: Callable) -> object:
    return login(make_user(is_admin=True))


def limit(app: Flask) -> int:
    with app.app_context():
        return site.schedules_per_person()


def test_an_admin_sets_it_for_everybody(app: Flask, client: ApiClient, admin: object) -> None:
    configured = limit(app)
    assert f"An empty field means {configured}." in admin.get(PLACE).text
    assert post_form(admin, PLACE, PLACE, user="", schedules="1", day_tokens="5000").status_code == 303
    page = admin.get(PLACE).text
    assert 'name="schedules" inputmode="numeric" maxlength="5" value="1"' in page and 'value="5000"' in page
    make(client)
    assert_problem(client.post("/api/schedules", json=WEEKLY), 429)
    assert post_form(admin, PLACE, PLACE, user="", schedules="0").status_code == 303
    assert limit(app) == 0 and 'maxlength="5" value="0"' in admin.get(PLACE).text
    assert post_form(admin, PLACE, PLACE, user="", schedules=" ").status_code == 303
    assert limit(app) == configured
    make(client)


def test_what_is_no_number_of_schedules_changes_nothing(app: Flask, admin: object) -> None:
    for given in ("-1", "ten", "10001", "1.5", "٣", "9" * 30):
        answer = post_form(admin, PLACE, PLACE, user="", schedules=given, day_tokens="5000")
        assert (given, answer.status_code) == (given, 422) and "up to 10,000" in answer.text
        assert limit(app) == 50 and "5000" not in admin.get(PLACE).text


def test_the_limits_of_one_person_leave_it_alone(app: Flask, user: Person, admin: object) -> None:
    assert 'name="schedules"' not in admin.get(f"{PLACE}?user={user.user_id}").text
    post_form(admin, PLACE, PLACE, user=str(user.user_id), schedules="3", day_tokens="")
    assert limit(app) == 50
