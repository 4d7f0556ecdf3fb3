"""Tools of clients through the gateway: handed over, answered, gone on with; and with the real client."""

import json
from typing import Any

import openai
import pytest

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from tests.gateway.test_completions import ask, lines, official, talks  # noqa: F401
from tests.support.queries import scalar, scalars
from webapp.conversations.models import Message
from webapp.conversations.service import hide_conversation
from webapp.db.base import db
from webapp.memories.models import Memory

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
QUESTION = {"role": "user", "content": "What is the weather in Porto?"}


def send(client: ApiClient, *messages: Any, **fields: Any) -> Any:
    """A request with the tool, and its whole answer."""
    body = {"model": "default", "messages": list(messages), "tools": [WEATHER], **fields}
    answer = client.post("/v1/chat/completions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.get_json()["choices"][0], int(answer.headers["X-Commonplace-Conversation"])


def call_tool(model: ServerHandle, name: str = "get_weather", times: int | None = 1, **arguments: Any) -> None:
    model.script(tool_calls=[{"name": name, "arguments": arguments}], times=times)


def answer_calls(choice: dict[str, Any], text: str = "Sunny, 24 °C.") -> list[dict[str, Any]]:
    """The model's message and an answer to each of its calls."""
    message = choice["message"]
    return [message, *({"role": "tool", "tool_call_id": call["id"], "content": text} for call in message["tool_calls"])]


def bodies(model: ServerHandle) -> list[dict[str, Any]]:
    return [call for call in model.calls() if call["stream"]]


def test_a_call_is_handed_over_and_its_answer_goes_on_in_the_same_conversation(app, client, model):
    call_tool(model, city="Porto")
    first, conversation = send(client, QUESTION)
    assert first["finish_reason"] == "tool_calls"
    assert first["message"]["content"] is None
    (call,) = first["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "get_weather")
    assert json.loads(call["function"]["arguments"]) == {"city": "Porto"}
    model.script(reply="It is sunny in Porto.", times=1)
    history = [QUESTION, *answer_calls(first)]
    second, again = send(client, *history)
    assert (second["finish_reason"], second["message"]["content"]) == ("stop", "It is sunny in Porto.")
    assert again == conversation
    sent = bodies(model)[-1]["messages"]
    assert [message["role"] for message in sent][-3:] == ["user", "assistant", "tool"]
    assert sent[-1] == {"role": "tool", "tool_call_id": call["id"], "content": "Sunny, 24 °C."}
    assert sent[-2]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert sent[:-2] == bodies(model)[0]["messages"]
    model.script(reply="Take a hat.", times=1)
    third, still = send(client, *history, second["message"], {"role": "user", "content": "And what do I wear?"})
    assert (third["message"]["content"], still) == ("Take a hat.", conversation)
    assert talks(app) == [(conversation, 5)]
    assert lines(app, conversation) == [
        ("user", "What is the weather in Porto?"),
        *(("assistant", ""), ("assistant", "It is sunny in Porto.")),
        *(("user", "And what do I wear?"), ("assistant", "Take a hat.")),
    ]


def test_several_rounds_stay_one_conversation_and_the_page_shows_them(app, client, model, login):
    history: list[dict[str, Any]] = [QUESTION]
    for city in ("Porto", "Lisbon"):
        model.script(
            reply=f"Looking at {city}.", tool_calls=[{"name": "get_weather", "arguments": {"city": city}}], times=1
        )
        choice, conversation = send(client, *history)
        history += answer_calls(choice, f"Rain in {city}.")
    model.script(reply="Rain in both.", times=1)
    choice, again = send(client, *history)
    assert (again, choice["finish_reason"]) == (conversation, "stop")
    assert talks(app) == [(conversation, 4)]
    sent = bodies(model)[-1]["messages"]
    assert [message["role"] for message in sent][-5:] == ["user", *("assistant", "tool") * 2]
    assert [message["content"] for message in sent][-4:] == [
        *("Looking at Porto.", "Rain in Porto."),
        *("Looking at Lisbon.", "Rain in Lisbon."),
    ]
    page = login(client.person).get(f"/c/{conversation}").text
    assert page.count("tools-used-name") == 2
    assert "get weather" in page
    assert "Rain in Lisbon." in page


@pytest.mark.parametrize("is_here", [True, False], ids=["here", "elsewhere"])
def test_what_a_server_sends_with_a_call_goes_back_to_it_once_it_is_answered(client, model, is_here):
    own = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
    model.script(tool_calls=[{"name": "get_weather", "arguments": {"city": "Porto"}, **own}], times=1)
    first, _conversation = send(client, QUESTION)
    (call,) = first["message"]["tool_calls"]
    assert call["extra_content"] == own["extra_content"]
    if not is_here:
        call["id"] = "call_1"  # of a conversation that nobody here knows
    else:
        del call["extra_content"]  # by a client that does not send it back
    model.script(reply="Sunny.", times=1)
    send(client, QUESTION, *answer_calls(first))
    assert bodies(model)[-1]["messages"][-2]["tool_calls"][0]["extra_content"] == own["extra_content"]


def test_arguments_that_were_written_as_text_twice_are_handed_over_as_meant(client, model):
    arguments = json.dumps({"city": "Porto"})
    model.script(tool_calls=[{"name": "get_weather", "arguments": json.dumps(arguments)}], times=1)
    choice, _conversation = send(client, QUESTION)
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"city": "Porto"}


def test_the_same_answers_again_make_another_version(app, client, model):
    call_tool(model, city="Porto")
    first, conversation = send(client, QUESTION)
    history = [QUESTION, *answer_calls(first)]
    for reply in ("One.", "Two."):
        model.script(reply=reply, times=1)
        choice, again = send(client, *history)
        assert (choice["message"]["content"], again) == (reply, conversation)
    assert talks(app) == [(conversation, 3)]
    assert lines(app, conversation)[-1] == ("assistant", "Two.")
    model.script(reply="Three.", times=1)
    _, still = send(client, QUESTION, *answer_calls(first, "Snow."))
    assert still == conversation
    row = scalar(app, db.select(Message).where(Message.tool_calls.is_not(None)))
    assert row.tool_calls[0]["output"] == {"text": "Snow."}


def test_an_edited_question_or_a_strangers_answer_begins_another_conversation(app, client, model, api, make_user):
    call_tool(model, city="Porto")
    first, conversation = send(client, QUESTION)
    for person, question in ((client, "What is the weather in Faro?"), (api(make_user()), QUESTION["content"])):
        model.script(reply="Well.", times=1)
        _, other = send(person, {"role": "user", "content": question}, *answer_calls(first))
        assert other != conversation
        assert lines(app, other) == [("user", question), ("assistant", ""), ("assistant", "Well.")]
        assert lines(app, conversation) == [("user", QUESTION["content"]), ("assistant", "")]
        assert bodies(model)[-1]["messages"][-1]["content"] == "Sunny, 24 °C."


def test_answers_go_on_elsewhere_once_the_conversation_was_deleted(app, client, model):
    call_tool(model, city="Porto")
    first, conversation = send(client, QUESTION)
    with app.app_context():
        hide_conversation(client.person.user_id, conversation)  # as on the page, where it can be brought back
        db.session.commit()
    model.script(reply="Well.", times=1)
    choice, other = send(client, QUESTION, *answer_calls(first))
    assert (choice["message"]["content"], other != conversation) == ("Well.", True)


def test_a_history_from_elsewhere_is_gone_on_with(app, client, model):
    call = {"id": "call_xyz", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Porto"}'}}
    message = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "call_xyz", "content": [{"type": "text", "text": "Fog."}]}
    before = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    model.script(reply="Foggy.", times=1)
    choice, conversation = send(client, *before, QUESTION, message, answer)
    assert choice["message"]["content"] == "Foggy."
    assert lines(app, conversation)[2:] == [
        ("user", QUESTION["content"]),
        *(("assistant", "Let me see."), ("assistant", "Foggy.")),
    ]
    model.script(reply="On.", times=1)
    _, again = send(client, *before, QUESTION, message, answer, choice["message"], {"role": "user", "content": "And?"})
    assert again == conversation


def test_a_call_from_elsewhere_keeps_its_arguments(client, model):
    """A program that writes files sends all of them."""
    for arguments in (json.dumps({"text": "x" * 20_000}), '{"text": ', "", r'{"text": "\u0000"}'):
        call = {"id": "call_1", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
        model.script(reply="Written.", times=1)
        called = {"role": "assistant", "content": None, "tool_calls": [call]}
        send(client, QUESTION, called, {"role": "tool", "tool_call_id": "call_1", "content": "Done."})
        sent = bodies(model)[-1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
        assert sent == (r'{"text": ""}' if "u0000" in arguments else arguments or "{}")


@pytest.mark.parametrize(
    "written", ['{"note": {"lines": ["Allergic to penicillin"]}}', '{"note": "Allergic to penicillin']
)
def test_what_was_forgotten_does_not_come_back_in_a_call(app, client, model, written):
    """Neither in arguments, in what they hold, nor in those that are no JSON."""
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "Allergic to penicillin"}).get_json()
    assert client.delete(f"/api/memories/{made['memory_id']}").status_code in (200, 204)
    call = {"id": "call_1", "type": "function", "function": {"name": "write_file", "arguments": written}}
    model.script(reply="Written.", times=1)
    send(
        client,
        {"role": "user", "content": "Write it down."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Done: Allergic to penicillin."},
    )
    with app.app_context():
        (calls,) = db.session.scalars(db.select(Message.tool_calls).where(Message.tool_calls.is_not(None)))
    kept = json.dumps([calls, bodies(model)[-1]["messages"]])
    assert "write_file" in kept
    assert "forgotten" in kept
    assert "penicillin" not in kept


def test_broken_text_in_a_part_is_refused(app, client):
    call = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    for role in ("system", "user", "tool"):
        broken = {"role": role, "tool_call_id": "a", "content": [{"type": "text", "text": "half \ud800"}]}
        rest = [QUESTION, {"role": "assistant", "tool_calls": [call]}] if role == "tool" else []
        answer = client.post("/v1/chat/completions", json={"model": "default", "messages": [*rest, broken]})
        assert (role, answer.status_code, talks(app)) == (role, 400, [])
        assert "surrogate" in answer.get_json()["error"]["message"]


def test_our_memory_tools_run_in_the_same_turn(app, client, model):
    ours = {
        "name": "remember",
        "arguments": {"content": "Lives in Porto", "quote": "I live in Porto", "memory_type": "fact"},
    }
    model.script(tool_calls=[ours, {"name": "get_weather", "arguments": {"city": "Porto"}}], times=1)
    question = {"role": "user", "content": "I live in Porto. How is the weather?"}
    first, conversation = send(client, question)
    assert [call["function"]["name"] for call in first["message"]["tool_calls"]] == ["get_weather"]
    assert scalars(app, db.select(Memory.content)) == ["Lives in Porto"]
    model.script(reply="Fine.", times=1)
    _, again = send(client, question, *answer_calls(first))
    assert again == conversation
    asked = bodies(model)[-1]["messages"][-3]
    assert [call["function"]["name"] for call in asked["tool_calls"]] == ["remember", "get_weather"]
    assert {"remember", "get_weather"} <= set(bodies(model)[-1]["tools"])


def test_what_a_clients_tool_answers_is_no_evidence(app, client, model):
    call_tool(model, city="Porto")
    first, _ = send(client, QUESTION)
    ours = {
        "name": "remember",
        "arguments": {"content": "Has a boat", "quote": "The user has a boat", "memory_type": "fact"},
    }
    model.script(reply="Done.", times=1)
    model.script(tool_calls=[ours], times=1)
    send(client, QUESTION, *answer_calls(first, "The user has a boat"))
    assert scalars(app, db.select(Memory.content)) == []


def test_a_name_of_ours_is_the_clients_to_it(client, model):
    theirs = {"type": "function", "function": {"name": "remember", "parameters": {"type": "object"}}}
    call_tool(model, "client_remember", what="this")
    first, conversation = send(client, QUESTION, tools=[theirs])
    assert first["message"]["tool_calls"][0]["function"]["name"] == "remember"
    model.script(reply="Done.", times=1)
    _, again = send(client, QUESTION, *answer_calls(first), tools=[theirs])
    assert again == conversation
    assert bodies(model)[-1]["messages"][-2]["tool_calls"][0]["function"]["name"] == "client_remember"


def test_a_choice_reaches_the_model(client, model):
    seen: list[dict[str, Any]] = []

    def note(body: dict[str, Any]) -> dict[str, Any]:
        if body.get("stream"):
            seen.append({name: body.get(name) for name in ("tool_choice", "parallel_tool_calls", "tools")})
        return {"reply": "Well."}

    model.script(respond=note)
    named = {"type": "function", "function": {"name": "get_weather"}}
    send(client, QUESTION, tool_choice=named, parallel_tool_calls=False)
    send(client, QUESTION, tool_choice="none")
    send(client, QUESTION)
    assert (seen[0]["tool_choice"], seen[0]["parallel_tool_calls"]) == (named, False)
    assert [tool["function"]["name"] for tool in seen[0]["tools"]] == ["get_weather"]
    assert "get_weather" not in [tool["function"]["name"] for tool in seen[1]["tools"]]
    assert (seen[2]["tool_choice"], seen[2]["parallel_tool_calls"]) == (None, None)
    assert seen[2]["tools"][-1] == WEATHER


def test_only_one_call_where_one_was_asked_for(client, model):
    calls = [{"name": "get_weather", "arguments": {"city": city}} for city in ("Porto", "Faro")]
    model.script(tool_calls=calls, times=1)
    first, _ = send(client, QUESTION, parallel_tool_calls=False)
    assert len(first["message"]["tool_calls"]) == 1
    model.script(tool_calls=calls, times=1)
    both, _ = send(client, {"role": "user", "content": "Both?"})
    assert len({call["id"] for call in both["message"]["tool_calls"]}) == 2


def test_no_background_work_while_the_client_is_asked(app, client, model, run_jobs):
    model.script(reply="Let me see.", tool_calls=[{"name": "get_weather", "arguments": {"city": "Porto"}}], times=1)
    first, _ = send(client, QUESTION)
    run_jobs()
    assert [call for call in model.calls() if call["path"] == "chat" and not call["stream"]] == []
    model.script(match="weather", reply="Sunny.", times=1)
    send(client, QUESTION, *answer_calls(first))
    run_jobs()
    assert len([call for call in model.calls() if call["path"] == "chat" and not call["stream"]]) <= 1


def test_bad_tools_are_said_as_openai_says_them(app, client):
    bad = {"type": "function", "function": {"name": "x", "parameters": {"type": "array"}}}
    answer = ask(client, ("user", "Hello"), tools=[bad])
    error = answer.get_json()["error"]
    assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["param"] == "tools[0].function.parameters"
    assert "Invalid schema" in error["message"]
    assert talks(app) == []


# The real client


def test_the_official_client_calls_its_tools(
    app,
    official,  # noqa: F811
    model,
):
    history: list[Any] = [QUESTION]
    tools: Any = [WEATHER]
    call_tool(model, city="Porto")
    first = official.chat.completions.create(model="default", messages=history, tools=tools).choices[0]
    assert first.finish_reason == "tool_calls"
    assert first.message.tool_calls is not None
    history += [
        first.message,
        {"role": "tool", "tool_call_id": first.message.tool_calls[0].id, "content": "Sunny, 24 °C."},
    ]
    model.script(reply="Now Faro.", tool_calls=[{"name": "get_weather", "arguments": {"city": "Faro " * 500}}], times=1)
    with official.chat.completions.stream(model="default", messages=history, tools=tools) as stream:
        kinds = {event.type for event in stream}
        second = stream.get_final_completion().choices[0]
    assert {"content.delta", "tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= kinds
    assert (second.finish_reason, second.message.content) == ("tool_calls", "Now Faro.")
    assert second.message.tool_calls is not None
    call = second.message.tool_calls[0]
    assert json.loads(call.function.arguments) == {"city": "Faro " * 500}
    message = {
        "role": "assistant",
        "content": second.message.content,
        "tool_calls": [call.model_dump(include={"id", "type", "function"})],
    }
    history += [message, {"role": "tool", "tool_call_id": call.id, "content": "Rain."}]
    model.script(reply="Sunny and rain.", times=1)
    chunks = list(official.chat.completions.create(model="default", messages=history, tools=tools, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Sunny and rain."
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert [count for _, count in talks(app)] == [4]
    with pytest.raises(openai.BadRequestError) as bad:
        official.chat.completions.create(model="default", messages=[QUESTION], tools=[{"type": "function"}])  # type: ignore[list-item]
    assert bad.value.param == "tools[0].function"
