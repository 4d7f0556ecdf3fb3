"""Whole answers and structured ones, against the real scripted server."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.server import ThreadingHTTPServer
from itertools import chain, repeat
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from tests.llm.helpers import ASK, listen, settings_for
from tests.support.serving import Handler, run_server
from webapp.llm import sdk
from webapp.llm.capabilities import Capabilities
from webapp.llm.complete import CompletionClient
from webapp.llm.errors import MalformedOutput, ModelError, RateLimited, RefusedByModel
from webapp.llm.settings import ModelSettings


class Item(BaseModel):
    name: str = Field(min_length=1)
    kind: Literal["a", "b"] = "a"
    note: str | None = None


class Answer(BaseModel):
    """An answer."""

    items: list[Item] = Field(max_length=3)
    score: float = Field(ge=0, le=1, description="how sure")


GOOD = {"items": [{"name": "x", "kind": "b", "note": None}], "score": 0.5}


def formats(server):
    return [call["response_format"] for call in server.calls()]


def test_text(server, completions):
    server.script(reply="Good day 🌞")
    completion = completions.complete_text(ASK, max_tokens=100)
    assert completion.text == "Good day 🌞"
    assert completion.model == "test-background"
    assert completion.usage.completion_tokens == 3
    assert completion.usage.requests == 1
    assert server.calls()[0]["keys"] == ["max_tokens", "messages", "model"]


def test_schema_is_sent_strict_under_its_name(server, completions):
    server.script(match="^answer$", structured=GOOD)
    parsed, completion = completions.complete_structured(ASK, Answer, "answer")
    assert parsed == Answer(**GOOD)
    assert (completion.mode, completion.usage.requests) == ("json_schema", 1)
    assert server.calls()[0]["schema"] == "answer"
    assert server.calls()[0]["messages"] == ASK


@pytest.mark.cases("refused", "mode", "first_time")
def test_what_works_is_found_out_once(server, settings, completions, capabilities, refused, mode, first_time):
    server.script(structured=GOOD)
    server.script(fault={"refuse_response_format": refused})
    for _ in range(2):
        parsed, completion = completions.complete_structured(ASK, Answer, "answer")
        assert parsed == Answer(**GOOD)
        assert completion.mode == mode
    assert formats(server) == [*first_time, first_time[-1]]
    assert capabilities.structured_mode(settings.base_url, "test-background") == mode
    system = server.calls()[-1]["messages"][0]
    assert system["role"] == "system"
    assert '"score"' in system["content"]


def test_a_second_client_learns_from_the_shared_store(server, settings):
    class Store(dict):
        def set(self, key, value, ex):
            self[key] = value

    store = Store()
    server.script(structured=GOOD)
    server.script(fault={"refuse_response_format": True})
    for _ in range(2):
        client = CompletionClient(settings, Capabilities(store))
        client.complete_structured(ASK, Answer, "answer")
        client.close()
    assert formats(server) == ["json_schema", "json_object", None, None]
    assert settings.base_url not in "".join(store)


def test_fenced_json_with_prose_is_accepted(server, completions):
    server.script(reply='<think>{maybe}</think>Here you are:\n```json\n{"items": [], "score": 1}\n```\nEnjoy!')
    parsed, completion = completions.complete_structured(ASK, Answer, "answer")
    assert parsed.score == 1
    assert completion.usage.requests == 1


def test_one_repair_is_tried_and_counted(server, completions):
    server.script(structured=GOOD)
    server.script(structured={"items": [], "score": 7}, times=1)
    parsed, completion = completions.complete_structured(ASK, Answer, "answer")
    assert parsed == Answer(**GOOD)
    assert completion.usage.requests == 2
    first, second = server.calls()
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][-2]["role"] == "assistant"
    assert "score" in second["messages"][-1]["content"]


@pytest.mark.cases("reply")
def test_malformed_output_raises_after_one_repair(server, completions, reply):
    server.script(reply=reply)
    with pytest.raises(MalformedOutput):
        completions.complete_structured(ASK, Answer, "answer")
    assert len(server.calls()) == 2


@pytest.mark.cases("reply")
def test_what_is_nearly_json_is_read_at_once(server, completions, reply):
    server.script(reply=reply)
    answer, _ = completions.complete_structured(ASK, Answer, "answer")
    assert (answer.items, answer.score) == ([], 1) and len(server.calls()) == 1


def test_an_answer_cut_short_is_not_repaired(server, completions):
    server.script(structured=GOOD)
    with pytest.raises(MalformedOutput, match="cut off"):
        completions.complete_structured(ASK, Answer, "answer", max_tokens=2)
    assert len(server.calls()) == 1


def test_failures_that_pass_are_retried(server, completions):
    server.script(reply="fine")
    server.script(fault={"http_status": 500}, times=1)
    server.script(fault={"http_status": 429, "headers": {"Retry-After": "0"}}, times=1)
    assert completions.complete_text(ASK).text == "fine"
    assert [call["status"] for call in server.calls()] == [429, 500, 200]


def test_rate_limit_beyond_patience(server, completions):
    server.script(fault={"http_status": 429, "headers": {"retry-after-ms": "90000"}})
    with pytest.raises(RateLimited) as caught:
        completions.complete_text(ASK)
    assert caught.value.retry_after == 90
    assert len(server.calls()) == 1


def test_errors_that_are_not_about_the_format_are_not_blamed_on_it(server, completions, settings, capabilities):
    server.script(fault={"http_status": 401})
    with pytest.raises(ModelError) as caught:
        completions.complete_structured(ASK, Answer, "answer")
    assert caught.value.code == "unauthorized"
    assert len(server.calls()) == 1
    assert capabilities.structured_mode(settings.base_url, "test-background") is None


def test_refusal(server, completions):
    server.script(reply="I would rather", finish_reason="content_filter")
    with pytest.raises(RefusedByModel):
        completions.complete_text(ASK)


STREAMED = [
    {"model": "tea", "choices": [{"delta": {"reasoning_content": "They ask. "}}]},
    {"choices": [{"delta": {"content": '{"items": [],'}}]},
    {"choices": [{"delta": {"content": ' "score": 1}'}}]},
    {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]
CALLED = [{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": '{"items": [], "score": 1}'}}]}}]}]


WHOLE = {"choices": [{"message": {"content": {"items": [], "score": 1}}, "finish_reason": "stop"}]}
DELTA = {"choices": {"delta": {"content": '{"items": [], "score": 1}'}, "finish_reason": "stop"}}


@pytest.mark.parametrize("answer", [STREAMED, CALLED, WHOLE, DELTA])
def test_an_answer_in_another_form_is_read(server, settings, answer):
    raw = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in answer) + "data: [DONE]\n\n"
    server.script(fault={"raw": raw if isinstance(answer, list) else json.dumps(answer, indent=1)})
    parsed, completion = CompletionClient(settings).complete_structured(ASK, Answer, "answer")
    assert parsed.score == 1
    if answer is STREAMED:
        assert (completion.model, completion.usage.completion_tokens) == ("tea", 2)


def test_the_error_in_an_answer_that_is_streamed_anyway_is_said(server, settings):
    server.script(fault={"raw": 'data: {"error": {"message": "at capacity"}}\n\n'})
    with pytest.raises(ModelError, check=lambda error: "at capacity" in error.detail):
        CompletionClient(settings).complete_text(ASK)


@pytest.mark.parametrize("raw", ["{", "[]", '{"choices": []}', '{"choices": [{}]}', "<html>", 'data: {"choices": []}'])
def test_answers_that_are_none(server, settings, raw):
    server.script(fault={"raw": raw})
    client = CompletionClient(settings_for(server, max_retries=0))
    with pytest.raises(MalformedOutput):
        client.complete_text(ASK)
    client.close()


def test_timeout(server):
    server.script(first_delay=30)
    client = CompletionClient(settings_for(server, max_retries=0))
    with pytest.raises(ModelError, match="in time"):
        client.complete_text(ASK, timeout=0.2)
    client.close()


@pytest.fixture
def odd_server():
    """Yield a function that starts a server which answers everything with what a generator yields, and paths asked."""
    paths: list[str] = []
    servers = ExitStack()

    def start(pieces: Callable[[], Iterator[bytes]], status: int = 200, **headers: str) -> ModelSettings:
        class Odd(Handler):
            def do_POST(self) -> None:
                paths.append(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                with suppress(OSError):
                    for piece in pieces():
                        self.wfile.write(piece)

            do_GET = do_POST

        server = servers.enter_context(run_server(ThreadingHTTPServer(("127.0.0.1", 0), Odd)))
        return ModelSettings(base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0)

    with servers:
        yield start, paths


def test_an_answer_without_end_is_given_up(odd_server, monkeypatch):
    start, _ = odd_server
    monkeypatch.setattr(sdk, "MAX_BYTES", 1_000_000)
    bomb = gzip.compress(b" " * 50_000_000)
    for settings in (start(lambda: repeat(b" " * 65_536)), start(lambda: [bomb], Content_Encoding="gzip")):
        with pytest.raises(MalformedOutput):
            CompletionClient(settings).complete_text(ASK)


def test_an_error_without_end_is_said(odd_server):
    said = json.dumps({"error": {"message": "at capacity"}}).encode()
    settings = odd_server[0](lambda: chain([said], repeat(b" " * 65_536)), 503)
    with pytest.raises(ModelError, check=lambda error: "at capacity" in error.detail):
        CompletionClient(settings).complete_text(ASK)
    assert "at capacity" in listen(settings).error.detail


def test_an_answer_that_trickles_is_not_waited_for(odd_server):
    def trickle() -> Iterator[bytes]:
        for _ in range(50):
            yield b" "
            time.sleep(0.1)

    begin = time.monotonic()
    with pytest.raises(ModelError, match="in time"):
        CompletionClient(odd_server[0](trickle)).complete_text(ASK, timeout=0.5)
    assert time.monotonic() - begin < 4


def test_what_is_sent_goes_nowhere_else(odd_server):
    start, paths = odd_server
    with pytest.raises(ModelError):
        CompletionClient(start(list, 307, Location="/v1/elsewhere")).complete_text(ASK)
    assert paths == ["/v1/chat/completions"]


def test_close_can_be_followed_by_use(server, completions):
    completions.complete_text(ASK)
    completions.close()
    assert completions.complete_text(ASK).text
