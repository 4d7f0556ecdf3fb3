"""Traces: what is told of a request, its turn and its jobs, what is not, and how it reaches a collector."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from testkit.people import ApiClient
from tests.chat.helpers import wait_for_end
from webapp.background.job_specs import JobRequest, push
from webapp.config import ConfigError, Settings
from webapp.extensions import redis
from webapp.llm.errors import ModelUnavailable
from webapp.telemetry import tracing
from webapp.telemetry.otlp import MOST_WAITING, Sender, as_otlp
from webapp.telemetry.request_spans import trace_requests
from webapp.telemetry.tracing import Span

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Kept:
    """A collector within the test."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.flushed = 0

    def add(self, span: Span) -> None:
        self.spans.append(span)

    def flush(self) -> None:
        self.flushed += 1

    def named(self, name: str) -> Span:
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, (name, [span.name for span in self.spans])
        return found[0]

    def below(self, parent: Span) -> set[str]:
        return {span.name for span in self.spans if span.parent_id == parent.span_id}


@pytest.fixture
def kept() -> Iterator[Kept]:
    """Tracing, switched on."""
    found = Kept()
    tracing.use(found)
    yield found
    tracing.use(None)
    tracing.make_current(None)


@pytest.fixture
def traced_app(app: Flask, kept: Kept) -> Iterator[Flask]:
    """The application with a span for each request, as behind a proxy."""
    hooks = (app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs)
    before = [list(found.get(None, [])) for found in hooks]
    app._got_first_request = False
    trace_requests(app, believes=True)
    app.before_request_funcs[None].insert(0, app.before_request_funcs[None].pop())
    yield app
    for found, was in zip(hooks, before, strict=True):
        found[None] = was  # type: ignore[assignment]  # three dictionaries of the same shape


def test_from_a_request_to_its_turn_to_its_jobs(
    traced_app: Flask, kept: Kept, client: ApiClient, run_jobs: Callable[..., object]
) -> None:
    conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
    kept.spans.clear()
    sent = client.post(
        f"/api/conversations/{conversation_id}/messages",
        json={"content": "My heron is called Zebedee."},
        headers={"traceparent": PARENT},
    )
    wait_for_end(traced_app, sent.json["response_id"])
    run_jobs()

    asked = kept.named("POST /api/conversations/<int:conversation_id>/messages")
    assert (asked.trace_id, asked.parent_id) == (PARENT[3:35], PARENT[36:52])
    assert asked.attributes["http.response.status_code"] == 202
    turn = kept.named("turn")
    assert turn.parent_id == asked.span_id
    assert turn.attributes["commonplace.turn.status"] == "complete"
    assert turn.attributes["commonplace.turn.first_token_ms"] >= 0
    assert turn.attributes["commonplace.turn.tokens.output"] > 0
    model = kept.named("chat")
    assert model.parent_id == turn.span_id and model.kind == "client"
    assert model.attributes["gen_ai.response.model"] == "test-chat"
    assert model.attributes["gen_ai.usage.output_tokens"] > 0
    retrieval = kept.named("retrieval")
    assert retrieval.parent_id == turn.span_id
    begun = kept.named("retrieval.begin")
    assert begun.parent_id == turn.span_id
    assert any(name.startswith("SELECT ") for name in kept.below(begun))
    extraction = kept.named("job extract")
    assert extraction.parent_id == turn.span_id and extraction.kind == "consumer"
    about = extraction.attributes
    assert (about["commonplace.job.outcome"], about["commonplace.job.try"]) == ("done", 1)
    assert about["commonplace.job.queue"] == "turn" and about["commonplace.job.wait_seconds"] >= 0
    assert {"complete", "redis"} <= kept.below(extraction)
    assert "INSERT messages" in kept.below(asked)
    of_it = [span for span in kept.spans if span.trace_id == asked.trace_id]
    assert {span.attributes["db.system.name"] for span in of_it if "db.system.name" in span.attributes} >= {"redis"}
    assert all(span.began_ns <= span.ended_ns for span in of_it)
    assert kept.flushed >= 1  # a job's process ends with it


def test_nothing_that_anybody_wrote_is_told(
    traced_app: Flask, kept: Kept, client: ApiClient, anonymous: FlaskClient, run_jobs: Callable[..., object]
) -> None:
    client.post("/api/memories", json={"memory_type": "fact", "content": "Zebedee is a heron"})
    conversation_id = client.post("/api/conversations", json={"title": "Zebedee"}).json["conversation_id"]
    path = f"/api/conversations/{conversation_id}/messages?note=Zebedee"
    sent = client.post(path, json={"content": "Who is Zebedee, please?"})
    wait_for_end(traced_app, sent.json["response_id"])
    run_jobs()
    client.get("/api/search?q=Zebedee")
    shared = client.post(f"/api/conversations/{conversation_id}/shares", json={"audience": "anyone"})
    secret = shared.json["url"].rpartition("/")[2]
    assert anonymous.get(f"/s/{secret}").status_code == 200
    anonymous.get("/Zebedee/nowhere")
    told = json.dumps(as_otlp(kept.spans, "commonplace"))
    assert "GET /s/<token>" in told or "GET /s/<" in told
    for private in ("Zebedee", "heron", "example.org", secret, client.token if hasattr(client, "token") else secret):
        assert private not in told


def test_a_job_that_fails_is_marked_and_says_which_try_it_was(
    traced_app: Flask, kept: Kept, run_jobs: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ModelUnavailable()

    monkeypatch.setattr("webapp.shell.upkeep.sweep", fail)
    with traced_app.app_context():
        push(redis(), JobRequest("sweep"))
    run_jobs(failures=True)
    first = next(span for span in kept.spans if span.name == "job sweep")
    assert first.has_failed and first.attributes["error.type"] == "ModelUnavailable"
    assert first.attributes["commonplace.job.outcome"] == "again"


def test_a_strangers_trace_is_not_believed(app: Flask, traced_app: Flask, kept: Kept, anonymous: FlaskClient) -> None:
    for given in ("nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01", PARENT.upper(), PARENT + "-01", ""):
        anonymous.get("/login", headers={"traceparent": given})
        span = kept.spans[-1]
        assert span.name == "GET /login" and span.parent_id == "" and span.trace_id != PARENT[3:35]


def test_a_request_that_is_begun_again_is_one_span(traced_app: Flask, kept: Kept) -> None:
    with traced_app.test_request_context("/login"):
        for _ in range(2):  # as webapp/db/conflicts.py does
            traced_app.preprocess_request()
    assert kept.named("GET /login").parent_id == ""


def test_a_request_ends_where_its_answer_begins(traced_app: Flask, kept: Kept) -> None:
    """The stream of a reply keeps its request for as long as the reply takes."""
    with traced_app.test_request_context("/login"):
        traced_app.preprocess_request()
        traced_app.process_response(traced_app.response_class())
        answered = time.time_ns()
        while time.time_ns() == answered:
            pass
    assert kept.named("GET /login").ended_ns <= answered


def test_machines_that_ask_how_it_is_are_not_traced(traced_app: Flask, kept: Kept, anonymous: FlaskClient) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        anonymous.get(path)
    assert kept.spans == []


def test_a_part_of_all_traces_is_whole_or_missing() -> None:
    kept = Kept()
    try:
        for ratio, count in ((0.0, 0), (1.0, 3)):
            tracing.use(kept, ratio)
            with tracing.span("outer"):
                carried = tracing.trace_headers()["traceparent"]
                with tracing.span("inner"):
                    pass
            with tracing.span("elsewhere", traceparent=carried):
                tracing.took("redis", 0.1, {})
            assert len({span.trace_id for span in kept.spans}) == (1 if count else 0)
            assert len(kept.spans) == (4 if count else 0)
    finally:
        tracing.use(None)


def test_off_by_default_and_then_nothing_is_kept(app: Flask, client: ApiClient) -> None:
    assert not tracing.is_on()
    with tracing.span("anything"):
        assert tracing.current() is None
        assert tracing.trace_headers() == {} == tracing.ids()

    def work() -> None:
        pass

    assert tracing.keep_span(work) is work
    assert client.get("/api/account").status_code == 200
    assert "traces" not in app.extensions


@pytest.mark.once
def test_a_setting_switches_it_on(app: Flask) -> None:
    """In a process of its own: tracing is the process's."""
    assert not tracing.is_on() and "traces" not in app.extensions
    imports = "from webapp import create_app; from webapp.telemetry import tracing"
    code = f"{imports}; app = create_app(); print(tracing.is_on(), 'traces' in app.extensions)"
    given = {"PATH": os.environ["PATH"], "VAR_DIR": "/tmp/no-such-folder", "SECRET_KEY": "x" * 16}  # noqa: S108
    given["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
    told = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "True True", told.stderr


def test_settings() -> None:
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        Settings.from_env({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"})
    with pytest.raises(ConfigError, match="OTEL_TRACES_SAMPLER_ARG"):
        Settings.from_env({"OTEL_TRACES_SAMPLER_ARG": "2"})
    given = Settings.from_env({"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20abc==, x-scope = one ,"})
    assert given.otel_headers == {"Authorization": "Basic abc==", "x-scope": "one"}


class Loopback:
    """A collector on loopback that keeps what it is sent."""

    def __init__(self) -> None:
        self.status = 200
        self.taken: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.taken.append((self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
                self.send_response(outer.status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_given: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    found = Loopback()
    yield found
    found.close()


def _one(name: str = "a", **fields: Any) -> Span:
    span = Span(name, "server", "0af7651916cd43dd8448eb211c80319c", ended_ns=2, began_ns=1, **fields)
    span.set({"text": "é", "number": 2**53, "share": 0.5, "is": True, "left out": None})
    return span


def test_what_is_sent_is_what_opentelemetry_takes(loopback: Loopback) -> None:
    sender = Sender(loopback.url + "/", headers={"X-Key": "k"}, service="ours")
    span = _one(parent_id="b7ad6b7169203331")
    span.fail("Broken")
    sender.add(span)
    sender.flush()
    ((path, headers, body),) = loopback.taken
    assert path == "/v1/traces" and headers["content-type"] == "application/json" and headers["x-key"] == "k"
    # Ids are hexadecimal in OTLP's JSON, and base64 in everybody else's.
    (told,) = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for name in ("traceId", "spanId", "parentSpanId"):
        told[name] = base64.b64encode(bytes.fromhex(told[name])).decode()
    request = ParseDict(body, ExportTraceServiceRequest())
    (parsed,) = request.resource_spans[0].scope_spans[0].spans
    assert parsed.trace_id.hex() == span.trace_id and parsed.span_id.hex() == span.span_id
    assert parsed.parent_span_id.hex() == "b7ad6b7169203331"
    assert (parsed.name, parsed.kind, parsed.status.code) == ("a", 2, 2)
    assert (parsed.start_time_unix_nano, parsed.end_time_unix_nano) == (1, 2)
    values = {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in parsed.attributes}
    assert values == {"text": "é", "number": 2**53, "share": 0.5, "is": True, "error.type": "Broken"}
    resource = {item.key: item.value.string_value for item in request.resource_spans[0].resource.attributes}
    assert resource["service.name"] == "ours"


def test_many_go_in_parts_and_a_collector_that_refuses_is_left_alone(loopback: Loopback) -> None:
    sender = Sender(loopback.url)
    for _ in range(1_200):
        sender.add(_one())
    sender.flush()
    sizes = [len(body["resourceSpans"][0]["scopeSpans"][0]["spans"]) for _, _, body in loopback.taken]
    assert sizes == [512, 512, 176]
    loopback.status = 503
    for _ in range(3):
        sender.add(_one())
        sender.flush()
    assert len(loopback.taken) == 4


def test_a_collector_that_is_away_costs_nobody_anything() -> None:
    sender = Sender("http://127.0.0.1:9")
    for number in range(MOST_WAITING + 10):
        sender.add(_one(str(number)))
    assert len(sender._waiting) == MOST_WAITING and sender._waiting[0].name == "10"
    sender.flush()
    assert not sender._waiting


def test_a_forked_child_tells_what_it_did_itself() -> None:
    sender = Sender("http://127.0.0.1:9")
    sender.add(_one())
    child = os.fork()
    if child == 0:
        os._exit(len(sender._waiting))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(sender._waiting) == 1
