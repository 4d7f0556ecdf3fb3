"""How much a model reads: told by its server in different ways, and used where an admin said nothing."""

import pytest

from tests.providers.ollama import ollama
from tests.tools.conftest import site  # noqa: F401 - a fixture
from webapp.db.base import db
from webapp.providers.catalogue import cached_label, catalogue
from webapp.providers.server_models import window_from_listing


@pytest.mark.parametrize(
    ("row", "window"),
    [
        ({"max_model_len": "32768"}, 32_768),  # vLLM behind a gateway
        ({"context_length": 131_072, "top_provider": {"context_length": 65_536}}, 65_536),  # OpenRouter
        ({"meta": {"n_ctx_train": 131_072, "n_ctx": 8_192}}, 8_192),  # llama.cpp: what it was started with
        ({"max_context_length": 4_096.0, "limits": {"max_input_tokens": 4_000}}, 4_000),
        ({"context_window": True}, None),
        ({"context_length": "lots", "meta": None}, None),
        ({"context_length": 0}, None),
        ({}, None),
    ],
)
def test_what_servers_tell(row, window):
    assert window_from_listing(row) == window


def test_a_window_that_is_told_holds_until_an_admin_says_another(
    admin,
    site,  # noqa: F811 - the fixture
    api,
):
    rows = [{"id": "long", "object": "model", "max_model_len": 65_536}, {"id": "unknown", "object": "model"}]
    site.answer = lambda asked: (200, {}, {"object": "list", "data": rows}) if asked.method == "GET" else (404, {}, {})
    models = [{"model": "long"}, {"model": "unknown"}]
    made = admin.post("/api/connections", json={"name": "Own", "base_url": site.url, "models": models}).get_json()
    place = f"/api/connections/{made['connection_id']}"

    def windows() -> dict[str, int | None]:
        catalogue.forget()
        found = admin.get("/api/models").get_json()["models"]
        return {model["id"].partition("/")[2]: model["context_window"] for model in found if "/" in model["id"]}

    assert windows() == {"long": None, "unknown": None}
    assert admin.post(f"{place}/test", json={}).get_json()["test_result"]["windows"] == {"long": 65_536}
    assert windows() == {"long": 65_536, "unknown": None}
    site.answer = lambda _: (503, {}, {})
    assert admin.post(f"{place}/test", json={}).get_json()["test_result"]["models"]["ok"] is False
    assert windows() == {"long": 65_536, "unknown": None}  # a server that is away has told nothing else
    admin.patch(place, json={"models": [{"model": "long", "context_window": 16_384}, {"model": "unknown"}]})
    assert windows() == {"long": 16_384, "unknown": None}


def test_ollama_says_with_what_window_it_has_loaded_a_model(admin):
    """It lists none, and dropped the beginning of a longer prompt: the instructions, and what is known."""
    with ollama(models=["qwen3", "gemma3"]) as server:
        admin.post("/api/connections", json={"name": "Ollama", "base_url": server.base_url})
        found = admin.get("/api/models").get_json()["models"]
    assert {model["context_window"] for model in found if "/" in model["id"]} == {4_096}


def test_all_models_of_a_large_server_are_kept_and_those_of_another_address_forgotten(
    admin,
    site,  # noqa: F811 - the fixture
    api,
):
    rows = [{"id": f"model-{n:03}", "object": "model", "context_length": 4_096} for n in range(500)]
    rows.append({"id": "x" * 300, "object": "model"})
    site.answer = lambda asked: (200, {}, {"object": "list", "data": rows}) if asked.method == "GET" else (404, {}, {})
    models = [{"model": "model-499", "label": "Last"}]
    made = admin.post("/api/connections", json={"name": "Many", "base_url": site.url, "models": models}).get_json()
    place = f"/api/connections/{made['connection_id']}"
    found = admin.post(f"{place}/test", json={}).get_json()["test_result"]
    assert (len(found["names"]), found["windows"]["model-499"]) == (500, 4_096)
    assert admin.patch(place, json={"name": "Very many"}).get_json()["test_result"] == found
    moved = admin.patch(place, json={"base_url": f"{site.url}/elsewhere"}).get_json()
    assert (moved["test_result"], moved["tested_at"]) == (None, None)


def test_a_name_that_connections_offer_under_several_labels_stays_itself(app, admin, api):

    def read_label(model: str) -> str:
        catalogue.forget()
        with app.app_context():
            catalogue.read()
            db.session.rollback()
            return cached_label(model)

    def offer(name: str, *models: dict[str, str]) -> None:
        admin.post("/api/connections", json={"name": name, "base_url": "http://127.0.0.1:9/v1", "models": models})

    offer("Here", {"model": "bee", "label": "Buzz"}, {"model": "wasp", "label": "Sting", "icon": "🐝"})
    assert (read_label("bee"), read_label("wasp"), read_label("ant")) == ("Buzz", "🐝 Sting", "ant")
    offer("There", {"model": "bee", "label": "Buzz in the cloud"}, {"model": "wasp", "label": "Sting", "icon": "🐝"})
    assert (read_label("bee"), read_label("wasp")) == ("bee", "🐝 Sting")
    names = {row["name"] for row in admin.get("/api/models").get_json()["models"]}
    assert names >= {"Sting (Here)", "Sting (There)", "Buzz"}
