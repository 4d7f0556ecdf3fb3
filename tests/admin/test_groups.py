"""Groups of people: models that are for them, limits of their members, and who may keep them."""

import pytest

from testkit.people import post_form
from webapp.accounts import groups, signals
from webapp.db.base import db, write_transaction
from webapp.providers.catalogue import catalogue, models_for_user, targets_for
from webapp.usage import service as usage
from webapp.usage.schemas import QuotaFields
from webapp.usage.service import Limit, applicable_limits

BOX = {"name": "Box", "base_url": "http://127.0.0.1:9/v1"}


@pytest.fixture(autouse=True)
def _forget():
    catalogue.forget()
    usage.forget()
    yield
    catalogue.forget()
    usage.forget()


def test_a_group_is_kept_over_the_api(app, api, make_user):
    admin, one = api(make_user(is_admin=True)), make_user()
    made = admin.post(
        "/api/groups",
        json={"name": "Readers", "user_ids": [one.user_id], "quotas": [{"period": "day", "tokens": 5_000}]},
    )
    assert made.status_code == 201, made.text
    place = f"/api/groups/{made.get_json()['group_id']}"
    assert made.get_json()["user_ids"] == [one.user_id]
    assert admin.post("/api/groups", json={"name": "Readers"}).status_code == 422
    assert admin.patch(place, json={"user_ids": [10**8]}).status_code == 422
    twice = [{"period": "day", "tokens": 1}, {"period": "day", "tokens": 2}]
    assert admin.patch(place, json={"quotas": twice}).status_code == 422
    changed = admin.patch(place, json={"name": "Night readers"}).get_json()
    assert (changed["name"], changed["quotas"][0]["tokens"]) == ("Night readers", 5_000)
    with app.app_context():
        assert [(state.period, state.tokens) for state in usage.states(one.user_id)] == [("day", 5_000)]
    assert admin.delete(place).status_code == 204
    assert admin.get(place).status_code == 404
    with app.app_context():
        assert usage.states(one.user_id) == []


def test_a_model_is_for_the_members_of_a_group(app, api, make_user):
    admin, inside, outside = api(make_user(is_admin=True)), make_user(), make_user()
    group = admin.post("/api/groups", json={"name": "Readers", "user_ids": [inside.user_id]}).get_json()["group_id"]
    offers = [{"model": "big", "group_ids": [group]}, {"model": "small"}, {"model": "secret", "audience": "admins"}]
    made = admin.post("/api/connections", json={**BOX, "models": offers})
    assert made.status_code == 201, made.text
    number = made.get_json()["connection_id"]
    assert [offer["group_ids"] for offer in made.get_json()["models"]] == [[group], [], []]

    def names(person) -> set[str]:
        found = api(person).get("/api/models").get_json()["models"]
        return {model["name"] for model in found} & {"big", "small", "secret"}

    assert names(inside) == {"big", "small"}
    assert names(outside) == {"small"}
    assert names(admin.person) == {"big", "small", "secret"}
    wish = {"message": "Hello", "model": f"{number}/big"}
    assert api(outside).post("/api/chat/stream", json=wish).status_code == 422
    with app.app_context():  # what was chosen before, by somebody who is not in it any more
        assert targets_for(f"{number}/big", inside.user_id, is_admin=False)[0].model == "big"
        assert targets_for(f"{number}/big", outside.user_id, is_admin=False)[0].model != "big"
        db.session.rollback()
    bad = {"models": [{"model": "big", "audience": "admins", "group_ids": [10**8]}]}
    assert admin.patch(f"/api/connections/{number}", json=bad).status_code == 422
    assert admin.delete(f"/api/groups/{group}").status_code == 204
    with app.app_context():
        known = {offered.label for offered in models_for_user(inside.user_id, is_admin=False)}
    assert "big" not in known and "small" in known


@pytest.mark.parametrize(
    ("limits", "held"),
    [
        ([], []),
        ([Limit("everybody", "day", 5, None)], [Limit("everybody", "day", 5, None)]),
        ([Limit("everybody", "day", 5, None), Limit("group", "day", 2, 1.0)], [Limit("group", "day", 2, 1.0)]),
        ([Limit("group", "day", 9, None), Limit("own", "month", 1, None)], [Limit("own", "month", 1, None)]),
        ([Limit("group", "day", 5, 2.0), Limit("group", "day", 9, 1.0)], [Limit("group", "day", 9, 2.0)]),
        ([Limit("group", "day", 5, 2.0), Limit("group", "day", None, 3.0)], [Limit("group", "day", None, 3.0)]),
        (
            [Limit("group", "month", 5, None), Limit("group", "day", 9, None)],
            [Limit("group", "day", 9, None), Limit("group", "month", 5, None)],
        ),
    ],
)
def test_ones_own_limits_hold_else_the_largest_of_the_groups_else_everybodys(limits, held):
    assert applicable_limits(limits) == held


def test_limits_of_everybody_leave_those_of_groups_alone(app, api, make_user):
    admin, one = api(make_user(is_admin=True)), make_user()
    quotas = [{"period": "day", "tokens": 7_000}]
    admin.post("/api/groups", json={"name": "Readers", "user_ids": [one.user_id], "quotas": quotas})
    with app.app_context():
        with write_transaction():
            usage.set_quotas(None, [QuotaFields(period="day", tokens=10)])
        assert [state.tokens for state in usage.states(one.user_id)] == [7_000]
        assert [state.tokens for state in usage.states(admin.person.user_id)] == [10]
        assert [quota.tokens for quota in usage.quotas_of(None)] == [10]


def test_the_provider_puts_people_into_groups_of_its_names_and_takes_them_out(app, api, make_user):
    admin, one = api(make_user(is_admin=True)), make_user()
    theirs = admin.post("/api/groups", json={"name": "Readers"}).get_json()["group_id"]
    ours = admin.post("/api/groups", json={"name": "Friends", "user_ids": [one.user_id]}).get_json()["group_id"]

    def sign_in(*names: str) -> list[int]:
        with app.app_context():
            with write_transaction():
                signals.provider_sign_in.send(None, user_id=one.user_id, groups=frozenset(names))
            return sorted(db.session.scalars(groups.groups_of(one.user_id)))

    assert sign_in("Readers", "Elsewhere") == sorted([theirs, ours])
    assert sign_in("Readers") == sorted([theirs, ours])
    assert sign_in() == [ours]


def test_the_pages_keep_a_group(app, api, login, make_user):
    admin, one = make_user(is_admin=True), make_user()
    browser = login(admin)
    made = post_form(browser, "/admin/groups", "/admin/groups", name="Readers")
    assert made.status_code == 303
    place = made.headers["Location"]
    taken = post_form(browser, "/admin/groups", "/admin/groups", name="Readers")
    assert taken.status_code == 422 and "name of another group" in taken.text
    assert post_form(browser, place, place, email=one.email).status_code == 303
    assert one.email in browser.get(place).text
    unknown = post_form(browser, place, place, email="nobody@example.com")
    assert "no account with the address" in unknown.text and one.email in unknown.text  # said on the page itself
    limits = {"day_tokens": "900", "day_dollars": "", "month_tokens": "", "month_dollars": ""}
    assert post_form(browser, place, place, **limits).status_code == 303
    assert api(one).get("/api/usage").get_json()["quotas"][0]["tokens"] == 900
    assert post_form(browser, place, place, **(limits | {"day_tokens": "many"})).status_code == 422
    assert post_form(browser, place, place, remove=str(one.user_id)).status_code == 303
    assert one.email not in browser.get(place).text
    assert post_form(browser, place, place, name="Night readers").status_code == 303
    assert "Night readers" in browser.get("/admin/groups").text
    connection = api(admin).post("/api/connections", json={**BOX, "models": [{"model": "big"}]}).get_json()
    assert "Night readers" in browser.get(f"/admin/models/{connection['connection_id']}").text
    assert post_form(browser, f"{place}/delete", place).status_code == 303
    assert browser.get(place).status_code == 404
