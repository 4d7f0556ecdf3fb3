"""The screen tour's server, as the product's clients and OpenAI's see it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import openai
import pytest
from pydantic import BaseModel

from testkit.processes import free_port
from tests.llm.helpers import ASK, listen
from webapp.llm.complete import CompletionClient
from webapp.llm.errors import NoModel
from webapp.llm.settings import ModelSettings
from webapp.tour import answers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(address: str) -> ModelSettings:
    return ModelSettings(base_url=address, api_key="none", chat_model=answers.MODEL, background_model=answers.MODEL)


def test_a_reply_is_streamed_in_pieces(settings):
    """Counted as they are sent: a reader that is slow takes several for one."""
    wanted = answers.reply_to(ASK, "en", is_admin=False)
    assert listen(settings).text == wanted
    body = {"model": answers.MODEL, "messages": ASK, "stream": True}
    sent = httpx2.post(f"{settings.base_url}/chat/completions", json=body).text
    lines = [line.removeprefix("data: ") for line in sent.splitlines() if line.startswith("data: {")]
    pieces = [json.loads(line)["choices"][0]["delta"].get("content", "") for line in lines]
    assert len(list(filter(None, pieces))) > 10 and "".join(pieces) == wanted


def test_openais_own_client_understands_it(address):
    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == [answers.MODEL]
        told = {"language": "fr", "is_admin": "yes"}
        with client.chat.completions.create(model="any", messages=ASK, stream=True, metadata=told) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        assert text == answers.reply_to(ASK, "fr", is_admin=True)


def test_any_other_task_is_refused_at_once_for_want_of_a_model(settings):
    class Title(BaseModel):
        title: str

    client = CompletionClient(settings)
    with pytest.raises(NoModel) as structured:
        client.complete_structured(ASK, Title, "conversation_title")
    with pytest.raises(NoModel) as plain:
        client.complete_text(ASK)
    client.close()
    assert not structured.value.retryable and not plain.value.retryable


def test_bad_requests_are_refused_as_openai_does(address):
    bodies = (b"{nope", b"[]", b"{}", b'{"messages": []}', b'{"messages": ["x"]}')
    for path, body in (*(("chat/completions", body) for body in bodies), ("elsewhere", b"")):
        answer = httpx2.post(f"{address}/{path}", content=body)
        assert answer.status_code == 400 and answer.json()["error"]["message"], (path, body)


def test_the_process_starts_light_and_stops_on_sigterm():
    port = free_port()
    # -X importtime lists every module on stderr: none of the heavy ones may be among them.
    command = [sys.executable, "-X", "importtime", "-m", "webapp.tour.server", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            try:
                assert httpx2.get(f"http://127.0.0.1:{port}/v1/models").status_code == 200
                break
            except httpx2.TransportError:
                time.sleep(0.05)
    finally:
        process.terminate()
        _, logged = process.communicate(timeout=60)
    assert process.returncode == 0
    modules = {line.rsplit("|", 1)[1].strip() for line in logged.splitlines() if line.startswith("import time:")}
    assert "http.server" in modules
    assert not modules & {"aiohttp", "flask", "sqlalchemy", "openai", "pydantic", "numpy", "onnxruntime", "redis"}
