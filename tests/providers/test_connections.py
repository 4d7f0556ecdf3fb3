"""Connections: what admins keep, what people may choose, what answers, and that keys go nowhere."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import text

from testkit.people import post_form
from webapp.db.base import db
from webapp.providers import connection_check
from webapp.providers.catalogue import catalogue
from webapp.providers.server_models import PROVIDERS

KEY = "sk-very-secret-0123456789"


def _connect(admin, model_server, **more):
    body = {
        "name": "Other",
        "base_url": model_server.base_url,
        "api_key": KEY,
        "models": [{"model": "other-chat", "label": "Other chat"}],
    } | more
    answer = admin.post("/api/connections", json=body)
    assert answer.status_code == 201, answer.text
    return answer.get_json()


@pytest.fixture
def connection(admin, model_server):
    """A connection."""
    return _connect(admin, model_server)


def test_keys_go_in_and_never_come_out(app, admin, model_server, caplog):
    made = _connect(admin, model_server, headers={"X-Team": "hush-hush-header"})
    assert made["key_set"] is True and made["header_names"] == ["X-Team"]
    place = f"/api/connections/{made['connection_id']}"
    shown = admin.get(place).text + admin.get("/api/connections").text + admin.post(f"{place}/test", json={}).text
    shown += str([record.__dict__ for record in caplog.records])
    with app.app_context():
        for table in db.metadata.sorted_tables:
            shown += str(db.session.execute(text(f"SELECT * FROM {table.name}")).all())  # noqa: S608
    assert KEY not in shown and "hush-hush" not in shown


def test_connections_are_changed_and_deleted(admin, model_server, connection):
    place = f"/api/connections/{connection['connection_id']}"
    changed = admin.patch(place, json={"name": "Better", "is_enabled": False}).get_json()
    assert (changed["name"], changed["is_enabled"], changed["key_set"]) == ("Better", False, True)
    assert admin.patch(place, json={"base_url": "https://elsewhere.example/v1"}).status_code == 422
    unsaid = admin.patch(place, json={"base_url": "https://elsewhere.example/v1", "api_key": None})
    assert unsaid.status_code == 422
    assert admin.get(place).get_json()["base_url"] == model_server.base_url
    assert admin.patch(place, json={"base_url": model_server.base_url}).status_code == 200
    moved = admin.patch(place, json={"base_url": "https://elsewhere.example/v1", "api_key": ""}).get_json()
    assert moved["key_set"] is False
    assert admin.delete(place).status_code == 204
    assert admin.get(place).status_code == 404


def test_names_that_differ_in_anything_are_two_models(admin, model_server):
    names = ["Llama3:8b", "llama3:8b", "modèle", "modele", "m🎉", "m👍"]
    made = _connect(admin, model_server, models=[{"model": name} for name in names])
    assert [offer["model"] for offer in made["models"]] == names


@pytest.mark.parametrize("stored", [{"api_key": KEY}, {"api_key": "", "headers": {"X-Key": KEY}}])
@pytest.mark.parametrize("role", [{}, {"background_model": "other-chat"}, {"embedding_model": "other-chat"}])
def test_what_one_server_was_given_is_never_sent_to_another(admin, model_server, monkeypatch, stored, role):
    made = _connect(admin, model_server, **stored)
    asked = []
    for name in ("embedding_problem", "background_problem"):
        monkeypatch.setattr(connection_check, name, lambda settings, *_, **__: asked.append(settings))
    moved = {"base_url": "https://elsewhere.example/v1"} | role
    refused = admin.patch(f"/api/connections/{made['connection_id']}", json=moved)
    assert refused.status_code == 422 and "must be entered again" in refused.text and asked == []
    again = moved | {name: value if name == "api_key" else {"X-Key": "new"} for name, value in stored.items()}
    assert admin.patch(f"/api/connections/{made['connection_id']}", json=again).status_code == 200
    assert [KEY in str(settings.headers) for settings in asked] == [False] * len(role)


def test_a_provider_is_asked_with_the_key_that_is_to_be_stored(admin, model_server, monkeypatch):
    anthropic = replace(PROVIDERS["anthropic"], base_url=model_server.base_url)
    monkeypatch.setitem(PROVIDERS, "anthropic", anthropic)
    made = _connect(admin, model_server)
    asked = []
    monkeypatch.setattr(
        connection_check, "background_problem", lambda settings, _model: asked.append(dict(settings.headers))
    )
    changes = {"background_model": "other-chat", "api_key": "sk-new", "headers": {"X-Team": "one"}}
    assert admin.patch(f"/api/connections/{made['connection_id']}", json=changes).status_code == 200
    assert asked == [anthropic.headers_with("sk-new") | {"X-Team": "one"}]


def test_a_test_that_ends_after_the_address_changed_says_nothing_of_the_new_one(admin, monkeypatch, connection):
    place = f"/api/connections/{connection['connection_id']}"
    moved = {"base_url": "https://elsewhere.example/v1", "api_key": KEY}

    def moves_meanwhile(*_args):
        assert admin.patch(place, json=moved).status_code == 200
        return {"models": {"ok": True, "detail": ""}, "names": ["one-of-the-old-server"]}

    monkeypatch.setattr(connection_check, "probe", moves_meanwhile)
    assert admin.post(f"{place}/test", json={}).status_code == 200
    assert "one-of-the-old-server" not in admin.get(place).text


def test_a_deletion_through_the_api_can_be_undone_too(admin, login, connection):
    place = f"/api/connections/{connection['connection_id']}"
    assert admin.delete(place).status_code == 204 and admin.get(place).status_code == 404
    restored = post_form(
        login(admin.person), f"/admin/models/{connection['connection_id']}/restore", page="/admin/models"
    )
    assert restored.status_code == 303 and admin.get(place).json["key_set"] is True


def test_bad_connections_are_422(admin):
    addresses = ("ftp://a.example", "https://user:pass@a.example/v1", "https://a.example/v1?key=1")
    headers = ({"Authorization": "Bearer x"}, {"X-A": "line\nbreak"})
    models = ([{"model": "a"}, {"model": "a"}], [{"model": "a", "parameters": {"seed": 1}}])
    good = {"name": "x", "base_url": "https://a.example/v1"}
    wrong = [{"name": ""}, *({"base_url": url} for url in addresses), *({"headers": given} for given in headers)]
    for body in ({"name": "x"}, *({**good, **fields} for fields in (*wrong, *({"models": rows} for rows in models)))):
        assert (body, admin.post("/api/connections", json=body).status_code) == (body, 422)


def test_a_test_says_what_works_and_what_does_not(admin, model_server, connection):
    found = admin.post(f"/api/connections/{connection['connection_id']}/test", json={}).get_json()["test_result"]
    assert found["chat"]["ok"] and found["streaming"]["ok"]
    away = _connect(admin, model_server, base_url="http://127.0.0.1:9/v1")
    found = admin.post(f"/api/connections/{away['connection_id']}/test", json={}).get_json()["test_result"]
    assert found["models"]["ok"] is False and found["models"]["detail"]
    assert "127.0.0.1" not in found["models"]["detail"]


def test_only_the_model_that_was_tried_is_said_to_do_what_the_test_found(admin, model_server):
    made = _connect(admin, model_server, models=[{"model": "tried"}, {"model": "not-tried"}])
    admin.post(f"/api/connections/{made['connection_id']}/test", json={})
    catalogue.forget()
    found = admin.get("/api/models").get_json()["models"]
    can = {model["id"].partition("/")[2]: model["capabilities"] for model in found if "/" in model["id"]}
    assert {"chat", "streaming"} <= set(can["tried"])
    assert can["not-tried"] == []


def test_a_model_that_only_makes_vectors_is_not_talked_to(admin, model_server):
    made = _connect(admin, model_server, models=[])
    found = admin.post(f"/api/connections/{made['connection_id']}/test", json={}).get_json()["test_result"]
    assert (found["model"], found["chat"]["ok"]) == ("offline-demo", True)
    assert found["embeddings"]["ok"] and found["embeddings"]["model"] == "all-minilm-l6-v2"


def test_people_choose_among_what_is_offered_to_them(client, admin, model_server):
    made = _connect(
        admin,
        model_server,
        models=[{"model": "other-chat", "label": "Other chat"}, {"model": "big", "audience": "admins"}],
    )
    number = made["connection_id"]
    models = client.get("/api/models").get_json()["models"]
    assert [(m["id"], m["is_default"]) for m in models] == [("default", True), (f"{number}/other-chat", False)]
    assert f"{number}/big" in [m["id"] for m in admin.get("/api/models").get_json()["models"]]
    for wish, status in ((f"{number}/other-chat", 201), (f"{number}/big", 422), ("99/none", 422)):
        assert client.post("/api/conversations", json={"model": wish}).status_code == status


def _reply(client, conversation_id, **more):
    place = f"/api/conversations/{conversation_id}/messages"
    sent = client.post(place, json={"content": "Hello", **more})
    assert sent.status_code == 202, sent.text
    number = sent.get_json()["message"]["message_id"]
    return client.get(f"/api/messages/{number}/response?wait=20").get_json()


def test_the_chosen_model_answers(client, admin, model, model_server):
    made = _connect(admin, model_server, models=[{"model": "other-chat", "parameters": {"temperature": 0.3}}])
    wish = f"{made['connection_id']}/other-chat"
    talk = client.post("/api/conversations", json={"model": wish}).get_json()
    assert talk["model"] == wish
    assert _reply(client, talk["conversation_id"])["status"] == "complete"
    assert model.calls()[-1]["model"] == "other-chat"
    other = client.post("/api/conversations", json={}).get_json()
    _reply(client, other["conversation_id"], model=wish)
    assert sum("other-chat" in str(call) for call in model.calls()) == 2


def test_the_next_model_stands_in_for_one_that_is_away(client, admin, model, model_server, login, user):
    away = _connect(admin, model_server, base_url="http://127.0.0.1:9/v1", models=[{"model": "gone"}])
    _connect(admin, model_server, models=[{"model": "spare", "fallback_rank": 1}])
    talk = client.post("/api/conversations", json={"model": f"{away['connection_id']}/gone"}).get_json()
    reply = _reply(client, talk["conversation_id"])
    assert reply["status"] == "complete"
    assert "spare" in str(model.calls())
    assert reply["custom_payload"]["stands_in_for"] == "gone"
    page = login(user).get(f"/c/{talk['conversation_id']}").text
    assert "gone didn’t respond; answered by this model" in page
    other = client.post("/api/conversations", json={}).get_json()
    assert "stands_in_for" not in (_reply(client, other["conversation_id"])["custom_payload"] or {})


def test_a_model_that_went_away_is_stood_in_for_by_the_default_and_named(
    client, admin, login, user, model_server, connection
):
    wish = f"{connection['connection_id']}/other-chat"
    talk = client.post("/api/conversations", json={"model": wish, "title": "T"}).get_json()
    _connect(admin, model_server, name="Third", models=[{"model": "third"}])
    admin.delete(f"/api/connections/{connection['connection_id']}")
    assert _reply(client, talk["conversation_id"])["status"] == "complete"
    page = login(user).get(f"/c/{talk['conversation_id']}").text
    assert "other-chat: no longer available, choose another" in page


def test_a_model_for_admins_answers_nobody_else(client, admin, model, connection):
    wish = f"{connection['connection_id']}/other-chat"
    talk = client.post("/api/conversations", json={"model": wish}).get_json()
    for_admins = {"models": [{"model": "other-chat", "audience": "admins", "fallback_rank": 1}]}
    assert admin.patch(f"/api/connections/{connection['connection_id']}", json=for_admins).status_code == 200
    assert _reply(client, talk["conversation_id"])["status"] == "complete"
    assert "other-chat" not in str(model.calls())
    own = admin.post("/api/conversations", json={"model": wish}).get_json()
    _reply(admin, own["conversation_id"])
    assert "other-chat" in str(model.calls())


def test_a_model_for_admins_stands_in_for_nobody_elses(client, admin, model, model_server):
    away = _connect(admin, model_server, base_url="http://127.0.0.1:9/v1", models=[{"model": "gone"}])
    _connect(admin, model_server, models=[{"model": "spare", "audience": "admins", "fallback_rank": 1}])
    talk = client.post("/api/conversations", json={"model": f"{away['connection_id']}/gone"}).get_json()
    assert _reply(client, talk["conversation_id"])["status"] == "failed"
    assert "spare" not in str(model.calls())


def test_admins_connect_and_offer_on_their_pages(app, model_server, client, admin, admin_browser):
    fields = {"name": "Mine", "base_url": model_server.base_url, "api_key": KEY}
    made = post_form(
        admin_browser,
        "/admin/models/new/models",
        page="/admin/models/new",
        **fields,
        model="offline-demo",
        default="offline-demo",
    )
    assert (made.status_code, made.location) == (303, "/")
    place = re.search(r'href="(/admin/models/[0-9]+)"', listed := admin_browser.get("/admin/models").text)[1]
    page, is_said = admin_browser.get(place).text, "1 model offered · default" in listed
    assert is_said and "Streaming" in page and KEY not in page and "A reply waits 180 seconds" in page
    assert post_form(admin_browser, f"{place}/offers", page=place, model=["fresh"]).status_code == 303
    assert any(m["name"] == "fresh" for m in client.get("/api/models").get_json()["models"])
    sent = {"models": [{"model": "fresh", "parameters": {"reasoning_effort": "low", "temperature": 0.2}}]}
    admin.patch(f"/api/connections/{place.rpartition('/')[2]}", json=sent)
    assert post_form(admin_browser, f"{place}/offers", page=place, model=["fresh"]).status_code == 303
    (connection,) = admin.get("/api/connections").get_json()["connections"]
    parameters = connection["models"][0]["parameters"]
    assert (parameters["reasoning_effort"], parameters["temperature"]) == ("low", None)
    typed = {"model": ["fresh", "more"], "label:fresh": "Fresher", "input:fresh": "a lot"}
    twice = typed | {"input:fresh": "2", "model": ["fresh", "more", "more"]}
    stale = typed | {"input:fresh": "2", "version": "of another tab"}
    for form, status, why in ((typed, 422, "Numbers"), (twice, 422, "The list names a model twice."), (stale, 409, "")):
        refused = post_form(admin_browser, f"{place}/offers", page=place, **form)  # nothing that was typed is lost
        kept = [f'value="{text}"' in refused.text for text in ("Fresher", form["input:fresh"], "more")]
        assert refused.status_code == status and why in refused.text and all(kept), kept
    ours = {"name": "Ours", "base_url": model_server.base_url}
    refused = post_form(admin_browser, place, page=place, **ours, version="of another tab")
    assert refused.status_code == 409 and 'value="Ours"' in refused.text and "changed elsewhere" in refused.text
    assert post_form(admin_browser, place, page=place, **ours).status_code == 303
    assert "Ours" in admin_browser.get("/admin/models").text
    assert post_form(admin_browser, f"{place}/delete", page=place).status_code == 303
    assert "No connections yet" in admin_browser.get("/admin/models").text


def test_the_picker_changes_the_model_of_a_conversation(client, browser, connection):
    wish = f"{connection['connection_id']}/other-chat"
    talk = client.post("/api/conversations", json={"title": "T"}).get_json()["conversation_id"]
    assert 'id="composer-model"' in browser.get(f"/c/{talk}").text
    assert post_form(browser, f"/c/{talk}/model", model=wish).status_code == 303
    assert client.get(f"/api/conversations/{talk}").get_json()["model"] == wish
    assert post_form(browser, f"/c/{talk}/model", model="99/none").status_code == 422
