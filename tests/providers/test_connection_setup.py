"""From no model to a reply: a provider's key and two clicks, and every way in which that does not work."""

import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import ApiClient, Person, csrf_token, post_form
from testkit.processes import free_port
from testkit.waiting import wait_for_reply
from tests.providers.ollama import Ollama, ollama
from tests.tools.conftest import site  # noqa: F401 - a fixture
from tests.tools.servers import Asked
from webapp.extensions import app_settings
from webapp.llm.settings import ModelSettings
from webapp.network.outbound import NO_TLS
from webapp.providers import connection_check
from webapp.providers.catalogue import catalogue, has_background_model
from webapp.providers.connection_check import NO_PICTURES, NO_SERVER, NOT_OPENAI, probe
from webapp.providers.server_models import PROVIDERS

pytestmark = pytest.mark.once  # about other servers, not about the database

NEW = "/admin/models/new"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def tour(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is connected, and nothing runs on this machine."""
    changed = {"offline_model": True, "local_model_servers": ""}
    monkeypatch.setitem(app.extensions, "settings", app_settings.of(app).model_copy(update=changed))
    catalogue.forget()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ollama]:
    """What answers at OpenAI's address."""
    with ollama(models=["aged-7b", "gpt-5", "gpt-5-mini", "gpt-5-2025-08-07", "text-embedding-3-small"]) as found:
        monkeypatch.setitem(PROVIDERS, "openai", replace(PROVIDERS["openai"], base_url=found.base_url))
        yield found


@pytest.fixture
def admin(login: Callable[[Person], FlaskClient], boss: Person) -> FlaskClient:
    """The admin's browser."""
    return login(boss)


def test_a_list_of_several_pages_is_read_to_its_end(monkeypatch):
    pages = [{"data": [{"id": "a/1"}], "has_more": True, "last_id": "a/1"}, {"data": [{"id": "b"}], "has_more": False}]
    paths: list[str] = []

    def get(_client: object, path: str, **_options: object) -> object:
        paths.append(path)
        return pages[len(paths) - 1]

    monkeypatch.setattr(connection_check, "get", get)
    rows = connection_check.list_models(ModelSettings(base_url="http://localhost:1/v1"))
    assert [row.name for row in rows] == ["a/1", "b"]
    assert paths == ["/models", "/models?after_id=a%2F1&after=a%2F1"]


def connections(api: Callable[[Person], ApiClient], boss: Person) -> list[dict[str, Any]]:
    """What is stored."""
    found: list[dict[str, Any]] = api(boss).get("/api/connections").get_json()["connections"]
    return found


def hidden(page: str) -> dict[str, str]:
    """What a form carries along."""
    found = re.findall(r'<input type="hidden" name="(provider|name|base_url|sealed)"\s+value="([^"]*)"', page)
    return dict(found)


def test_a_key_and_two_clicks_lead_to_a_reply(tour, server, admin, boss, api):
    assert f'<a href="{NEW}">Connect a provider' in admin.get("/").text
    first = post_form(admin, NEW, page=NEW, provider="openai", api_key=KEY)
    assert first.status_code == 200
    assert KEY not in first.text and "Get a key" not in first.text
    ticked = re.findall(r'name="model"\s+value="([^"]+)"\s+checked', first.text)
    assert ticked == ["gpt-5", "gpt-5-mini", "aged-7b"]  # neither what makes vectors nor a dated copy
    assert re.findall(r'name="default"\s+value="([^"]+)"\s+checked', first.text) == ["gpt-5"]
    assert connections(api, boss) == []
    form = hidden(first.text) | {"model": ticked, "default": "gpt-5", "csrf_token": csrf_token(first.text)}
    done = admin.post(f"{NEW}/models", data=form)
    assert (done.status_code, done.location) == (303, "/")
    assert {call["model"] for call in server.asked} == {"gpt-5"}  # the default is asked, not the first by alphabet
    (made,) = connections(api, boss)
    assert (made["name"], made["key_set"]) == ("OpenAI", True)
    assert [offer["model"] for offer in made["models"] if offer["is_default"]] == ["gpt-5"]
    home = admin.get("/").text
    assert "Replies now come from OpenAI." in home and "no language model" not in home
    talk = api(boss).post("/api/conversations", json={}).get_json()["conversation_id"]
    sent = api(boss).post(f"/api/conversations/{talk}/messages", json={"content": "Hello"}).get_json()
    assert wait_for_reply(api(boss), sent["message"]["message_id"])["content"] == "one two"


def test_another_connection_leaves_the_default_alone_unless_told(app, tour, server, admin, boss, api, monkeypatch):
    api(boss).post(
        "/api/connections",
        json={"name": "First", "base_url": server.base_url, "models": [{"model": "gpt-5", "is_default": True}]},
    )
    page = post_form(admin, NEW, page=NEW, provider="openai", api_key=KEY).text
    assert re.findall(r'name="default"\s+value="([^"]*)"\s+checked', page) == [""] and "The default stays gpt-5" in page
    form = hidden(page) | {"model": ["gpt-5-mini"], "default": "", "csrf_token": csrf_token(page)}
    admin.post(f"{NEW}/models", data=form)
    assert "Connected. gpt-5 answers as before." in admin.get("/").text
    admin.post(f"{NEW}/models", data=form | {"default": "gpt-5-mini"})
    defaults = [[offer["model"] for offer in row["models"] if offer["is_default"]] for row in connections(api, boss)]
    assert sorted(defaults) == [[], [], ["gpt-5-mini"]]
    by_environment = app_settings.of(app).model_copy(update={"offline_model": False})
    monkeypatch.setitem(app.extensions, "settings", by_environment)
    admin.post(f"{NEW}/models", data=form | {"default": "gpt-5-mini"})
    assert f"Connected. {by_environment.model.chat_model} answers as before." in admin.get("/").text


def test_a_wrong_key_is_said_beside_it_and_nothing_is_stored(tour, server, admin, boss, api):
    server.refuses_key = True
    refused = post_form(admin, NEW, page=NEW, provider="openai", api_key=KEY)
    assert re.search(r'id="api_key-error">.*did not accept the key', refused.text, re.DOTALL)
    assert refused.status_code == 422 and KEY not in refused.text and "The key you entered is kept" in refused.text
    assert connections(api, boss) == []
    server.refuses_key = False
    form = {"provider": "openai", "sealed": hidden(refused.text)["sealed"]}
    assert "aged-7b" in post_form(admin, NEW, page=NEW, **form).text


def test_a_server_that_is_not_there_keeps_what_was_typed(tour, admin, boss, api):
    address = f"http://127.0.0.1:{free_port()}/v1"
    form = {"provider": "another", "name": "Box", "base_url": address, "headers": "X-Team: bees"}
    away = admin.post(NEW, data=form | {"csrf_token": csrf_token(admin.get(NEW).text)})
    assert away.status_code == 422 and "Nothing is answering at this URL" in away.text
    assert all(f'value="{text}"' in away.text for text in ("Box", address)) and "X-Team: bees" in away.text
    for wrong in ({"name": "Box"}, {}, *({"base_url": url} for url in ("ftp://x", "http://[", "box:x"))):
        assert post_form(admin, NEW, page=NEW, provider="another", **wrong).status_code == 422
        assert post_form(admin, f"{NEW}/models", page=NEW, provider="another", **wrong).status_code == 422
    assert connections(api, boss) == []


def test_a_server_without_a_name_gets_that_of_its_host(tour, server, admin):
    host = server.base_url.removeprefix("http://")  # as programs print it, and people type it
    page = post_form(admin, NEW, page=NEW, provider="another", base_url=host, api_key=KEY)
    assert page.status_code == 200
    assert hidden(page.text) | {"name": host.split("/")[0], "base_url": server.base_url} == hidden(page.text)


def test_a_server_without_models_asks_for_a_name(tour, server, admin, boss, api):
    server.models = ["bge-m3"]
    page = post_form(admin, NEW, page=NEW, provider="openai", api_key=KEY).text
    assert "lists no model that can chat" in page and 'id="model"' in page
    form = hidden(page)
    nothing = post_form(admin, f"{NEW}/models", page=NEW, **form)
    assert nothing.status_code == 422 and "Choose at least one model." in nothing.text
    assert connections(api, boss) == []
    assert post_form(admin, f"{NEW}/models", page=NEW, **form, model="hidden-one").status_code == 303
    assert [offer["model"] for offer in connections(api, boss)[0]["models"]] == ["hidden-one"]


def test_a_model_whose_reply_does_not_stream_is_not_connected(tour, server, admin, boss, api):
    server.streams = False
    form = hidden(post_form(admin, NEW, page=NEW, provider="openai", api_key=KEY).text)
    refused = post_form(admin, f"{NEW}/models", page=NEW, **form, model=["gpt-5", "aged-7b"], default="aged-7b")
    assert refused.status_code == 422
    assert "The model “aged-7b” does not answer" in refused.text
    assert re.findall(r'name="model"\s+value="([^"]+)"\s+checked', refused.text) == ["gpt-5", "aged-7b"]
    assert connections(api, boss) == []


def test_a_model_whose_replies_can_be_read_is_connected_however_odd_they_are(tour, server, boss, api):
    server.greets = b'data: ping\n\ndata: {"choices": [null]}\n\n'
    made = api(boss).post("/api/connections", json={"name": "Odd", "base_url": server.base_url})
    assert made.status_code == 201 and made.get_json()["test_result"]["streaming"]["ok"]


def test_the_api_offers_what_a_server_lists_and_stores_nothing_that_fails(tour, server, boss, api):
    body = {"name": "Mine", "base_url": server.base_url}
    made = api(boss).post("/api/connections", json=body).get_json()
    assert [(offer["model"], offer["is_default"]) for offer in made["models"]][0] == ("gpt-5", True)
    assert made["test_result"]["streaming"]["ok"] and made["test_result"]["speed"]["prompt"] > 0
    server.streams = False
    assert api(boss).post("/api/connections", json=body).status_code == 422
    server.streams, server.models = True, []
    assert api(boss).post("/api/connections", json=body).status_code == 422
    away = {"name": "Mine", "base_url": f"http://127.0.0.1:{free_port()}/v1"}
    assert api(boss).post("/api/connections", json=away).status_code == 422
    assert len(connections(api, boss)) == 1


def test_a_connection_that_offers_nothing_is_not_said_to_work_or_to_answer(tour, server, admin, boss, api):
    body = {"name": "Empty", "base_url": server.base_url, "models": []}
    made = api(boss).post("/api/connections", json=body).get_json()
    assert api(boss).post(f"/api/connections/{made['connection_id']}/test", json={}).status_code == 200
    page = admin.get("/admin/models").text
    assert "offers no model" in page and "tag-ok" not in page
    catalogue.forget()
    assert "No language model connected." in admin.get("/").text
    assert "a screen tour answers in its place" in admin.get("/admin").text
    place = f"/api/connections/{made['connection_id']}"
    api(boss).patch(place, json={"models": [{"model": "aged-7b", "label": "Aged"}]})
    catalogue.forget()
    assert "Replies come from <strong>Aged</strong>" in admin.get("/admin").text
    assert "no language model" not in admin.get("/").text


def test_a_deleted_connection_can_be_brought_back_under_its_id(tour, server, admin, boss, api):
    body = {"name": "Mine", "base_url": server.base_url, "api_key": KEY}
    made = api(boss).post("/api/connections", json=body).get_json()
    place = f"/admin/models/{made['connection_id']}"
    assert "Delete this connection" in admin.get(place).text
    gone = post_form(admin, f"{place}/delete", page=place)
    assert connections(api, boss) == []
    page = admin.get(gone.location).text
    assert "“Mine” was deleted." in page and f'action="{place}/restore"' in page
    assert post_form(admin, f"{place}/restore", page="/admin/models").status_code == 303
    (back,) = connections(api, boss)
    assert {name: back[name] for name in ("connection_id", "models", "key_set", "test_result", "tested_at")} == {
        name: made[name] for name in ("connection_id", "models", "key_set", "test_result", "tested_at")
    }
    assert post_form(admin, f"{place}/restore", page="/admin/models").status_code == 404
    assert "was deleted" not in admin.get(gone.location).text


def test_loading_a_model_does_not_count_as_reading(tour, server, boss, api):
    api(boss).post("/api/connections", json={"name": "Mine", "base_url": server.base_url})
    first, second = server.asked[:2]
    assert first["max_tokens"] == 1 and not first.get("stream")
    assert second["stream"] and len(second["messages"][0]["content"]) > 1_000


def test_a_model_for_background_work_alone_does_it(tour, model_server, boss, api, app):
    with app.app_context():
        assert not has_background_model()
    body = {"name": "Clerk", "base_url": model_server.base_url, "models": [], "background_model": "test-background"}
    assert api(boss).post("/api/connections", json=body).status_code == 201
    catalogue.forget()
    with app.app_context():
        assert has_background_model()


def test_who_may_use_no_model_is_offered_what_the_tour_can_do(tour, server, boss, api, login, user):
    body = {"name": "Ours", "base_url": server.base_url, "models": [{"model": "aged-7b", "audience": "admins"}]}
    assert api(boss).post("/api/connections", json=body).status_code == 201
    catalogue.forget()
    assert "Show me" not in login(boss).get("/").text
    assert "Show me" in login(user).get("/").text


def error(address: str) -> str:
    """What is said of the list of models at an address."""
    settings = ModelSettings(base_url=address, connect_timeout=2, request_timeout=2, max_retries=0)
    found = probe(settings, None)["models"]
    assert found["ok"] is False
    return str(found["detail"])


def test_each_fault_has_its_words(site):  # noqa: F811 - the fixture
    def answer(asked: Asked) -> tuple[int, dict[str, str], object]:
        if asked.path.startswith("/page"):
            return 200, {"Content-Type": "text/html"}, "<html>Hello</html>"
        if asked.path.startswith("/other"):
            return 200, {}, {"status": "fine"}
        if asked.path.startswith("/auth"):
            return 401, {}, {"error": {"message": "Incorrect key sk-123", "code": "invalid_api_key"}}
        return 404, {}, {"detail": "Not Found"}

    site.answer = answer
    for place in ("page", "other", "nowhere"):
        assert error(f"{site.url}/{place}") == NOT_OPENAI, place
    assert error(site.url.replace("http:", "https:")) == NO_TLS
    assert error(f"{site.url}/auth") == "The server did not accept the key. Check the key and what it may be used for."
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert error(f"http://127.0.0.1:{free.getsockname()[1]}/v1") == NO_SERVER


def test_a_model_that_takes_no_pictures_is_said_to(model_server):
    model_server.script(fault={"refuse_images": True}, times=None)
    try:
        found = probe(ModelSettings(base_url=model_server.base_url), "test-chat")
    finally:
        model_server.reset()
    assert found["chat"]["ok"]
    assert found["images"] == {"ok": False, "detail": NO_PICTURES}
