"""What OpenAI's clients set for a reply reaches the model, as far as it takes it; what cannot be done is said."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from fakemodel.testing import ServerHandle
from tests.gateway.test_completions import ask
from webapp.providers.clients import completions

SET = {
    "temperature": 0.2,
    "top_p": 0.9,
    "max_tokens": 5,
    "seed": 42,
    "frequency_penalty": 0.5,
    "presence_penalty": -0.5,
    "reasoning_effort": "low",
    "verbosity": "low",
}


@pytest.fixture(autouse=True)
def _nothing_known(app: Flask) -> Iterator[None]:
    known = completions.of(app).capabilities._cache
    known.clear()
    yield
    known.clear()


def asked_of_the_model(model: ServerHandle) -> dict[str, Any]:
    """The last request for a reply that was answered: its plain values, and the names of all its fields."""
    calls = [call for call in model.calls() if call["path"] == "chat" and call["stream"] and call["status"] == 200]
    return {**calls[-1]["values"], "keys": set(calls[-1]["keys"])}


def test_parameters_of_a_completion_reach_the_model(client, model):
    answer = ask(client, ("user", "One"), **SET, stop=["END"])
    assert answer.status_code == 200
    assert answer.get_json()["choices"][0]["finish_reason"] == "length"  # five tokens, and the model had more to say
    sent = asked_of_the_model(model)
    assert sent | SET == sent
    assert "stop" in sent["keys"]
    ask(client, ("user", "Two"))
    assert not asked_of_the_model(model)["keys"] & (SET.keys() - {"max_tokens"})  # they were for that reply only


def test_the_same_question_with_other_parameters(client, model):
    ask(client, ("user", "One"))
    first = client.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "Two"}], "seed": 1})
    history = [("user", "Two"), ("assistant", first.get_json()["choices"][0]["message"]["content"])]
    ask(client, *history, ("user", "Three"), seed=2, temperature=0.1)
    ask(client, *history, ("user", "Three"), seed=3)
    sent = asked_of_the_model(model)
    assert sent["seed"] == 3
    assert "temperature" not in sent["keys"]


def test_what_a_model_refuses_is_left_out(client, model):
    model.imitate("max_completion_tokens")
    answer = ask(client, ("user", "One"), **SET, stop="END")
    assert answer.status_code == 200, answer.text
    sent = asked_of_the_model(model)
    assert sent["max_completion_tokens"] == 5
    assert (sent["seed"], sent["reasoning_effort"]) == (42, "low")
    assert not sent["keys"] & {"temperature", "top_p", "max_tokens", "frequency_penalty", "presence_penalty", "stop"}


def test_tokens_that_include_thoughts_get_no_room_on_top(client, model):
    model.imitate("reasoning fields")
    ask(client, ("user", "One"))  # it was seen to think
    ask(client, ("user", "Two"), max_tokens=50)
    assert asked_of_the_model(model)["max_tokens"] > 50
    ask(client, ("user", "Three"), max_completion_tokens=60)
    assert asked_of_the_model(model)["max_tokens"] == 60


def test_parameters_of_a_response_reach_the_model_and_are_said(client, model):
    body = {
        "input": "One",
        "temperature": 0.2,
        "top_p": 0.9,
        "max_output_tokens": 5,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low"},
    }
    answer = client.post("/v1/responses", json=body).get_json()
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    expected = {"temperature": 0.2, "top_p": 0.9, "max_tokens": 5, "reasoning_effort": "low", "verbosity": "low"}
    sent = asked_of_the_model(model)
    assert sent | expected == sent
    for told in (answer, client.get(f"/v1/responses/{answer['id']}").get_json()):
        assert (told["temperature"], told["top_p"], told["max_output_tokens"]) == (0.2, 0.9, 5)
        assert told["reasoning"]["effort"] == told["text"]["verbosity"] == "low"
    second = client.post("/v1/responses", json={"input": "Two", "previous_response_id": answer["id"], "top_p": 0.5})
    assert second.status_code == 200
    assert asked_of_the_model(model)["top_p"] == 0.5


def test_what_cannot_be_done_is_refused_by_name(client, model):
    numbers = [("n", 2), ("temperature", 3), ("top_p", -1), ("max_tokens", 0), ("max_tokens", True), ("seed", 2**64)]
    texts = [("stop", [""]), ("reasoning_effort", "utmost"), ("logprobs", True), ("modalities", ["text", "audio"])]
    for field, value in (*numbers, *texts, ("functions", [{"name": "f"}])):
        answer = ask(client, ("user", "One"), **{field: value})
        assert (field, answer.status_code) == (field, 400)
        assert answer.get_json()["error"]["param"].partition(".")[0] == field
    error = ask(client, ("user", "One"), stop=["x"] * 20).get_json()["error"]
    assert (error["param"], error["message"].partition(" items")[0]) == ("stop", "stop: List should have at most 16")
    assert model.calls() == []


def test_a_retry_keeps_what_was_set_for_the_reply(client, model, run_jobs):
    conversation = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    model.script(match="Falter", fault={"http_status": 400}, times=1)
    body = {"content": "Falter", "parameters": {"seed": 4, "max_tokens": 300}}
    sent = client.post(f"/api/conversations/{conversation}/messages", json=body).get_json()
    client.get(f"/api/messages/{sent['message']['message_id']}/response?wait=20")
    assert client.post(f"/api/chat/turns/{sent['response_id']}/retry").status_code == 202
    client.get(f"/api/messages/{sent['message']['message_id']}/response?wait=20")
    assert asked_of_the_model(model)["seed"] == 4
    run_jobs()
    refused = client.post(
        f"/api/conversations/{conversation}/messages", json={"content": "x", "parameters": {"warmth": 1}}
    )
    assert refused.status_code == 422
