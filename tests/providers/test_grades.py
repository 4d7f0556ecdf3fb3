"""The grades of models: beside the model for admins, nobody else's business, and examined on request."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, post_form
from tests.support.grades import grades_put_back
from webapp.background import job_specs
from webapp.db.base import db, write_transaction
from webapp.providers.catalogue import ENVIRONMENT_MODEL, catalogue
from webapp.providers.grades import key_of, models_to_examine, target_of
from webapp.providers.models import MemoryGrade

GOOD = {"recall": 0.94, "key_share": 0.9, "false_share": 0.025, "cases": 40}
WEAK = {"recall": 0.61, "key_share": 0.5, "false_share": 0.125, "cases": 40}


@pytest.fixture(autouse=True)
def _grades(app: Flask) -> Iterator[None]:
    with grades_put_back(app):
        yield


def connect(admin: ApiClient, server: ServerHandle, **more: Any) -> int:
    made = admin.post("/api/connections", json={"name": "Helper", "base_url": server.base_url, **more}).get_json()
    return int(made["connection_id"])


def give(app: Flask, model_id: str, marks: dict[str, Any]) -> None:
    with app.app_context(), write_transaction():
        db.session.merge(MemoryGrade(model_key=key_of(target_of(model_id)), **marks))


def list_grades(client: ApiClient) -> dict[str, Any]:
    return {row["id"]: row["memory_grade"] for row in client.get("/api/models").get_json()["models"]}


def test_admins_see_what_each_model_reached(app, admin, client, model):
    number = connect(admin, model, models=[{"model": name} for name in ("good", "weak", "new/one")])
    give(app, f"{number}/good", GOOD)
    give(app, f"{number}/weak", WEAK)
    found = list_grades(admin)
    assert found[ENVIRONMENT_MODEL]["policy"] == "trusted"
    good = found[f"{number}/good"]
    assert (good["recall"], good["false_share"], good["policy"]) == (0.94, 0.025, "trusted") and good["examined_at"]
    assert found[f"{number}/weak"]["policy"] == "own_words"
    assert found[f"{number}/new/one"] is None
    assert set(list_grades(client).values()) == {None}


def test_an_exam_is_queued_for_admins_only(app, admin, client, model):
    number = connect(admin, model, models=[{"model": "new/one"}], background_model="small")
    for name in ("new/one", "small"):  # one that is offered, and one that only works in the background
        place = f"/api/models/{number}/{name}/exam"
        answer = admin.post(place)
        assert answer.status_code == 202
        request = job_specs.JobRequest("exam", {"model": f"{number}/{name}"})
        assert job_specs.pending_job_id(app.extensions["redis"], request) == answer.get_json()["job_id"]
    for gone in (f"{number}/absent", "999999/small", "small", f"{10**12}/small", "٣/small"):
        assert admin.post(f"/api/models/{gone}/exam").status_code == 404


def test_the_pages_say_it_in_words_and_have_the_button(app, admin, model, login):
    number = connect(admin, model, models=[{"model": name} for name in ("good", "weak", "new/one")])
    give(app, f"{number}/good", GOOD)
    give(app, f"{number}/weak", WEAK)
    browser, place = login(admin.person), f"/admin/models/{number}"
    page = browser.get(place).text
    assert "Remembers 94%, 1 of 40 false: its wording is used." in page
    assert "Remembers 61%, 5 of 40 false: your own words are kept." in page
    assert "Not examined yet: your own words are kept." in page
    assert "Remembers 100%, 0 of 40 false: its wording is used." in browser.get("/admin/models").text
    answer = post_form(browser, "/admin/models/exam", place, model=f"{number}/new/one")
    assert answer.status_code == 303 and answer.location == place
    assert "The exam has begun." in browser.get(place).text
    assert post_form(browser, "/admin/models/exam", place, model=ENVIRONMENT_MODEL).location == "/admin/models"
    assert post_form(browser, "/admin/models/exam", place, model="nobody").status_code == 404


def test_another_model_or_another_server_for_the_background_owes_an_exam(app, admin, model, monkeypatch):
    monkeypatch.setitem(
        app.extensions, "settings", app.extensions["settings"].model_copy(update={"background_model": ""})
    )

    def due_models() -> list[str]:
        with app.app_context():
            catalogue.forget()
            return models_to_examine()

    give(app, ENVIRONMENT_MODEL, GOOD)
    assert due_models() == []
    number = connect(admin, model, background_model="small")
    assert due_models() == [f"{number}/small"]
    give(app, f"{number}/small", WEAK)
    assert due_models() == []
    place = f"/api/connections/{number}"
    assert admin.patch(place, json={"background_model": "large"}).status_code == 200
    assert due_models() == [f"{number}/large"]
    give(app, f"{number}/large", GOOD)
    assert due_models() == []
    assert admin.patch(place, json={"base_url": model.base_url.replace("127.0.0.1", "localhost")}).status_code == 200
    assert due_models() == [f"{number}/large"]
    assert admin.delete(place).status_code == 204
    assert due_models() == []
