"""The server as the SDK and curl see it."""

import asyncio
import contextlib
import json
import socket
import urllib.error
import urllib.request

import openai
import pytest

from fakemodel.script import Script
from fakemodel.server import FakeServer, serving
from fakemodel.testing import serve_in_thread
from tests.llm.helpers import ASK, listen


@pytest.fixture(scope="module")
def demo():
    with serve_in_thread(scripted=False) as server:
        yield server


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


@pytest.mark.parametrize("turns", range(8))
def test_a_connection_accepted_as_the_server_stops_is_closed(turns):
    """The event loop has had so many turns since it came."""

    async def serve():
        with socket.socket() as client:
            async with serving(FakeServer(Script()), "127.0.0.1", 0) as port:
                client.connect(("127.0.0.1", port))
                for _ in range(turns):
                    await asyncio.sleep(0)
            client.settimeout(5)
            with contextlib.suppress(ConnectionResetError):  # it was never accepted
                assert client.recv(1) == b""

    asyncio.run(serve())
