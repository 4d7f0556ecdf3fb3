"""The connection that makes vectors: chosen by an admin, tried first, followed by search, missed by nobody for long."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle, serve_in_thread
from testkit.people import ApiClient, post_form
from tests.chat.helpers import parse
from tests.memories.conversing import add_memory
from tests.support.queries import count_queries
from webapp.db.base import db, write_transaction
from webapp.extensions import app_settings
from webapp.llm.embeddings import OpenAIEmbedder
from webapp.llm.errors import ModelError
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.providers.catalogue import cached_embeddings, catalogue
from webapp.providers.clients import embedder, embeddings
from webapp.retrieval import stored_vectors, vector_jobs
from webapp.retrieval.cli import counts
from webapp.retrieval.query_vectors import make_query_vectors, query_vectors
from webapp.retrieval.service import search
from webapp.spaces import documents

MODEL = "all-minilm-l6-v2"


@pytest.fixture
def other(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerHandle]:
    """Another server that makes vectors, and an environment that names none."""
    named = app_settings.of(app).model_copy(update={"embedding_model": "", "embedding_query_seconds": 20.0})
    monkeypatch.setitem(app.extensions, "settings", named)
    monkeypatch.setitem(app.extensions, "query_vectors", make_query_vectors(embeddings.of(app), named))
    with serve_in_thread(scripted=True) as server:
        yield server


def connect(admin: ApiClient, server: ServerHandle, **more: Any) -> dict[str, Any]:
    """A connection."""
    made = admin.post("/api/connections", json={"name": "Vectors", "base_url": server.base_url, "models": [], **more})
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.get_json()
    return found


def name_of(server: ServerHandle) -> str:
    """The name of a server's vectors."""
    return f"{MODEL}@{server.base_url.removeprefix('http://').removesuffix('/v1')}"


def test_a_change_is_rebuilt_in_the_background_with_both_searched_meanwhile(app, admin, user, other, run_jobs):
    with app.app_context(), write_transaction():
        create_memory(user.user_id, MemoryFields(memory_type="fact", content="Keeps bees behind the mill"))
        stored_vectors.notice_model()
    run_jobs()
    with app.app_context():
        assert counts()["memories"] == {MODEL: 1}
    place = f"/api/connections/{connect(admin, other)['connection_id']}"
    assert admin.patch(place, json={"embedding_model": MODEL}).get_json()["embedding_model"] == MODEL
    with app.app_context():
        assert embedder().model == name_of(other)
        # Not rebuilt yet: the question is embedded by the one that made what there is.
        found = search(user.user_id, "apiary and honey")
        assert found.with_meaning and [item.content for item in found.items] == ["Keeps bees behind the mill"]
        with write_transaction():
            assert stored_vectors.notice_model() == 0  # nobody has said anything yet
        assert stored_vectors.users_awaiting_vectors() == [user.user_id]
        vector_jobs.index_user(user.user_id)
        assert counts()["memories"] == {name_of(other): 1}
        found = search(user.user_id, "honey and apiaries")
        assert found.with_meaning and [item.content for item in found.items] == ["Keeps bees behind the mill"]
        made = query_vectors().result(query_vectors().start("Where?"), [f"{MODEL}/384", f"{name_of(other)}/384"])
        assert set(made) == {f"{MODEL}/384", f"{name_of(other)}/384"}
    assert {call["path"] for call in other.calls()} == {"embeddings"}
    assert admin.patch(place, json={"embedding_model": ""}).get_json()["embedding_model"] is None
    assert admin.patch(place, json={"embedding_model": MODEL}).get_json()["embedding_model"] == MODEL
    assert admin.patch(place, json={"embedding_model": None}).get_json()["embedding_model"] is None
    with app.app_context():
        assert embedder().model == MODEL


def test_a_server_that_goes_away_keeps_nobody_waiting(app, admin, client, user, other, model):
    connect(admin, other, embedding_model=MODEL)
    with app.app_context():
        with write_transaction():
            create_memory(user.user_id, MemoryFields(memory_type="fact", content="Keeps bees behind the mill"))
        vector_jobs.index_user(user.user_id)
        assert counts()["memories"] == {name_of(other): 1}
    other.script(path="embeddings", fault={"http_status": 503})
    model.script(match="bees", reply="By the mill.")
    events = parse(client.post("/api/chat/stream", json={"message": "Where are my bees kept?"}).text)
    assert events[-1].data["message"]["content"] == "By the mill."
    add_memory(app, user, "Sails on Sundays")
    with app.app_context():
        with pytest.raises(ModelError):
            vector_jobs.index_user(user.user_id)
        assert stored_vectors.users_awaiting_vectors() == [user.user_id]
        assert "Keeps bees behind the mill" in [item.content for item in search(user.user_id, "bees").items]


def test_a_model_that_makes_no_vectors_is_not_taken(app, admin, other, login):
    made = connect(admin, other)
    other.script(path="embeddings", fault={"http_status": 404, "body": {"error": {"message": "no such model"}}})
    place = f"/api/connections/{made['connection_id']}"
    refused = admin.patch(place, json={"embedding_model": "gpt-deaf"})
    assert refused.status_code == 422 and "cannot be used for search by meaning" in refused.text
    assert admin.get(place).get_json()["embedding_model"] is None
    body = {"name": "X", "base_url": "http://127.0.0.1:9/v1", "embedding_model": "m"}
    assert admin.post("/api/connections", json=body).status_code == 422
    page = f"/admin/models/{made['connection_id']}"
    shown = post_form(login(admin.person), f"{page}/embeddings", page, embedding_model="gpt-deaf")
    assert (
        shown.status_code == 422
        and "This model cannot be used for search by meaning" in shown.text
        and 'value="gpt-deaf"' in shown.text
    )


def test_one_connection_makes_them_and_the_pages_say_which(app, admin, client, other, login, model):
    first, second = connect(admin, model, embedding_model=MODEL), connect(admin, other)
    mine = login(admin.person)
    page = f"/admin/models/{second['connection_id']}"
    assert post_form(mine, f"{page}/embeddings", page, embedding_model=MODEL).status_code == 303
    rows = {row["connection_id"]: row for row in admin.get("/api/connections").get_json()["connections"]}
    assert rows[first["connection_id"]]["embedding_model"] is None
    assert rows[second["connection_id"]]["embedding_model"] == MODEL
    assert f"search and memory by {MODEL}" in mine.get("/admin/models").text
    assert name_of(other) in mine.get("/admin").text
    admin.post(f"/api/connections/{second['connection_id']}/test")
    assert "384 numbers each" in mine.get(page).text
    admin.patch(f"/api/connections/{second['connection_id']}", json={"is_enabled": False})
    with app.app_context():
        assert embedder().model == MODEL  # at home again
    assert post_form(login(client.person), f"{page}/embeddings", "/", embedding_model=MODEL).status_code in (403, 404)


def test_the_environment_comes_before_a_choice(app, admin, model, login):
    made = connect(admin, model, embedding_model=MODEL)
    with app.app_context():
        catalogue.read()
        assert embedder().model == MODEL and cached_embeddings() is None
    page = login(admin.person).get(f"/admin/models/{made['connection_id']}").text
    assert "takes precedence over a choice made here" in page


def test_what_makes_vectors_is_known_on_the_way_to_a_reply_without_a_look(app, admin, other):
    connect(admin, other, embedding_model=MODEL)
    with app.app_context():
        catalogue.read()
        db.session.rollback()
        catalogue.forget()
        with count_queries() as counted:
            assert query_vectors().start("Where are my bees?").model == name_of(other)
        assert not counted
        assert isinstance(embedder(), OpenAIEmbedder)
        assert db.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_documents_of_spaces_are_read_anew_and_found_meanwhile(app, admin, client, other, run_jobs):
    space = client.post("/api/spaces", json={"kind": "project", "name": "Mill"}).get_json()["space_id"]
    body = {"title": "Bees", "content": "The hives stand behind the mill, in the shade."}
    place = f"/api/spaces/{space}/documents"
    number = client.post(place, json=body).get_json()["document_id"]
    run_jobs()
    connect(admin, other, embedding_model=MODEL)
    with app.app_context():
        assert counts()["documents"] == {MODEL: 1}
        with write_transaction():
            stored_vectors.request_all_vectors()
        assert list(documents.documents_awaiting_index()) == [number]
        other.script(path="embeddings", fault={"http_status": 503})
        with pytest.raises(ModelError):
            documents.index_document(number, last_try=True)
        # Not failed: what it was found by is still there, and it is asked for again.
        assert client.get(f"{place}/{number}").get_json()["status"] != "failed"
        other.reset()
        assert documents.index_document(number).vectors == 1
        assert counts()["documents"] == {name_of(other): 1}
    assert client.get(f"{place}/{number}").get_json()["status"] == "ready"
