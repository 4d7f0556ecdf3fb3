"""What a person chooses for the model of a conversation: sent, kept, remembered, shown, taken back."""

from typing import Any

import pytest

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, post_form
from tests.chat.helpers import offer, parse
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.parameters import Parameters, reply_parameters

CHOSEN = {"temperature": 0.2, "max_tokens": 300, "reasoning_effort": "low", "system": "Answer in one sentence."}


def reply(client: ApiClient, conversation_id: int, model: ServerHandle) -> dict[str, Any]:
    """A turn of a conversation; the request that its model got."""
    body = {"message": "Hello", "conversation_id": conversation_id}
    assert parse(client.post("/api/chat/stream", json=body).text)[-1].name == "done"
    return [call for call in model.calls() if call["stream"]][-1]


def test_what_is_chosen_goes_to_the_model_and_can_be_taken_back(client, model):
    made = client.post("/api/conversations", json={"parameters": CHOSEN}).get_json()
    assert {name: value for name, value in made["parameters"].items() if value is not None} == CHOSEN
    number = made["conversation_id"]
    call = reply(client, number, model)
    sent = {name: call["values"][name] for name in ("temperature", "max_tokens", "reasoning_effort")}
    assert sent == {"temperature": 0.2, "max_tokens": 300, "reasoning_effort": "low"}
    assert "system" not in call["keys"] and "Answer in one sentence." in call["messages"][0]["content"]
    changed = client.put(f"/api/conversations/{number}", json={"parameters": {"temperature": 0}}).get_json()
    assert changed["parameters"]["temperature"] == 0 and changed["parameters"]["system"] is None
    assert reply(client, number, model)["values"]["temperature"] == 0
    client.put(f"/api/conversations/{number}", json={"title": "Other things stay"})
    assert client.get(f"/api/conversations/{number}").get_json()["parameters"]["temperature"] == 0
    assert client.put(f"/api/conversations/{number}", json={"parameters": None}).get_json()["parameters"] is None
    call = reply(client, number, model)
    assert "temperature" not in call["keys"] and "one sentence" not in call["messages"][0]["content"]


def test_they_come_before_those_of_the_admin(api, make_user, client, model):
    parameters = {"temperature": 0.9, "top_p": 0.5, "system": "You are terse."}
    offer = {"model": "alpha", "parameters": parameters}
    body = {"name": "Here", "base_url": model.base_url, "models": [offer]}
    made = api(make_user(is_admin=True)).post("/api/connections", json=body).get_json()
    fields = {"model": made["models"][0]["id"], "parameters": {"temperature": 0.1, "system": "And kind."}}
    number = client.post("/api/conversations", json=fields).get_json()["conversation_id"]
    call = reply(client, number, model)
    assert (call["values"]["temperature"], call["values"]["top_p"]) == (0.1, 0.5)
    assert "You are terse.\n\nAnd kind." in call["messages"][0]["content"]


def test_what_no_model_takes_is_refused(client):
    number = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    fields = {"temperature": [3, "hot"], "max_tokens": [1, 10**9], "reasoning_effort": ["extreme"], "seed": [7]}
    wrong = [{name: value} for name, values in fields.items() for value in values]
    for given in (*wrong, {"system": "x" * 4_001}, "warm"):
        asked = {"parameters": given}
        assert client.post("/api/conversations", json=asked).status_code == 422, given
        assert client.put(f"/api/conversations/{number}", json=asked).status_code == 422, given
        assert client.put("/api/account", json={"settings": {"last_parameters": given}}).status_code == 422, given


def test_what_is_stored_and_cannot_be_read_is_left_out(app, client, model):
    number = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    with app.app_context():
        row = db.session.get(Conversation, number)
        assert row is not None
        row.parameters = {"temperature": "warm", "max_tokens": 64, "later": 1}
        db.session.commit()
    call = reply(client, number, model)
    assert call["values"]["max_tokens"] == 64 and "temperature" not in call["keys"]


def test_they_are_chosen_shown_remembered_and_reset_on_the_page(client, model, browser):
    place = post_form(browser, "/conversations", content="Hello").location.partition("#")[0]
    number = int(place.rpartition("/")[2])
    assert "parameters-line" in browser.get(place).text and "Here:" not in browser.get(place).text
    form = {"temperature": "0,2", "max_tokens": "300", "reasoning_effort": "", "system": "Be brief."}
    assert post_form(browser, f"{place}/parameters", place, **form).status_code == 303
    words = "Here: temperature 0.2, at most 300 tokens, added instructions"
    assert words in browser.get(place).text
    assert 'value="0.2"' in browser.get(f"{place}/parameters").text
    # The next conversation begins with them, and keeps its own from then on.
    assert words in browser.get("/").text
    other = post_form(browser, "/conversations", content="Hello").location.partition("#")[0]
    call = [call for call in model.calls() if call["stream"]][-1]
    assert call["values"]["temperature"] == 0.2 and "Be brief." in call["messages"][0]["content"]
    assert post_form(browser, f"{place}/parameters", place, reset="1").status_code == 303
    assert client.get(f"/api/conversations/{number}").get_json()["parameters"] is None
    assert "Here:" not in browser.get(place).text and "Here:" not in browser.get("/").text
    assert words in browser.get(other).text
    assert post_form(browser, "/models/parameters", "/", temperature="1").status_code == 303
    assert "Here: temperature 1" in browser.get("/").text


def test_a_wrong_number_is_said_beside_its_field(browser):
    place = post_form(browser, "/conversations", content="Hello").location.partition("#")[0]
    for path in (f"{place}/parameters", "/models/parameters"):
        refused = post_form(browser, path, place, temperature="3", max_tokens="many")
        assert refused.status_code == 422
        assert "A number from 0 to 2." in refused.text and "A whole number from 16" in refused.text
        assert 'value="many"' in refused.text and 'value="3"' in refused.text


def test_the_page_says_what_a_model_does_not_take(login, user, client, admin, model):
    (chosen,) = offer(admin, model, "cool-one")
    refusal = {"error": {"message": "Unsupported parameter: 'temperature' is not supported with this model."}}
    model.script(match="Hello", reply="Yes.", times=None)
    model.script(match="Hello", fault={"http_status": 400, "body": refusal}, times=1)
    fields = {"model": chosen, "parameters": {"temperature": 0.2}}
    number = client.post("/api/conversations", json=fields).get_json()["conversation_id"]
    assert "temperature" not in reply(client, number, model)["keys"]
    client.put(f"/api/conversations/{number}", json={"model": None})
    assert "This model does not support it." not in login(user).get(f"/c/{number}/parameters").text


def test_a_branch_answers_as_where_it_came_from(client, admin, login, user, model):
    (chosen,) = offer(admin, model, "named")
    number = client.post("/api/conversations", json={"parameters": CHOSEN, "model": chosen}).get_json()[
        "conversation_id"
    ]
    reply(client, number, model)
    said = client.get(f"/api/conversations/{number}").get_json()["messages"][-1]["message_id"]
    made = post_form(login(user), f"/messages/{said}/branch", f"/c/{number}").location
    branch = client.get(f"/api/conversations/{made.rpartition('/')[2]}").get_json()
    assert (branch["model"], branch["parameters"]["temperature"]) == (chosen, 0.2)


def test_nothing_chosen_is_nothing_kept():
    assert Parameters(system="", temperature=0).non_empty == {"temperature": 0}
    assert Parameters.of(None) == Parameters() == Parameters.of({"temperature": "x"})


@pytest.mark.cases("question", "reply", "sent")
def test_only_parameters_of_a_message_are_sent_whatever_a_restored_file_says(question, reply, sent):
    assert reply_parameters({"parameters": question}, {"parameters": reply}) == sent


def test_the_panel_chooses_for_one_message_only(client, user, login, model):
    """What is said for one message goes along with it, is stored with nothing else, and is gone after it was sent."""
    browser, partial = login(user), {"HX-Request": "true"}
    number = client.post("/api/conversations", json={"parameters": {"temperature": 0.9}}).get_json()["conversation_id"]
    place, page = f"/c/{number}/parameters", f"/c/{number}"
    chosen = post_form(browser, place, page, headers=partial, temperature="0.2", max_tokens="300", once="1")
    assert chosen.status_code == 200
    assert "For this message only: temperature 0.2, at most 300 tokens" in chosen.text
    assert client.get(f"/api/conversations/{number}").get_json()["parameters"]["temperature"] == 0.9
    sent = post_form(
        browser, f"/c/{number}/messages", page, headers=partial, content="Hello", once='{"temperature": 0.2}'
    )
    assert "Here: temperature 0.9" in sent.text and "For this message only" not in sent.text
    asked = client.get(f"/api/conversations/{number}/messages").get_json()["messages"]
    client.get(f"/api/messages/{asked[-1]['message_id']}/response?wait=20")
    assert [call for call in model.calls() if call["stream"]][-1]["values"]["temperature"] == 0.2
    assert reply(client, number, model)["values"]["temperature"] == 0.9
    back = post_form(browser, place, page, headers=partial, not_once="1")
    assert back.status_code == 200 and "For this message only:" not in back.text
    refused = post_form(browser, place, page, headers=partial, system="Be brief.", once="1")
    assert refused.status_code == 422 and "apply to the whole conversation" in refused.text
    for broken in ("{", "[]", '{"model": "other", "temperature": 9}'):
        answer = post_form(browser, f"/c/{number}/messages", page, headers=partial, content="Again", once=broken)
        assert answer.status_code == 200
        asked = client.get(f"/api/conversations/{number}/messages").get_json()["messages"]
        client.get(f"/api/messages/{asked[-1]['message_id']}/response?wait=20")
