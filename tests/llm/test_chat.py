"""Streaming against the real scripted server over loopback."""

import asyncio
import socket
import ssl
import threading
import time
from contextlib import aclosing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import trustme

from fakemodel.testing import serve_in_thread
from tests.llm.helpers import ASK, listen, settings_for
from webapp.llm import sdk
from webapp.llm.capabilities import Capabilities
from webapp.llm.chat import ChatClient
from webapp.llm.errors import InterruptedAnswer, ModelUnavailable
from webapp.llm.events import TextDelta
from webapp.llm.settings import ModelSettings
from webapp.llm.usage import Usage

TOOLS = [{"type": "function", "function": {"name": "remember", "parameters": {"type": "object", "properties": {}}}}]


def test_text_arrives_whole_and_ends_with_finish(server, settings):
    heard = listen(settings)
    assert heard.text == "".join(f"token{number} " for number in range(20))
    assert heard.error is None
    assert heard.finish.reason == "stop"
    assert heard.finish.usage == Usage(5, 20)
    assert heard.finish.model == "test-chat"
    (call,) = server.wait_for(lambda calls: calls[0]["outcome"] == "complete")
    assert call["messages"] == ASK
    assert call["keys"] == ["messages", "model", "stream", "stream_options"]


def test_tokens_are_delivered_as_they_come_not_at_the_end(server, settings):
    server.script(reply=["one ", "two ", "three "], fault={"hang_after": 2})

    async def run():
        client = ChatClient(settings)
        seen = ""
        async with aclosing(client.stream(ASK)) as events:
            async for event in events:
                seen += event.text
                if seen == "one two ":
                    break
        await client.aclose()
        return seen

    assert asyncio.run(run()) == "one two "


def test_a_call_written_as_text_is_made_and_never_shown(server, settings):
    written = ["Sure. ", "\n<tool", '_call>{"name": "remem', 'ber", "arguments": {"content": "tea"}}', "</tool_call>"]
    server.script(reply=written)
    heard = listen(settings, tools=TOOLS)
    assert heard.text.strip() == "Sure."
    assert [(call.name, call.arguments) for call in heard.calls] == [("remember", '{"content": "tea"}')]
    assert heard.events[-1] is heard.finish
    server.script(reply=written)
    assert "<tool_call>" in listen(settings).text  # where no tool is offered, text is text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_characters_cut_across_reads_stay_whole(server, settings, size):
    text = 'naïve 🎉👩‍👩‍👧 漢字\u2028\u0085 end\r\n\t"quoted" \\ '
    server.script(reply=text, token_delay=0.0005, fault={"split_bytes": size})
    assert listen(settings).text == text


def test_model_and_token_limit_are_passed_on(server, settings):
    heard = listen(settings, model="other", max_tokens=3)
    assert heard.text == "token0 token1 token2 "
    assert heard.finish.reason == "length"
    assert server.calls()[0]["model"] == "other"


def test_tool_calls_come_whole_after_the_text(server, settings):
    server.script(
        reply="Let me see. ",
        tool_calls=[{"name": "remember", "arguments": {"fact": "likes 漢字"}}, {"name": "other", "arguments": "{bad"}],
    )
    heard = listen(settings, tools=TOOLS)
    assert heard.text == "Let me see. "
    assert [(call.name, call.arguments) for call in heard.calls] == [
        ("remember", '{"fact": "likes 漢字"}'),
        ("other", "{bad"),
    ]
    assert heard.calls[0].id == "call_1"
    assert heard.finish.reason == "tool_calls"


def test_server_that_ignores_streaming(server, settings):
    body = (
        '{"id":"x","model":"m","choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}]}'
    )
    server.script(fault={"raw": body})
    heard = listen(settings)
    assert (heard.text, heard.finish.reason) == ("whole", "stop")


HALF = 'data: {"choices":[{"delta":{"content":"half"}}]}\n\n'
DROPPED = [({"cut_after": 4}, "token0 token1 token2 token3 "), ({"raw": HALF}, "half")]


@pytest.mark.parametrize(("fault", "text"), DROPPED)
def test_a_stream_that_is_dropped_or_has_no_end_is_an_interruption_that_keeps_the_text(server, settings, fault, text):
    server.script(fault=fault, token_delay=0.002)
    heard = listen(settings)
    assert heard.text == text
    assert isinstance(heard.error, InterruptedAnswer) and heard.error.code == "interrupted" and heard.error.retryable
    assert len(server.calls()) == 1, "a reply that has begun must not be asked for again"


def test_error_object_in_the_stream(server, settings):
    server.script(
        fault={"error": {"message": "Overloaded sk-abc", "type": "server_error", "code": 503}, "error_after": 2}
    )
    heard = listen(settings)
    assert heard.text == "token0 token1 "
    assert (heard.error.code, heard.error.retryable) == ("model_unavailable", True)
    assert "sk-abc" not in heard.error.detail


def test_error_object_before_any_text_is_retried(server, settings):
    server.script(fault={"error": {"message": "busy", "type": "server_error"}}, times=1)
    heard = listen(settings)
    assert heard.error is None
    assert heard.text.startswith("token0 ")
    assert len(server.calls()) == 2


@pytest.mark.cases("raw")
def test_what_is_not_a_stream_is_malformed(server, settings, raw):
    server.script(fault={"raw": raw})
    heard = listen(settings)
    assert heard.error.code == "malformed_output"
    assert heard.text == ""


def test_silence_between_tokens_is_an_interruption(server):
    server.script(fault={"hang_after": 2})
    heard = listen(settings_for(server, idle_timeout=0.2))
    assert heard.text == "token0 token1 "
    assert isinstance(heard.error, InterruptedAnswer)
    server.wait_for(lambda calls: calls[0]["outcome"] == "disconnected")


@pytest.mark.parametrize("fault", [{"no_done": True}, {"cut_after": 4}, {"hang_after": 4}], ids=str)
def test_an_answer_that_said_it_is_done_is_whole_however_its_connection_ends(server, monkeypatch, fault):
    monkeypatch.setattr("webapp.llm.chat.TAIL", 0.2)
    server.script(reply="all of it", fault=fault)
    heard = listen(settings_for(server))
    assert (heard.text, heard.error, heard.finish.reason) == ("all of it", None, "stop")


@pytest.mark.parametrize(("whole", "text"), [(60.0, "done"), (0.5, "")])
def test_a_server_that_sends_comments_is_not_silent_but_not_waited_for_without_end(server, whole, text):
    said = 'data: {"choices":[{"delta":{"content":"done"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    server.script(token_delay=0.05, fault={"raw": ": ping\n\n" * 45 + said, "split_bytes": 8})
    heard = listen(settings_for(server, first_token_timeout=2.0, request_timeout=whole, max_retries=0))
    assert heard.text == text
    assert (heard.error is None) == bool(text) and (text or "in time" in heard.error.detail)


def test_a_silent_model_is_reported_after_one_time_limit_however_many_tries_there_are(server):
    """The clock is put forward whenever a call has arrived: a busy machine is not what is given up."""
    server.script(first_delay=600)
    server.script(fault={"http_status": 503}, times=1)
    patience = 60.0

    async def run():
        loop, ahead = asyncio.get_running_loop(), 0.0
        loop.time = lambda: time.monotonic() + ahead
        client = ChatClient(settings_for(server, first_token_timeout=patience, max_retries=5))

        async def put_forward():
            nonlocal ahead
            await asyncio.to_thread(server.wait_for, lambda calls: len(calls) >= 2, 60.0)
            while True:  # the client may begin to wait only after the call has arrived
                ahead += patience + 1
                await asyncio.to_thread(time.sleep, 0.05)

        clock = asyncio.create_task(put_forward())
        with pytest.raises(ModelUnavailable) as failed:
            async for _ in client.stream(ASK):
                pass
        clock.cancel()
        await client.aclose()
        return failed.value

    error = asyncio.run(run())
    assert (error.code, error.retryable) == ("model_unavailable", True)
    assert "in time" in error.detail
    server.wait_for(lambda calls: [call["outcome"] for call in calls][1:] == ["disconnected"])


def test_retries_are_counted_and_stop(server, settings):
    server.script(fault={"http_status": 503})
    heard = listen(settings)
    assert heard.error.code == "model_unavailable"
    assert len(server.calls()) == 1 + settings.max_retries


def test_retry_after_is_honoured_when_short(server, settings):
    server.script(fault={"http_status": 429, "headers": {"Retry-After": "0.3"}}, times=1)
    assert listen(settings).error is None
    first, second = server.calls()
    assert second["at"] - first["ended"] >= 0.29


def test_retry_after_is_handed_on_when_long(server, settings):
    server.script(fault={"http_status": 429, "headers": {"Retry-After": "3600", "X-Prompt": "x" * 9_000}})
    heard = listen(settings)
    assert (heard.error.code, heard.error.retry_after, heard.error.retryable) == ("rate_limited", 3600.0, True)
    assert len(server.calls()) == 1


@pytest.mark.cases("status", "body", "code")
def test_lasting_errors_are_typed_not_retried_and_leak_nothing(server, settings, status, body, code):
    server.script(fault={"http_status": status, "body": body})
    heard = listen(settings, max_tokens=9)
    assert heard.error.code == code
    assert not heard.error.retryable
    assert len(server.calls()) == 1
    assert "sk-" not in str(heard.error)
    assert settings.base_url not in str(heard.error)
    assert heard.error.__cause__ is None


def test_missing_key_is_told_from_a_wrong_one_and_for_openai_nobody_is_asked(server):
    server.script(fault={"http_status": 401})
    assert listen(settings_for(server, api_key="")).error.code == "missing_key"
    heard = listen(ModelSettings())
    assert heard.error.code == "missing_key"
    assert "OPENAI_API_KEY" in heard.error.detail


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(server, settings, monkeypatch):
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    assert listen(settings_for(server, base_url="http://models.example/v1")).error is None
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert listen(settings).error is None


@pytest.mark.parametrize("exception", ["models.lan", "models.lan:8000", ".lan"])
def test_a_server_that_needs_no_proxy_is_asked_directly(monkeypatch, exception):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", f"x.org, {exception}")
    assert sdk._proxy("http://models.lan:8000/v1") is None
    assert sdk._proxy("http://models.land:8000/v1") == "http://127.0.0.1:9"


def test_a_proxy_on_the_way_to_a_server_with_https_does_not_see_the_key(settings, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{proxy.getsockname()[1]}")
        sent = []

        def refuse():
            connection, _ = proxy.accept()
            with connection:
                sent.append(connection.recv(4096))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        options = {"api_key": "sk-secret", "headers": (("X-Team", "team-secret"),), "max_retries": 0}
        assert listen(replace(settings, base_url="https://models.example/v1", **options)).error is not None
        thread.join(5)
    assert sent[0].startswith(b"CONNECT models.example:443")
    assert b"secret" not in sent[0]


@pytest.mark.parametrize(("is_trusted", "code"), [(True, "unauthorized"), (False, "model_unavailable")])
def test_certificates_are_trusted_as_they_are_for_all_other_work(settings, monkeypatch, tmp_path, is_trusted, code):
    authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_error(401)

    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    sdk.certificates.cache_clear()
    try:
        with HTTPServer(("localhost", 0), Refusing) as server:
            server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.handle_request, daemon=True).start()
            heard = listen(replace(settings, base_url=f"https://localhost:{server.server_port}/v1", max_retries=0))
    finally:
        sdk.certificates.cache_clear()
    assert heard.error.code == code


def test_a_name_and_password_in_the_address_are_sent_instead_of_the_key(server):
    assert listen(settings_for(server, base_url=server.base_url.replace("://", "://ann:pass@"))).error is None


@pytest.mark.parametrize("host", ["127.0.0.1:9", "nowhere.invalid"])
def test_server_that_is_not_there_could_not_be_reached(server, host):
    heard = listen(settings_for(server, base_url=f"http://{host}/v1", max_retries=1))
    assert (heard.error.code, heard.error.retryable) == ("model_unavailable", True)
    assert heard.error.detail == ModelUnavailable.default_detail


@pytest.mark.parametrize(
    ("fault", "options", "gone"),
    [("refuse_stream_options", {}, "stream_options"), ("refuse_max_tokens", {"max_tokens": 50}, "max_tokens")],
)
def test_what_a_server_refuses_is_left_out_and_asked_once(server, settings, fault, options, gone):
    server.script(fault={fault: True})
    capabilities = Capabilities()
    heard = listen(settings, capabilities, times=2, **options)
    assert heard.error is None
    assert heard.text.startswith("token0 ")
    assert [gone in call["keys"] for call in server.calls()] == [True, False, False]
    assert not capabilities.accepts(settings.base_url, "test-chat", gone)
    if gone == "max_tokens":
        assert "max_completion_tokens" in server.calls()[1]["keys"]


def test_cancelling_frees_the_model_at_once(server, settings):
    server.script(tokens=1000, tokens_per_second=50)

    async def run():
        client = ChatClient(settings)
        started = asyncio.Event()

        async def consume():
            async for event in client.stream(ASK):
                assert isinstance(event, TextDelta)
                started.set()

        task = asyncio.create_task(consume())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # the client stays open: the stream must be closed by the cancellation itself
        calls = await asyncio.to_thread(server.wait_for, lambda calls: calls[0]["outcome"] == "disconnected")
        await client.aclose()
        return calls

    (call,) = asyncio.run(run())
    assert call["sent"] < 1000


def test_cancelling_while_waiting_for_the_first_token(server, settings):
    server.script(first_delay=60)

    async def run():
        client = ChatClient(settings)
        task = asyncio.create_task(anext(client.stream(ASK)))
        await asyncio.to_thread(server.wait_for, lambda calls: len(calls) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(server.wait_for, lambda calls: calls[0]["outcome"] == "disconnected")
        await client.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(("slots", "count"), [(1, 3), (120, 120)])
def test_streams_at_once_keep_their_order_and_show_whether_the_server_answers_together(slots, count):

    async def one(client):
        return "".join([event.text async for event in client.stream(ASK) if isinstance(event, TextDelta)])

    async def run():
        client = ChatClient(settings)
        texts = await asyncio.gather(*(one(client) for _ in range(count)))
        await client.aclose()
        assert client.capabilities.answers_together(settings.base_url) is (slots > 1)
        return texts

    with serve_in_thread(slots=slots) as server:
        settings = settings_for(server)
        server.script(tokens=30, stamp=True, tokens_per_second=200)
        heard = asyncio.run(run())
    for text in heard:
        assert [int(token.split(":")[0]) for token in text.split()] == list(range(30))


def test_the_connection_is_used_again(server, settings):
    heard = listen(settings, times=3)
    assert heard.error is None
    assert len({call["connection"] for call in server.calls()}) == 1


def test_a_model_that_thinks_aloud_is_not_given_up(server):
    thought = 'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n'
    said = 'data: {"choices":[{"delta":{"content":"done"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    server.script(token_delay=0.1, fault={"raw": thought * 15 + said, "split_bytes": len(thought)})
    heard = listen(settings_for(server, first_token_timeout=1.0, idle_timeout=1.0, max_retries=0))
    assert (heard.text, heard.error) == ("done", None)


def test_one_client_serves_several_event_loops(server, settings):
    client = ChatClient(settings)

    async def ask():
        heard = [event async for event in client.stream(ASK)]
        await client.aclose()
        return len(heard)

    assert asyncio.run(ask()) > 1
    assert asyncio.run(ask()) > 1
