"""Another version of a reply: by an instruction, by another model."""

import pytest

from testkit.people import browser_client, post_form


@pytest.fixture
def other_model(api, make_user, model_server):
    """The id of a second model that everybody may choose."""
    body = {
        "name": "Other",
        "base_url": model_server.base_url,
        "api_key": "sk-x",
        "models": [{"model": "other-chat", "label": "Other chat"}],
    }
    admin = api(make_user(is_admin=True))
    assert admin.post("/api/connections", json=body).status_code == 201
    (found,) = [model["id"] for model in admin.get("/api/models").get_json()["models"] if "other-chat" in model["id"]]
    return found


@pytest.fixture
def reply(client, model):
    """A finished reply."""
    model.script(reply="The first one.")
    started = client.post("/api/chat/stream", json={"message": "Say something"})
    assert started.status_code == 200
    started.get_data()
    (talk,) = client.get("/api/conversations").get_json()["conversations"]
    return client.get(f"/api/conversations/{talk['conversation_id']}/messages").get_json()["messages"][-1]


def _again(client, reply, **wishes):
    answer = client.post(f"/api/chat/turns/{reply['message_id']}/regenerate", **wishes)
    assert answer.status_code == 202, answer.text
    made = answer.get_json()["response_id"]
    return client.get(f"/api/messages/{made}/response?wait=20").get_json()


def test_another_model_writes_it_and_the_conversation_keeps_its_own(client, model, other_model, reply):
    model.script(reply="By another.")
    again = _again(client, reply, json={"model": other_model, "instruction": "Shorter"})
    assert (again["content"], again["model"]) == ("By another.", "other-chat")
    assert "Shorter" in str(model.calls()[-1])
    versions = client.get(f"/api/messages/{again['message_id']}/versions").get_json()["versions"]
    assert [(version["model"], version["is_current"]) for version in versions] == [
        (reply["model"], False),
        ("other-chat", True),
    ]
    talk = client.get(f"/api/conversations/{again['conversation_id']}").get_json()
    assert talk["model"] is None


def test_a_retry_of_another_version_is_asked_for_as_that_version_was(client, model, other_model, reply, browser):
    model.script(reply="By another.")
    model.script(fault={"http_status": 401}, times=1)
    failed = _again(client, reply, json={"model": other_model, "instruction": "Shorter"})
    assert failed["status"] == "failed"
    # Until then the conversation goes on from the version that the failed one was to replace.
    sent = client.post("/api/chat/stream", json={"conversation_id": failed["conversation_id"], "message": "And then?"})
    assert sent.get_data() and "The first one." in str(model.calls()[-1]["messages"])
    branch = post_form(browser, f"/messages/{failed['message_id']}/branch").location.rpartition("/c/")[2]
    assert [message["content"] for message in _messages(client, branch)] == ["Say something", "The first one."]
    made = client.post(f"/api/chat/turns/{failed['message_id']}/retry").get_json()["response_id"]
    again = client.get(f"/api/messages/{made}/response?wait=20").get_json()
    assert (again["content"], again["model"]) == ("By another.", "other-chat")
    assert "Shorter" in str(model.calls()[-1])


@pytest.mark.parametrize("way", ["retry", "regenerate"])
def test_the_model_that_a_message_was_sent_to_writes_it_again(client, model, other_model, way):
    model.script(reply="By another.")
    if way == "retry":
        model.script(fault={"http_status": 401}, times=1)
    talk = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    sent = client.post(f"/api/conversations/{talk}/messages", json={"content": "Say it", "model": other_model})
    first = sent.get_json()["response_id"]
    client.get(f"/api/messages/{first}/response?wait=20")
    made = client.post(f"/api/chat/turns/{first}/{way}").get_json()["response_id"]
    again = client.get(f"/api/messages/{made}/response?wait=20").get_json()
    assert (again["content"], again["model"]) == ("By another.", "other-chat")
    assert client.get(f"/api/conversations/{talk}").get_json()["model"] is None


def test_on_the_page_the_picker_says_who_writes_it_again(client, model, other_model, browser):
    model.script(reply="By whoever was asked.")
    talk = client.post("/api/conversations", json={"model": other_model}).get_json()["conversation_id"]
    place = f"/c/{talk}"
    post_form(browser, f"{place}/messages", place, content="Say it", model=other_model)
    (first,) = [m for m in _messages(client, talk) if m["role"] == "assistant"]
    client.get(f"/api/messages/{first['message_id']}/response?wait=20")
    default = next(m["id"] for m in client.get("/api/models").get_json()["models"] if m["id"] != other_model)
    assert client.put(f"/api/conversations/{talk}", json={"model": default}).status_code == 200
    post_form(browser, f"/turns/{first['message_id']}/regenerate", place)
    again = [m for m in _messages(client, talk) if m["role"] == "assistant"][-1]
    written = client.get(f"/api/messages/{again['message_id']}/response?wait=20").get_json()
    assert (first["message_id"] != again["message_id"], written["model"] != "other-chat") == (True, True)


def _messages(client, talk):
    return client.get(f"/api/conversations/{talk}/messages").get_json()["messages"]


def test_a_model_that_is_not_offered_is_422(client, reply, other_model):
    gone = other_model.rpartition("/")[0] + "/gone"
    for wish in (gone, "x" * 221):
        place = f"/api/chat/turns/{reply['message_id']}/regenerate"
        assert client.post(place, json={"model": wish}).status_code == 422


def test_the_menu_offers_models_only_where_there_are_several(client, model, reply, other_model, browser):
    place = f"/turns/{reply['message_id']}/models"
    partial = browser.get(place, headers={"HX-Request": "true"}).text
    assert "Other chat" in partial and "<html" not in partial
    model.script(reply="By another.")
    page = browser.get(place).text
    assert "What to change" in page
    sent = post_form(browser, f"/turns/{reply['message_id']}/regenerate", page=place, model=other_model, instruction="")
    assert sent.status_code == 303
    said = client.get(f"/api/conversations/{reply['conversation_id']}/messages").get_json()["messages"]
    assert (said[-1]["content"], said[-1]["model"]) == ("By another.", "other-chat")


def test_with_one_model_the_menu_offers_none(app, user, reply):
    answer = browser_client(app, user).get(f"/turns/{reply['message_id']}/models", headers={"HX-Request": "true"})
    assert answer.text.strip() == ""
