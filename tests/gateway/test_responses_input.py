"""Requests and events of the Responses API: no server."""

import base64
import json
from typing import Any

import pytest

from webapp.gateway.fingerprints import fingerprint
from webapp.gateway.functions import UnsupportedRequest
from webapp.gateway.responses_input import ResponseRequest, read, read_next, reply_id
from webapp.gateway.responses_output import ResponseHeader, Stream, output_of, response
from webapp.gateway.wire import Completion, read as read_completion
from webapp.tools.client_tools import waiting_record

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": '{"city": "Porto"}'}
ANSWER = {"type": "function_call_output", "call_id": "c1", "output": "Sunny."}
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7, "prompt_tokens_details": {"cached_tokens": 3}}


def request(given: Any, **fields: Any) -> ResponseRequest:
    return ResponseRequest.model_validate({"input": given, **fields})


def message(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts]}


def test_a_text_is_a_question():
    asked = read(request("Hello", instructions="Be brief."))
    assert (asked.question, asked.history, asked.instructions) == ("Hello", [], "Be brief.")


def test_items_are_read_as_the_messages_of_a_completion():
    items = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {**message("assistant", "Hi."), "id": "msg_1", "status": "completed"},
        message("user", "What is this?"),
    ]
    asked = read(request(items))
    completion = Completion.model_validate(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Hi."},
                {"role": "user", "content": "What is this?"},
            ]
        }
    )
    same = read_completion(completion)
    assert (asked.history, asked.question, asked.instructions) == (same.history, same.question, same.instructions)
    assert fingerprint("", asked.lines) == fingerprint("", same.lines)


def test_what_one_side_says_in_several_items_is_one_message():
    asked = read(request([message("user", "One"), message("assistant", "Two"), *[message("user", "Three")] * 2]))
    assert asked.history == [("user", "One"), ("assistant", "Two")]
    assert asked.question == "Three\nThree"


def test_an_image_comes_along():
    url = f"data:image/png;base64,{base64.b64encode(b'one').decode()}"
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": url}]
    asked = read(request([{"role": "user", "content": parts}]))
    assert (asked.question, asked.pictures) == ("What is this?", (b"one",))


@pytest.mark.parametrize("said", [[], [message("assistant", "Let me see.")]])
@pytest.mark.parametrize("is_behind", [False, True])
def test_calls_and_what_they_came_to_are_a_round(said, is_behind):
    calls = [CALL, *said] if is_behind else [*said, CALL]
    asked = read(request([message("user", "The weather?"), *calls, ANSWER]))
    (one,) = asked.rounds
    assert asked.question == "The weather?"
    assert (one.text, one.calls[0].name, one.results) == ("Let me see." if said else "", "weather", {"c1": "Sunny."})


def test_tools_are_flat_here():
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}
    asked = read(request("Hello", tools=[tool], tool_choice={"type": "function", "name": "weather"}))
    assert asked.tools is not None
    assert asked.tools.definitions[0]["function"]["name"] == "weather"
    assert asked.tools.choice == {"type": "function", "function": {"name": "weather"}}


@pytest.mark.cases("given", "fields", "param")
def test_what_cannot_be_done_is_named_by_its_place(given, fields, param):
    with pytest.raises(UnsupportedRequest) as refused:
        read(request(given, **fields))
    assert refused.value.param == param
    assert "messages" not in str(refused.value)


def test_behind_an_earlier_response_comes_only_what_is_new():
    asked, results = read_next(request("And now?", instructions="Be brief."))
    assert (asked.question, asked.history, results, asked.instructions) == ("And now?", [], {}, "Be brief.")
    asked, results = read_next(request([ANSWER]))
    assert (asked.question, results) == ("", {"c1": "Sunny."})
    asked, results = read_next(request([ANSWER, message("user", "And now?")]))
    assert (asked.question, results) == ("And now?", {"c1": "Sunny."})
    for items in ([message("assistant", "Hi."), message("user", "Hello")], [CALL, ANSWER], []):
        with pytest.raises(UnsupportedRequest):
            read_next(request(items))


@pytest.mark.parametrize(
    ("name", "number"), [("resp_12", 12), ("resp_0", 0), ("resp_x", 0), ("12", 0), ("resp_" + "9" * 30, 0), ("", 0)]
)
def test_ids(name, number):
    assert reply_id(name) == number


def events(stream: Stream, *parts: bytes) -> list[dict[str, Any]]:
    found = []
    for part in parts:
        head, _, data = part.decode().strip().partition("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert head == f"event: {found[-1]['type']}"
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    return found


def test_the_events_of_a_reply_with_a_call():
    stream = Stream(ResponseHeader(7, 1_000, "default"))
    calls = [waiting_record("weather", '{"city": "Porto"}', "c1")]
    sent = [
        *stream.begin(),
        *stream.text("Let me "),
        *stream.text("see."),
        *stream.end("Let me see.", calls, "", USAGE),
    ]
    found = events(stream, *sent)
    assert [event["type"].removeprefix("response.") for event in found] == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *("output_text.delta", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    whole = found[-1]["response"]
    assert [item["type"] for item in whole["output"]] == ["message", "function_call"]
    assert whole["output"][1]["call_id"] == "c1"
    assert whole["usage"]["input_tokens_details"]["cached_tokens"] == 3


def test_a_reply_without_words_has_a_message_unless_it_calls():
    calls = [waiting_record("weather", "{}", "c1")]
    assert [item["type"] for item in output_of(7, "", [])] == ["message"]
    assert [item["type"] for item in output_of(7, "", calls)] == ["function_call"]
    stream = Stream(ResponseHeader(7, 1_000, "default"))
    kinds = [event["type"] for event in events(stream, *stream.begin(), *stream.end("", [], "stop", USAGE))]
    assert "response.output_text.done" in kinds


def test_a_reply_that_was_cut_is_incomplete():
    stream = Stream(ResponseHeader(7, 1_000, "default"))
    last = events(stream, *stream.begin(), *stream.text("Ab"), *stream.end("Ab", [], "length", USAGE))[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    failed = response(
        ResponseHeader(7, 1_000, "default"), "failed", error={"code": "rate_limited", "message": "Later."}
    )
    assert (failed["status"], failed["error"]["code"]) == ("failed", "rate_limit_exceeded")
