"""Who answers: one function tells it to the banner, the start page, the administration and the doctor."""

from collections.abc import Callable

import pytest
from flask import Flask

from testkit.people import ApiClient, Person
from webapp.extensions import app_settings
from webapp.providers.catalogue import catalogue, targets_for
from webapp.providers.model_choice import status_for

ADDRESS = "http://127.0.0.1:9/v1"


@pytest.fixture
def connect(app: Flask, api: Callable[[Person], ApiClient], boss: Person) -> Callable[..., int]:
    """`connect(models)`: a connection that offers these, untested."""

    def make(*models: dict[str, object]) -> int:
        body = {"name": "Box", "base_url": ADDRESS, "models": list(models)}
        made = api(boss).post("/api/connections", json=body).get_json()
        catalogue.forget()
        return int(made["connection_id"])

    return make


def test_the_environment_answers_before_any_connection(app, connect, user):
    connect({"model": "tern", "is_default": True})
    with app.app_context():
        found = status_for(user.user_id, is_admin=False)
        assert (found.source, found.model) == ("environment", app_settings().model.chat_model)


def test_only_what_a_person_may_use_answers_them(app, connect, user, boss, monkeypatch):
    changed = app_settings.of(app).model_copy(update={"offline_model": True})
    monkeypatch.setitem(app.extensions, "settings", changed)

    def sources() -> tuple[str, str]:
        with app.app_context():
            mine, theirs = (status_for(person.user_id, is_admin=person is boss).source for person in (user, boss))
            return mine, theirs

    assert sources() == ("built-in", "built-in")
    connect()
    assert sources() == ("built-in", "built-in")  # a connection that offers nothing answers nobody
    connect({"model": "tern", "audience": "admins"})
    assert sources() == ("built-in", "connection")
    connect({"model": "heron"}, {"model": "gull"})
    assert sources() == ("connection", "connection")
    with app.app_context():  # without a mark, the first is the default, in the list and in a turn
        assert status_for(user.user_id, is_admin=False).model == "heron"
        (first, *_) = targets_for(None, user.user_id, is_admin=True)
        assert status_for(user.user_id, is_admin=True).model == first.model
