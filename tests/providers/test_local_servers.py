"""A model server on this machine: offered to admins while nothing is connected, used with one click."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import serve_in_thread
from testkit.people import post_form
from testkit.processes import free_port
from tests.tools.servers import serve
from webapp.config import Settings
from webapp.extensions import app_settings
from webapp.providers import connection_setup
from webapp.providers.catalogue import catalogue

pytestmark = pytest.mark.once  # about a server on this machine, not about the database

PLACE = "/admin/models/nearby"


@pytest.fixture
def around(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`around(places, **settings)`: no model connected, and what is to be looked for."""

    def change(places: str, **values: Any) -> None:
        monkeypatch.setattr(connection_setup, "SECONDS", 60.0)
        changed = {"offline_model": True, "local_model_servers": places, **values}
        monkeypatch.setitem(app.extensions, "settings", app_settings.of(app).model_copy(update=changed))
        catalogue.forget()

    return change


def test_a_server_that_answers_is_offered_and_used_with_one_click(around, login, make_user, admin_browser):
    with serve_in_thread(scripted=True) as fake:
        around(f"Ollama={fake.base_url}, Nobody=http://127.0.0.1:{free_port()}/v1")
        assert PLACE in admin_browser.get("/").text and PLACE not in login(make_user()).get("/").text
        shown = admin_browser.get(PLACE, headers={"HX-Request": "true"}).text
        assert "Ollama is running on this machine." in shown
        assert "Nobody" not in shown
        assert "offline-demo" in shown
        assert "all-minilm-l6-v2" not in shown  # it makes vectors, as its name tells
        taken = post_form(admin_browser, PLACE, name="Ollama", model="offline-demo")
        assert taken.status_code == 303
        assert "Replies now come from Ollama." in admin_browser.get(taken.location).text
        (made,) = admin_browser.get("/api/connections").get_json()["connections"]
        assert (made["base_url"], made["models"][0]["model"], made["models"][0]["is_default"]) == (
            fake.base_url,
            "offline-demo",
            True,
        )
        assert made["test_result"]["chat"]["ok"]
        page = admin_browser.get("/").text
        assert PLACE not in page
        assert "No language model connected." not in page
        assert admin_browser.get(PLACE).text == ""


def test_only_places_of_the_settings_are_asked_and_only_their_models_taken(around, admin_browser):
    with serve_in_thread(scripted=True) as fake:
        around(f"Ollama={fake.base_url}")
        for wish in ({"name": "http://127.0.0.1:1/", "model": "x"}, {"name": "Ollama", "model": "none"}, {}):
            assert post_form(admin_browser, PLACE, **wish).status_code == 303
        assert admin_browser.get("/api/connections").get_json()["connections"] == []
        around(f"Ollama={fake.base_url}", find_local_models=False)
        assert "Ollama" not in admin_browser.get(PLACE).text
        around(f"Ollama={fake.base_url}", offline_model=False)
        assert admin_browser.get(PLACE).text == ""
        assert not fake.calls()


@pytest.mark.parametrize("answer", ["no JSON", "[]", '{"data": 3}', '{"data": [{"name": "x"}]}'])
def test_what_is_no_model_server_is_not_offered(answer):
    with serve() as site:
        site.says(answer, "application/json")
        assert connection_setup.discover({"Ollama": f"{site.url}/v1"}) == [] != site.asked


def test_one_that_says_a_little_again_and_again_is_given_up():
    with serve() as site:
        drip = (b" " if not site.gate.wait(0.05) else b"" for _ in range(60))
        site.answer = lambda _asked: (200, {}, chain(drip, [b'{"data": [{"id": "late"}]}']))
        assert connection_setup.discover({"Ollama": f"{site.url}/v1"}) == [] != site.asked


def test_the_usual_ports_are_the_default():
    assert Settings().local_servers == {
        "Ollama": "http://127.0.0.1:11434/v1",
        "llama.cpp": "http://127.0.0.1:8080/v1",
        "LM Studio": "http://127.0.0.1:1234/v1",
    }
