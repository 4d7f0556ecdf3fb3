"""The server as the SDK and curl see it."""

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from pathlib import Path

import jsonschema_rs
import numpy as np
import openai
import pytest
from pydantic import BaseModel, Field

from fakemodel.script import Hold, Script
from fakemodel.server import FakeServer, serving
from fakemodel.tasks.fallback import minimal_instance
from fakemodel.testing import serve_in_thread
from tests.llm.helpers import ASK, listen
from webapp.llm.capabilities import Capabilities
from webapp.llm.complete import CompletionClient
from webapp.llm.settings import ModelSettings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def demo():
    with serve_in_thread(scripted=False) as server:
        yield server


@pytest.fixture
def demo_settings(demo):
    return ModelSettings(base_url=demo.base_url, chat_model="offline-demo", background_model="offline-demo")


def call(url, body=None, method=None):
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.loads(response.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def test_the_sdk_itself_understands_every_answer(demo):
    with openai.OpenAI(base_url=demo.base_url, api_key="x", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["offline-demo", "all-minilm-l6-v2"]
        whole = client.chat.completions.create(model="offline-demo", messages=ASK)
        assert whole.choices[0].message.content.startswith("token0 ")
        assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        with client.chat.completions.create(
            model="offline-demo", messages=ASK, stream=True, stream_options={"include_usage": True}
        ) as stream:
            chunks = list(stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == whole.choices[0].message.content
        assert chunks[0].choices[0].delta.role == "assistant"
        assert chunks[-1].usage.completion_tokens > 0
        vectors = client.embeddings.create(model="all-minilm-l6-v2", input=["a", "b"])
        assert [len(item.embedding) for item in vectors.data] == [384, 384]


def test_title_through_every_structured_mode(demo_settings):
    class Title(BaseModel):
        title: str

    messages = [{"role": "user", "content": "Hello, please explain tides to me"}]
    for mode in ("json_schema", "json_object", "text"):
        known = Capabilities()
        known.set_structured_mode(demo_settings.base_url, "offline-demo", mode)
        client = CompletionClient(demo_settings, known)
        parsed, completion = client.complete_structured(messages, Title, "conversation_title")
        client.close()
        assert (parsed.title, completion.mode) == ("Hello, please explain tides to me", mode)


def test_bad_requests_are_refused_as_openai_does(demo):
    for path, body, status in (
        ("chat/completions", b"{nope", 400),
        ("chat/completions", [], 400),
        ("chat/completions", {"model": "offline-demo"}, 400),
        ("chat/completions", {"model": "offline-demo", "messages": []}, 400),
        ("chat/completions", {"model": "gpt-9", "messages": ASK}, 404),
        ("embeddings", {"model": "gpt-9", "input": "x"}, 404),
        ("embeddings", {"model": "all-minilm-l6-v2", "input": [1]}, 400),
    ):
        code, answer = call(f"{demo.base_url}/{path}", body)
        assert code == status, (path, body)
        assert answer["error"]["message"], (path, body)


def test_health_and_no_script_without_scripted(demo):
    root = demo.base_url.removesuffix("/v1")
    assert call(f"{root}/healthz")[1]["status"] == "ok"
    for path in ("_calls", "_script"):
        with pytest.raises(urllib.error.HTTPError) as caught, urllib.request.urlopen(f"{root}/{path}"):
            pass
        with caught.value:
            assert caught.value.code == 404


def test_script_over_http(server):
    root = server.base_url.removesuffix("/v1")
    rules = [{"match": "hello", "reply": "from http"}, {"path": "embeddings", "fault": {"http_status": 418}}]
    assert call(f"{root}/_script", rules) == (201, {"added": 2})
    answer = call(f"{server.base_url}/chat/completions", {"model": "m", "messages": ASK})[1]
    assert answer["choices"][0]["message"]["content"] == "from http"
    assert call(f"{server.base_url}/embeddings", {"model": "m", "input": "x"})[0] == 418
    calls = call(f"{root}/_calls")[1]["calls"]
    assert [(c["path"], c["status"]) for c in calls] == [("chat", 200), ("embeddings", 418)]
    assert calls[0]["at"] <= calls[0]["ended"]
    assert call(f"{root}/_script", method="DELETE")[0] == 204
    assert call(f"{root}/_calls")[1] == {"calls": []}
    for wrong in ({"reply_": "x"}, {"match": "("}, {"fault": {"what": 1}}, [3]):
        assert call(f"{root}/_script", wrong)[0] == 400


def test_rules_are_used_newest_first_and_so_many_times(server, completions):
    server.script(reply="always")
    server.script(match="hello", reply="twice", times=2)
    server.script(match="something else", reply="never")
    assert [completions.complete_text(ASK).text for _ in range(3)] == ["twice", "twice", "always"]


def test_stamps_are_numbered_and_timed_when_sent(server, settings):
    server.script(tokens=5, stamp=True, tokens_per_second=100)
    stamps = [token.split(":") for token in listen(settings).text.split()]
    assert [int(number) for number, _ in stamps] == list(range(5))
    times = [int(time) for _, time in stamps]
    assert times == sorted(times)
    assert times[4] - times[0] > 20_000_000


def test_a_question_waits_for_one_page_of_a_document_at_most(monkeypatch):
    embedded, begun, goes_on = [], threading.Event(), threading.Event()

    def embed(_server, text):
        embedded.append(text)
        begun.set()
        assert goes_on.wait(10)
        return np.zeros(384, np.float32)

    monkeypatch.setattr(FakeServer, "_embed", embed)
    with serve_in_thread() as server, ThreadPoolExecutor(2) as clients:
        ask = partial(call, f"{server.base_url}/embeddings")
        pages = clients.submit(ask, {"model": "m", "input": [f"page {number}" for number in range(20)]})
        assert begun.wait(10)
        question = clients.submit(ask, {"model": "m", "input": "question"})
        server.wait_for(lambda calls: len(calls) == 2)
        goes_on.set()
        assert question.result()[0] == pages.result()[0] == 200
        assert len(pages.result()[1]["data"]) == 20
    assert embedded[:3] == ["page 0", "question", "page 1"]


class Kind(Enum):
    ONE = "one"


class Inner(BaseModel):
    when: str = Field(json_schema_extra={"format": "date"})
    share: float = Field(gt=0, lt=1)
    count: int = Field(ge=3)


class Outer(BaseModel):
    name: str = Field(min_length=4)
    kind: Kind
    inner: Inner
    many: list[Inner] = Field(min_length=2)
    maybe: str | None
    choice: Inner | Kind
    extra: dict[str, int]


def test_schemas_without_a_task_get_a_valid_instance(demo_settings):
    schema = Outer.model_json_schema()
    instance = minimal_instance(schema)
    jsonschema_rs.validate(schema, instance)
    Outer.model_validate(instance)
    client = CompletionClient(demo_settings)
    parsed, _ = client.complete_structured(ASK, Outer, "unheard_of")
    client.close()
    assert parsed.inner.count == 3


def test_the_process_starts_light_and_stops_on_sigterm():
    # -X importtime lists every module on stderr: none of the heavy ones may be among them
    command = [sys.executable, "-X", "importtime", "-m", "fakemodel", "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        seen = []
        for line in process.stderr:
            seen.append(line)
            if "fake model on http://" in line:
                break
        address = seen[-1].split(" on ")[1].strip()
        status, answer = call(f"{address}/chat/completions", {"model": "offline-demo", "messages": ASK})
        assert status == 200
        assert answer["choices"][0]["message"]["content"].startswith("token0 ")
    finally:
        process.terminate()
        rest = process.stderr.read()
        process.stderr.close()
    assert process.wait(20) == 0
    modules = {
        line.rsplit("|", 1)[1].strip() for line in [*seen, *rest.splitlines()] if line.startswith("import time:")
    }
    assert "aiohttp" in modules
    assert not modules & {"flask", "sqlalchemy", "openai", "pydantic", "numpy", "onnxruntime", "redis"}


def test_a_held_reply_waits_until_it_is_let_go_on():
    hold = Hold(after=2)
    with serve_in_thread() as server, openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0) as client:
        server.script(reply=["one ", "two ", "three ", "four"], hold=hold)
        with client.chat.completions.create(model="m", messages=ASK, stream=True) as stream:
            words = (chunk.choices[0].delta.content for chunk in stream if chunk.choices[0].delta.content)
            assert [next(words), next(words)] == ["one ", "two "]
            assert server.calls()[0]["outcome"] == "open"
            hold.release()
            assert list(words) == ["three ", "four"]
        server.wait_for(lambda calls: calls[0]["outcome"] == "complete" and calls[0]["sent"] == 5)


@pytest.mark.parametrize("turns", range(8))
def test_a_connection_accepted_as_the_server_stops_is_closed(turns):
    """The event loop has had so many turns since it came."""

    async def serve():
        with socket.socket() as client:
            async with serving(FakeServer(script=Script()), "127.0.0.1", 0) as port:
                client.connect(("127.0.0.1", port))
                for _ in range(turns):
                    await asyncio.sleep(0)
            client.settimeout(5)
            with contextlib.suppress(ConnectionResetError):  # it was never accepted
                assert client.recv(1) == b""

    asyncio.run(serve())
