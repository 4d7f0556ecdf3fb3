"""A model on this machine, without a form: Ollama is found, fetches a model, breaks off, resumes, and answers."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from testkit.people import ApiClient, post_form
from tests.providers.ollama import SIZE, Ollama, ollama
from webapp.extensions import app_settings, redis
from webapp.providers import downloads
from webapp.providers.catalogue import catalogue

pytestmark = pytest.mark.once  # about a server on this machine, not about the database

PULL = "/api/local-servers/Ollama/pull"
HTMX = {"HX-Request": "true"}
PAGE = "/admin/models/new?provider=local"
MODEL = "qwen3:0.6b"


@pytest.fixture
def here(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    """Ollama without a model, and no other model."""
    with ollama() as found:
        changed = {"offline_model": True, "local_model_servers": f"Ollama={found.base_url}"}
        monkeypatch.setitem(app.extensions, "settings", app_settings.of(app).model_copy(update=changed))
        monkeypatch.setattr(downloads, "REPORT_SECONDS", 0.0)
        catalogue.forget()
        yield found


def until(admin: ApiClient, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The state of the pull once something holds for it."""
    end = time.monotonic() + 30
    while not holds(found := admin.get(PULL).get_json()):
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return dict(found)


def test_a_pull_that_breaks_off_is_resumed_and_ends_in_a_model_that_answers(here, admin, boss, login):
    browser = login(boss)
    (found,) = admin.post("/api/local-servers/detect", json={}).get_json()["servers"]
    assert (found["name"], found["models"], found["can_pull"]) == ("Ollama", [], True)
    assert admin.get(PULL).status_code == 404
    assert "has no model yet" in browser.get(PAGE).text
    here.breaks_at = 5
    begun = admin.post(PULL, json={"model": MODEL})
    assert (begun.status_code, begun.get_json()["state"]) == (202, "running")
    broken = until(admin, lambda pull: pull["state"] != "running")
    assert (broken["state"], broken["problem"], broken["completed"]) == ("failed", "interrupted", SIZE * 4 // 10)
    page = browser.get(PAGE).text
    assert "The download broke off." in page and "Resume" in page
    assert post_form(browser, "/admin/models/new/local/pull", page=PAGE, name="Ollama", model=MODEL).status_code == 303
    done = until(admin, lambda pull: pull["state"] == "done")
    assert (done["completed"], done["total"]) == (SIZE, SIZE)
    page = browser.get(PAGE).text
    assert "Ollama is running on this machine." in page and MODEL in page
    used = post_form(browser, "/admin/models/nearby", page=PAGE, name="Ollama", model=MODEL)
    assert (used.status_code, used.location) == (303, "/")
    assert "Replies now come from Ollama." in browser.get("/").text
    assert here.asked and here.asked[0]["model"] == MODEL


def test_a_page_that_shows_the_state_already_is_not_changed(here, boss, login):
    browser = login(boss)
    page = browser.get(PAGE).text
    place = page[page.index("/admin/models/new/local?seen=") :].partition('"')[0]
    assert browser.get(place, headers=HTMX).status_code == 204
    here.models.append("fresh")
    assert browser.get(place).location == PAGE  # opened by itself
    changed = browser.get(place, headers=HTMX)
    assert changed.status_code == 200 and "fresh" in changed.text and "<html" not in changed.text


def test_progress_is_told_and_can_be_cancelled(here, admin, boss, login):
    browser = login(boss)
    here.waits_at, here.breaks_at = 7, 9
    admin.post(PULL, json={"model": MODEL})
    running = until(admin, lambda pull: pull["completed"] == SIZE * 6 // 10)
    assert (running["state"], running["total"]) == ("running", SIZE)
    assert f'max="{SIZE}" value="{SIZE * 6 // 10}"' in browser.get(PAGE).text
    assert admin.post(PULL, json={"model": MODEL}).status_code == 202  # the same again: left alone
    assert admin.post(PULL, json={"model": "another"}).status_code == 409
    assert admin.delete(PULL).status_code == 204
    here.go.set()
    stopped = until(admin, lambda pull: pull["state"] != "running")
    assert stopped["state"] == "cancelled"
    assert "Cancelled." in browser.get(PAGE).text
    admin.post(PULL, json={"model": MODEL})
    assert until(admin, lambda pull: pull["state"] == "done")["completed"] == SIZE


def test_what_went_wrong_is_told(here, admin):
    for here.error, problem in (
        ("", "unknown_model"),
        ("write /models/blobs/x: no space left on device", "disk_full"),
        ("something else entirely", "refused"),
    ):
        admin.post(PULL, json={"model": f"no-such-model-{problem}"})
        assert until(admin, lambda pull: pull["state"] != "running")["problem"] == problem


def test_a_pull_whose_process_has_died_is_interrupted(app, here, admin):
    with app.app_context():
        redis().set("pull:Ollama", '{"model": "m", "state": "running", "completed": 3, "total": 9, "problem": ""}')
    found = admin.get(PULL).get_json()
    assert (found["state"], found["problem"], found["completed"]) == ("failed", "interrupted", 3)


def test_only_servers_of_the_settings_are_asked(here, admin):
    elsewhere = "/api/local-servers/Elsewhere/pull"
    for answer in (admin.post(elsewhere, json={"model": "m"}), admin.get(elsewhere), admin.delete(elsewhere)):
        assert answer.status_code == 404
    assert admin.post(PULL, json={"model": ""}).status_code == 422
