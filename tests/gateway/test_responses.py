"""`/v1/responses` over HTTP: histories, earlier responses by their id, tools, errors; and the real client."""

import json
from typing import Any

import openai
import pytest
from flask.testing import FlaskClient

from tests.files.test_pictures import chat_calls, photo, sent_pictures
from tests.gateway.test_client_tools import WEATHER, bodies, call_tool
from tests.gateway.test_completions import lines, official, picture, reply, talks  # noqa: F401
from tests.support.queries import get_row, scalar
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.files.models import File

TOOL: dict[str, Any] = {"type": "function", **WEATHER["function"]}
QUESTION = "What is the weather in Porto?"


def send(client: FlaskClient, given: Any, headers: dict[str, str] | None = None, **fields: Any) -> Any:
    return client.post("/v1/responses", json={"model": "default", "input": given, **fields}, headers=headers)


def respond(client: FlaskClient, given: Any, headers: dict[str, str] | None = None, **fields: Any) -> tuple[Any, int]:
    """A response, and the conversation that it is in."""
    answer = send(client, given, headers, **fields)
    assert answer.status_code == 200, answer.text
    return answer.get_json(), int(answer.headers["X-Commonplace-Conversation"])


def text(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def output(response: dict[str, Any], answer: str = "Sunny, 24 °C.") -> list[dict[str, Any]]:
    """What the calls of a response came to."""
    calls = [item for item in response["output"] if item["type"] == "function_call"]
    return [{"type": "function_call_output", "call_id": call["call_id"], "output": answer} for call in calls]


def test_a_resent_history_is_continued_here_and_by_completions(app, client, model):
    model.script(reply="First.", times=1)
    first, conversation = respond(client, "One", instructions="Be brief.", metadata={"trip": "7"})
    assert (first["object"], first["status"], text(first)) == ("response", "completed", "First.")
    assert (first["metadata"], first["instructions"], first["store"]) == ({"trip": "7"}, "Be brief.", True)
    assert first["usage"]["total_tokens"] == first["usage"]["input_tokens"] + first["usage"]["output_tokens"] > 0
    assert "Be brief." in bodies(model)[-1]["messages"][-1]["content"]
    model.script(reply="Second.", times=1)
    items = [{"role": "user", "content": "One"}, *first["output"], {"role": "user", "content": "Two"}]
    _, again = respond(client, items)
    model.script(reply="Third.", times=1)
    turns = [("user", "One"), ("assistant", "First."), ("user", "Two"), ("assistant", "Second."), ("user", "Three")]
    _, still = reply(client, *turns)
    assert conversation == again == still
    assert lines(app, conversation) == [*turns, ("assistant", "Third.")]


def test_an_earlier_response_is_gone_on_with(app, client, model):
    model.script(reply="First.", times=1)
    first, conversation = respond(client, "One")
    model.script(reply="Second.", times=1)
    second, again = respond(client, "Two", previous_response_id=first["id"])
    assert second["previous_response_id"] == first["id"]
    turns = [("user", "One"), ("assistant", "First."), ("user", "Two"), ("assistant", "Second.")]
    assert (again, lines(app, conversation)) == (conversation, turns)
    # The history that another program has of it is known, too.
    model.script(reply="Third.", times=1)
    _, still = reply(client, *turns, ("user", "Three"))
    assert still == conversation


def test_the_same_request_again_takes_the_place_of_its_reply(app, client, model):
    first, conversation = respond(client, "One")
    second, _ = respond(client, "Two", previous_response_id=first["id"])
    model.script(reply="Better.", times=1)
    _, again = respond(client, "Two", previous_response_id=first["id"])
    assert again == conversation
    assert talks(app) == [(conversation, 4)]
    assert lines(app, conversation)[-1] == ("assistant", "Better.")
    answer = send(client, "Three", previous_response_id=second["id"])
    assert (answer.status_code, set(answer.get_json())) == (409, {"error"})


def test_a_response_names_the_model_that_wrote_it(client, model):
    made, _ = respond(client, "One")
    assert made["model"] == client.get(f"/v1/responses/{made['id']}").get_json()["model"] != "default"
    events = send(client, "Two", stream=True).get_data(as_text=True).split("\n\n")
    last = json.loads(events[-2].partition("data: ")[2])
    assert last["response"]["model"] == made["model"]


def test_what_had_been_said_before_a_response_is_listed(client, model):
    model.script(reply="First.", times=1)
    first, _ = respond(client, "One")
    second, _ = respond(client, "Two", previous_response_id=first["id"])
    place = f"/v1/responses/{second['id']}/input_items"
    page = client.get(place).get_json()
    assert [(item["role"], item["content"][0]["text"]) for item in page["data"]] == [
        ("user", "Two"),
        ("assistant", "First."),
        ("user", "One"),
    ]
    assert page["has_more"] is False and page["first_id"] == page["data"][0]["id"]
    one = client.get(f"{place}?limit=1&order=asc").get_json()
    assert one["has_more"] is True and one["data"][0]["content"][0]["text"] == "One"
    rest = client.get(f"{place}?order=asc&after={one['last_id']}").get_json()
    assert [item["content"][0]["text"] for item in rest["data"]] == ["First.", "Two"]
    for wrong in ("order=up", "after=nothing", f"after=msg_{second['id'].removeprefix('resp_')}"):
        assert client.get(f"{place}?{wrong}").status_code == 400, wrong


def test_a_deleted_response_is_neither_fetched_nor_gone_on_with(app, client, model):
    made, conversation = respond(client, "One")
    assert client.delete(f"/v1/responses/{made['id']}").get_json() == {
        "id": made["id"],
        "object": "response",
        "deleted": True,
    }
    for again in (client.get, client.delete):
        assert again(f"/v1/responses/{made['id']}").status_code == 404
    assert client.get(f"/v1/responses/{made['id']}/input_items").status_code == 404
    refused = send(client, "Two", previous_response_id=made["id"])
    assert (refused.status_code, refused.get_json()["error"]["param"]) == (404, "previous_response_id")
    assert len(lines(app, conversation)) == 2


def test_another_way_on_from_a_response_is_a_branch(app, client, model):
    model.script(reply="First.", times=1)
    first, conversation = respond(client, "One", headers={"X-Commonplace-Memory": "read"})
    respond(client, "Two", previous_response_id=first["id"])
    model.script(reply="Other.", times=1)
    other, fork = respond(client, "Three", previous_response_id=first["id"])
    assert fork != conversation
    assert lines(app, fork) == [("user", "One"), ("assistant", "First."), ("user", "Three"), ("assistant", "Other.")]
    assert len(lines(app, conversation)) == 4
    assert get_row(app, Conversation, fork).makes_memory is False
    _, again = respond(client, "Three", previous_response_id=first["id"])
    assert again == fork
    assert len(lines(app, fork)) == 4
    assert send(client, "Four", previous_response_id=other["id"]).status_code == 409  # another version took its place


def test_a_branch_behind_what_was_written_on_the_page_is_found_again(app, client, model):
    client.post("/api/chat/stream", json={"message": "One"}).get_data()
    ((conversation, _),) = talks(app)
    found = client.get(f"/api/conversations/{conversation}/messages").get_json()
    name = f"resp_{found['messages'][-1]['message_id']}"
    respond(client, "Two", previous_response_id=name)
    _, fork = respond(client, "Three", previous_response_id=name)
    _, again = respond(client, "Three", previous_response_id=name)
    assert again == fork != conversation
    assert [count for _, count in talks(app)] == [4, 4]


def test_what_was_chosen_first_stays_chosen(app, client):
    """A conversation that is kept does not take what was meant for a temporary one."""
    first, conversation = respond(client, "One")
    headers = ({"headers": {f"X-Commonplace-{name}": value}} for name, value in (("Memory", "off"), ("Space", "1")))
    for choice in ({"model": "default:temporary"}, *headers):
        answer = send(client, "Two", previous_response_id=first["id"], **choice)
        assert (answer.status_code, answer.get_json()["error"]["param"]) == (400, "previous_response_id"), choice
        assert talks(app) == [(conversation, 2)]
    off, _ = respond(client, "One", headers={"X-Commonplace-Memory": "off"})
    respond(client, "Two", headers={"X-Commonplace-Memory": "off"}, previous_response_id=off["id"])


@pytest.mark.parametrize("by_id", [True, False])
def test_a_call_is_handed_over_and_its_output_goes_on(app, client, model, by_id):
    call_tool(model, city="Porto")
    first, conversation = respond(client, QUESTION, tools=[TOOL])
    (call,) = first["output"]
    assert (call["type"], call["name"], json.loads(call["arguments"])) == (
        "function_call",
        "get_weather",
        {"city": "Porto"},
    )
    assert first["tools"][0]["name"] == "get_weather"
    model.script(reply="It is sunny in Porto.", times=1)
    if by_id:
        second, again = respond(client, output(first), tools=[TOOL], previous_response_id=first["id"])
    else:
        items = [{"role": "user", "content": QUESTION}, *first["output"], *output(first)]
        second, again = respond(client, items, tools=[TOOL])
    assert (text(second), again) == ("It is sunny in Porto.", conversation)
    assert bodies(model)[-1]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": call["call_id"],
        "content": "Sunny, 24 °C.",
    }
    model.script(reply="Take a hat.", times=1)
    third, still = respond(client, "And what do I wear?", previous_response_id=second["id"])
    assert (text(third), still) == ("Take a hat.", conversation)
    assert talks(app) == [(conversation, 5)]


def test_outputs_behind_which_the_conversation_went_on_go_on_in_a_branch(app, client, model):
    call_tool(model, city="Porto")
    first, conversation = respond(client, QUESTION, tools=[TOOL])
    both = [*output(first), {"role": "user", "content": "And in Faro?"}]
    model.script(reply="Rain there.", times=1)
    _, again = respond(client, both, tools=[TOOL], previous_response_id=first["id"])
    assert again == conversation
    row = scalar(app, db.select(Message).where(Message.tool_calls.is_not(None)))
    assert row.tool_calls[0]["output"] == {"text": "Sunny, 24 °C."}
    model.script(reply="Snow, really.", times=1)
    _, fork = respond(client, output(first, "Snow."), tools=[TOOL], previous_response_id=first["id"])
    assert fork != conversation
    assert lines(app, fork) == [("user", QUESTION), ("assistant", ""), ("assistant", "Snow, really.")]
    assert bodies(model)[-1]["messages"][-1]["content"] == "Snow."


def test_outputs_for_a_conversation_whose_response_is_not_kept(client, model):
    """`store` false keeps a response from being had by its id, not the conversation from going on."""
    call_tool(model, city="Porto")
    first, conversation = respond(client, QUESTION, tools=[TOOL], store=False)
    model.script(reply="It is sunny in Porto.", times=1)
    second, again = respond(client, output(first), tools=[TOOL], store=False, conversation=first["conversation"])
    assert (text(second), again) == ("It is sunny in Porto.", conversation)
    assert send(client, output(first), tools=[TOOL], previous_response_id=first["id"]).status_code == 404


def test_outputs_have_to_fit_the_calls(app, client, model):
    call_tool(model, city="Porto")
    first, _ = respond(client, QUESTION, tools=[TOOL])
    strange = {"type": "function_call_output", "call_id": "other", "output": "x"}
    for given in ("Never mind.", [strange], [*output(first), strange]):
        answer = send(client, given, previous_response_id=first["id"])
        assert (answer.status_code, answer.get_json()["error"]["param"]) == (400, "input")
        assert "found for function call" in answer.get_json()["error"]["message"]
    assert [count for _, count in talks(app)] == [2]


def test_a_response_can_be_had_again(client, model):
    model.script(reply="First.", times=1)
    first, _ = respond(client, "One", metadata={"trip": "7"})
    found = client.get(f"/v1/responses/{first['id']}").get_json()
    streamed = client.get(f"/v1/responses/{first['id']}?stream=true").text
    assert '"delta":"First."' in streamed and "response.completed" in streamed
    same = ("id", "object", "status", "output", "usage", "metadata", "previous_response_id")
    assert [found[name] for name in same] == [first[name] for name in same]
    second, _ = respond(client, "Two", previous_response_id=first["id"])
    assert client.get(f"/v1/responses/{second['id']}").get_json()["previous_response_id"] == first["id"]


def test_one_that_is_not_stored_can_not(app, client):
    first, conversation = respond(client, "One", store=False)
    assert first["store"] is False
    for answer in (client.get(f"/v1/responses/{first['id']}"), send(client, "Two", previous_response_id=first["id"])):
        assert (answer.status_code, answer.get_json()["error"]["type"]) == (404, "not_found_error")
    items = [{"role": "user", "content": "One"}, *first["output"], {"role": "user", "content": "Two"}]
    assert respond(client, items)[1] == conversation


def test_a_picture_is_shown_to_the_model(app, client, model):
    url = picture(photo(form="PNG"))["image_url"]["url"]
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": url}]
    first, conversation = respond(client, [{"role": "user", "content": parts}])
    assert len(sent_pictures(chat_calls(model)[-1])) == 1
    _, again = respond(client, [{"role": "user", "content": parts}], previous_response_id=first["id"])
    assert again == conversation
    broken = [{"role": "user", "content": [picture(b"\x89PNG\r\n\x1a\nbroken")]}]
    answer = send(client, broken, previous_response_id=first["id"])
    assert (answer.status_code, answer.get_json()["error"]["param"]) == (400, "input")
    assert scalar(app, db.select(db.func.count()).select_from(File)) == 2


FORM: dict[str, Any] = {
    "type": "json_schema",
    "name": "trip",
    "strict": True,
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("refused", "sent"), [([], "json_schema"), (["json_schema"], "json_object"), (["json_schema", "json_object"], None)]
)
def test_an_answer_has_the_form_that_was_asked_for(client, model, refused, sent):
    """Where a server holds no model to it, the model has read what is wanted."""
    model.script(match="Where to", reply='{"city": "Porto"}')
    if refused:
        model.script(match="Where to", reply='{"city": "Porto"}', fault={"refuse_response_format": refused})
    found, _ = respond(client, "Where to?", text={"format": FORM})
    assert json.loads(text(found)) == {"city": "Porto"}
    assert found["text"] == {"format": FORM}
    assert client.get(f"/v1/responses/{found['id']}").get_json()["text"]["format"]["name"] == "trip"
    asked = bodies(model)[-1]
    assert asked["response_format"] == sent
    assert '"city"' in str(asked["messages"][-1]["content"])
    # The same by completions.
    form = {"type": "json_schema", "json_schema": {name: FORM[name] for name in ("name", "schema", "strict")}}
    body = {"messages": [{"role": "user", "content": "Where to?"}], "response_format": form}
    assert client.post("/v1/chat/completions", json=body).status_code == 200
    assert bodies(model)[-1]["response_format"] == sent


def test_one_in_the_background_is_asked_for_and_can_be_cancelled(client, model):
    model.script(reply="word " * 2_000, token_delay=0.02, times=1)
    first, conversation = respond(client, "One", background=True)
    assert (first["status"], first["background"], first["output"]) == ("in_progress", True, [])
    place = f"/v1/responses/{first['id']}"
    with client.get(f"{place}?stream=true", buffered=False) as begun:
        assert b"response.created" in next(iter(begun.response))  # and hangs up
    found = client.get(place).get_json()
    assert (found["status"], found["background"]) == ("in_progress", True)
    assert client.get(f"{place}?stream=true&starting_after=3").status_code == 400
    stopped = client.post(f"{place}/cancel").get_json()
    assert (stopped["id"], stopped["status"]) == (first["id"], "cancelled")
    assert client.post(f"{place}/cancel").get_json() == client.get(place).get_json() == stopped
    second, again = respond(client, "Two", previous_response_id=first["id"])
    assert (second["status"], again) == ("completed", conversation)
    assert client.post("/v1/responses/resp_999999/cancel").status_code == 404


def test_a_conversation_is_named_by_its_id(app, client, model):
    call_tool(model, city="Porto")
    first, conversation = respond(client, QUESTION, tools=[TOOL])
    assert first["conversation"] == {"id": f"conv_{conversation}"}
    model.script(reply="It is sunny in Porto.", times=1)
    second, again = respond(client, output(first), tools=[TOOL], conversation=first["conversation"])
    assert (text(second), again) == ("It is sunny in Porto.", conversation)
    _, still = respond(client, "And tomorrow?", conversation=f"conv_{conversation}")
    assert still == conversation
    assert talks(app) == [(conversation, 5)]
    assert send(client, "Hello", conversation="conv_999999").status_code == 404


def test_a_number_that_no_row_can_have_names_nothing(client):
    for number in (2**31, 10**19 - 1):
        assert send(client, "Hello", conversation=f"conv_{number}").status_code == 400
        assert send(client, "Hello", previous_response_id=f"resp_{number}").status_code == 404
        assert client.get(f"/v1/responses/resp_{number}").status_code == 404
        assert client.post(f"/v1/responses/resp_{number}/cancel").status_code == 404


def test_bad_requests_are_said_as_openai_says_them(app, client):
    """What the readers refuse: tests/gateway/test_responses_input.py."""
    many = {str(number): "y" for number in range(17)}
    half = [{"role": "user", "content": "half \ud800"}]
    for body, param in (
        *(({}, "input"), ({"input": 5}, "input"), ({"input": [5]}, "input"), ({"input": "half \ud800"}, "input")),
        ({"input": half}, "input[0].content"),
        *(({"input": "Hi", "metadata": {"x" * 65: "y"}}, None), ({"input": "Hi", "metadata": many}, "metadata")),
        ({"input": "Hi", "tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"input": [{"type": "function_call_output", "call_id": "x", "output": "y"}]}, "input"),
    ):
        answer = client.post("/v1/responses", json=body)
        error = answer.get_json()["error"]
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error"), body
        assert param is None or error["param"] == param
    assert talks(app) == []


def test_responses_are_their_owners(app, client, user, api, make_user):
    first, conversation = respond(client, "One")
    output = [{"type": "function_call_output", "call_id": "x", "output": "y"}]
    for person in (api(make_user()), api(make_user(is_admin=True))):
        for answer in (
            person.get(f"/v1/responses/{first['id']}"),
            person.post(f"/v1/responses/{first['id']}/cancel"),
            send(person, "Two", conversation=first["conversation"]),
            send(person, "Two", previous_response_id=first["id"]),
            send(person, output, previous_response_id=first["id"]),
        ):
            assert answer.status_code == 404
            assert set(answer.get_json()) == {"error"}
            assert "One" not in answer.text
    question = int(first["id"].removeprefix("resp_")) - 1
    assert client.get(f"/v1/responses/resp_{question}").status_code == 404
    assert talks(app) == [(conversation, 2)]
    client.delete(f"/api/conversations/{conversation}")
    assert client.get(f"/v1/responses/{first['id']}").status_code == 404
    assert send(client, "Two", previous_response_id=first["id"]).status_code == 404


def test_what_was_forgotten_does_not_come_back(app, client, model):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "Allergic to penicillin"}).get_json()
    client.delete(f"/api/memories/{made['memory_id']}")
    call = {"type": "function_call", "call_id": "c1", "name": "note", "arguments": '{"a": "Allergic to penicillin"}'}
    items = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Allergic to penicillin, I see."},
        {"role": "user", "content": "Write it down."},
        *(call, {"type": "function_call_output", "call_id": "c1", "output": "Allergic to penicillin"}),
    ]
    _, fork = respond(client, items)
    with app.app_context():
        rows = db.session.execute(db.select(Message.content, Message.tool_calls)).all()
    assert len(lines(app, fork)) == 5
    assert "penicillin" not in json.dumps([list(row) for row in rows])
    assert "penicillin" not in json.dumps(bodies(model)[-1]["messages"])


# The real client


def test_the_official_client_converses(app, official, model):  # noqa: F811
    model.script(reply="Ebb and flow 🌊", times=1)
    first = official.responses.create(model="default", input="What are tides?", metadata={"trip": "7"})
    assert (first.output_text, first.status) == ("Ebb and flow 🌊", "completed")
    assert first.usage is not None and first.usage.total_tokens > 0
    assert official.responses.retrieve(first.id).output_text == "Ebb and flow 🌊"
    model.script(reply="It pulls. " * 40, token_delay=0.005, times=1)
    with official.responses.stream(model="default", input="And the moon?", previous_response_id=first.id) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        second = stream.get_final_response()
    assert "".join(pieces).strip() == second.output_text.strip() == ("It pulls. " * 40).strip()
    assert second.usage is not None and second.usage.output_tokens > 0
    assert [count for _, count in talks(app)] == [4]
    receipt = official.get(f"/../api/messages/{second.id.removeprefix('resp_')}/receipt", cast_to=object)
    assert receipt["message_id"] == int(second.id.removeprefix("resp_"))  # type: ignore[index]


def test_the_official_client_calls_its_tools(app, official, model):  # noqa: F811
    tools: Any = [TOOL]
    history: list[Any] = [{"role": "user", "content": QUESTION}]
    model.script(
        reply="Let me see.", tool_calls=[{"name": "get_weather", "arguments": {"city": "Porto " * 500}}], times=1
    )
    with official.responses.stream(model="default", input=history, tools=tools) as stream:
        kinds = {event.type for event in stream}
        first = stream.get_final_response()
    assert {"response.function_call_arguments.delta", "response.function_call_arguments.done"} <= kinds
    assert first.output_text == "Let me see."
    call = first.output[1]
    assert call.type == "function_call"
    assert json.loads(call.arguments) == {"city": "Porto " * 500}
    history += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
    history.append({"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."})
    model.script(reply="Sunny there.", times=1)
    events = list(official.responses.create(model="default", input=history, tools=tools, stream=True))
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "Sunny there."
    assert [count for _, count in talks(app)] == [3]


def test_the_official_client_understands_our_errors(official, model):  # noqa: F811
    with pytest.raises(openai.NotFoundError):
        official.responses.create(model="gpt-nonsense", input="Hello")
    with pytest.raises(openai.NotFoundError):
        official.responses.create(model="default", input="Hello", previous_response_id="resp_999999")
    with pytest.raises(openai.BadRequestError) as bad:
        official.responses.create(model="default", input="Hello", tools=[{"type": "web_search"}])
    assert bad.value.param == "tools[0].type"
    model.script(fault={"http_status": 401})
    last = list(official.responses.create(model="default", input="Hello", stream=True))[-1]
    assert last.type == "response.failed"
    assert last.response.error is not None and last.response.error.code == "server_error"
