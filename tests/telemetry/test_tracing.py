"""Traces: what is told of a request, its turn and its jobs, what is not, and how it reaches a collector."""

import threading
import time
from collections.abc import Iterator
from http.server import HTTPServer
from typing import Any

import pytest
from flask import Flask
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.chat.helpers import wait_for_end
from tests.support.serving import Handler, run_server
from webapp.background.job_specs import JobRequest, push
from webapp.config import ConfigError, Settings
from webapp.extensions import redis
from webapp.files import storage
from webapp.llm.errors import ModelUnavailable
from webapp.shell import factory
from webapp.telemetry import tracing
from webapp.telemetry.otlp import Traces
from webapp.telemetry.spans import trace_requests

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Kept(Traces):
    """Keeps ended spans within the test."""

    def __init__(self, share: float = 1.0) -> None:
        super().__init__("http://127.0.0.1:9", service="tests", share=share)
        self.exporter = InMemorySpanExporter()

    def processor(self) -> SpanProcessor:
        return SimpleSpanProcessor(self.exporter)

    @property
    def spans(self) -> tuple[Any, ...]:
        return self.exporter.get_finished_spans()

    def span(self, name: str) -> Any:
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, (name, [span.name for span in self.spans])
        return found[0]

    def below(self, parent: Any) -> set[str]:
        return {span.name for span in self.spans if _parent_id(span) == parent.context.span_id}


def _parent_id(span: Any) -> int:
    return span.parent.span_id if span.parent else 0


@pytest.fixture
def exporter() -> Iterator[Kept]:
    """Tracing, switched on."""
    found = Kept()
    tracing.use(found)
    yield found
    tracing.use(None)
    tracing.make_current(None)


@pytest.fixture
def traced_app(app: Flask, exporter: Kept) -> Iterator[Flask]:
    """The application with a span for each request, as behind a proxy."""
    hooks = (app.before_request_funcs, app.after_request_funcs, app.teardown_request_funcs)
    before = [list(found.get(None, [])) for found in hooks]
    app._got_first_request = False
    trace_requests(app, trusts_traceparent=True)
    app.before_request_funcs[None].insert(0, app.before_request_funcs[None].pop())
    yield app
    for found, was in zip(hooks, before, strict=True):
        found[None] = was  # type: ignore[assignment]  # three dictionaries of the same shape


def test_from_a_request_to_its_turn_to_its_jobs(traced_app, exporter, client, run_jobs):
    conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps a heron.", "fact_key": "pet/heron"})
    exporter.exporter.clear()
    sent = client.post(
        f"/api/conversations/{conversation_id}/messages",
        json={"content": "My heron is called Zebedee."},
        headers={"traceparent": PARENT},
    )
    wait_for_end(traced_app, sent.json["response_id"])
    run_jobs()

    asked = exporter.span("POST /api/conversations/<int:conversation_id>/messages")
    assert (asked.context.trace_id, _parent_id(asked)) == (int(PARENT[3:35], 16), int(PARENT[36:52], 16))
    assert asked.attributes["http.response.status_code"] == 202
    turn = exporter.span("turn")
    assert _parent_id(turn) == asked.context.span_id
    assert turn.attributes["commonplace.turn.status"] == "complete"
    assert turn.attributes["commonplace.turn.first_token_ms"] >= 0
    assert turn.attributes["commonplace.turn.tokens.output"] > 0
    model = exporter.span("chat")
    assert _parent_id(model) == turn.context.span_id and model.kind.name == "CLIENT"
    assert model.attributes["gen_ai.response.model"] == "test-chat"
    assert model.attributes["gen_ai.usage.output_tokens"] > 0
    retrieval = exporter.span("retrieval")
    assert _parent_id(retrieval) == turn.context.span_id
    begun = exporter.span("retrieval.begin")
    assert _parent_id(begun) == turn.context.span_id
    assert any(name.startswith("SELECT ") for name in exporter.below(begun))
    extraction = exporter.span("job extract")
    assert _parent_id(extraction) == turn.context.span_id and extraction.kind.name == "CONSUMER"
    about = extraction.attributes
    assert (about["commonplace.job.outcome"], about["commonplace.job.try"]) == ("done", 1)
    assert about["commonplace.job.queue"] == "turn" and about["commonplace.job.wait_seconds"] >= 0
    assert {"complete", "redis"} <= exporter.below(extraction)
    assert "INSERT messages" in exporter.below(asked)
    of_it = [span for span in exporter.spans if span.context.trace_id == asked.context.trace_id]
    assert {span.attributes["db.system.name"] for span in of_it if "db.system.name" in span.attributes} >= {"redis"}
    assert all(span.start_time <= span.end_time for span in of_it)


def test_nothing_that_anybody_wrote_is_told(traced_app, exporter, client, anonymous, run_jobs):
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
    told = "".join(span.to_json() for span in exporter.spans)
    assert "GET /s/<token>" in told or "GET /s/<" in told
    for private in ("Zebedee", "heron", "example.org", secret, client.token if hasattr(client, "token") else secret):
        assert private not in told


def test_a_job_that_fails_is_marked_and_says_which_try_it_was(traced_app, exporter, run_jobs, monkeypatch):
    def fail() -> None:
        raise ModelUnavailable()

    monkeypatch.setattr("webapp.shell.upkeep.recover_all", fail)
    with traced_app.app_context():
        push(redis(), JobRequest("sweep"))
    run_jobs(failures=True)
    first = next(span for span in exporter.spans if span.name == "job sweep")
    assert not first.status.is_ok and first.attributes["error.type"] == "ModelUnavailable"
    assert first.attributes["commonplace.job.outcome"] == "again"


def test_a_strangers_trace_is_not_believed(app, traced_app, exporter, anonymous):
    for given in ("nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01", PARENT.upper(), PARENT + "-01", ""):
        anonymous.get("/login", headers={"traceparent": given})
        span = exporter.spans[-1]
        assert span.name == "GET /login" and not span.parent and span.context.trace_id != int(PARENT[3:35], 16)


def test_a_request_that_is_begun_again_is_one_span(traced_app, exporter):
    with traced_app.test_request_context("/login"):
        for _ in range(2):  # as webapp/db/conflicts.py does
            traced_app.preprocess_request()
    assert exporter.span("GET /login").parent is None


def test_a_request_ends_where_its_answer_begins(traced_app, exporter):
    """The stream of a reply keeps its request for as long as the reply takes."""
    with traced_app.test_request_context("/login"):
        traced_app.preprocess_request()
        traced_app.process_response(traced_app.response_class())
        answered = time.time_ns()
        while time.time_ns() == answered:
            pass
    assert exporter.span("GET /login").end_time <= answered


def test_machines_that_ask_how_it_is_are_not_traced(traced_app, exporter, anonymous):
    for path in ("/healthz", "/readyz", "/metrics"):
        anonymous.get(path)
    assert exporter.spans == ()


def test_a_part_of_all_traces_is_whole_or_missing():
    try:
        for share, count in ((0.0, 0), (1.0, 4)):
            kept = Kept(share)
            tracing.use(kept)
            with tracing.span("outer"):
                carried = tracing.trace_headers()["traceparent"]
                with tracing.span("inner"):
                    pass
            with tracing.span("elsewhere", traceparent=carried):
                tracing.record_wait("redis", 0.1, {})
            assert len({span.context.trace_id for span in kept.spans}) == (1 if count else 0)
            assert len(kept.spans) == count
    finally:
        tracing.use(None)


def test_off_by_default_and_then_nothing_is_kept(app, client):
    assert not tracing.is_on()
    with tracing.span("anything"):
        tracing.note({"a": 1})
        assert tracing.trace_headers() == {} == tracing.ids()

    def work() -> None:
        pass

    assert tracing.in_current_span(work) is work
    assert client.get("/api/account").status_code == 200


def test_a_setting_switches_it_on():
    """That nothing of it is loaded otherwise is in tests/test_architecture.py."""
    try:
        factory.build(Settings(otel_exporter_otlp_endpoint="http://127.0.0.1:9", secret_key="x" * 16))
        assert tracing.is_on()
    finally:
        tracing.use(None)


def test_without_the_packages_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(factory, "find_spec", lambda _name: None)
    settings = Settings.from_env({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    with pytest.raises(ConfigError, match="pip install -r requirements-tracing.txt"):
        factory._init_tracing(Flask(__name__), settings)
    monkeypatch.setattr(storage, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match="S3_BUCKET needs boto3; .*prepare run"):
        storage.init_storage(Flask(__name__), Settings(s3_bucket="attachments"))


def test_settings():
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_ENDPOINT"):
        Settings.from_env({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"})
    with pytest.raises(ConfigError, match="OTEL_TRACES_SAMPLER_ARG"):
        Settings.from_env({"OTEL_TRACES_SAMPLER_ARG": "2"})
    given = Settings.from_env({"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic%20abc==, x-scope = one ,"})
    assert given.otel_headers == {"Authorization": "Basic abc==", "x-scope": "one"}


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, str | None, ExportTraceServiceRequest]]]]:
    """A collector on loopback: its address, and what it is sent (path, a header, body)."""
    taken: list[tuple[str, str | None, ExportTraceServiceRequest]] = []

    class Taking(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.path, self.headers["X-Key"], ExportTraceServiceRequest.FromString(body)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with run_server(HTTPServer(("127.0.0.1", 0), Taking)) as server:
        yield f"http://127.0.0.1:{server.server_port}", taken


def test_what_a_collector_is_sent(collector):
    address, taken = collector
    traces = Traces(address + "/", headers={"X-Key": "k"}, service="ours")
    span = traces.begin("a", "server", PARENT, None, None)
    tracing.describe(span, {"text": "é", "number": 2**53, "share": 0.5, "is": True, "left out": None})
    traces.fail(span)
    span.end()
    traces.flush()
    ((path, key, request),) = taken
    assert (path, key) == ("/v1/traces", "k")
    (parsed,) = request.resource_spans[0].scope_spans[0].spans
    assert (parsed.trace_id.hex(), parsed.parent_span_id.hex()) == (PARENT[3:35], PARENT[36:52])
    assert (parsed.name, parsed.kind, parsed.status.code) == ("a", 2, 2)
    values = {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in parsed.attributes}
    assert values == {"text": "é", "number": 2**53, "share": 0.5, "is": True}
    resource = {item.key: item.value.string_value for item in request.resource_spans[0].resource.attributes}
    assert resource["service.name"] == "ours"


def test_a_collector_that_is_away_fails_nobody():
    traces = Traces("http://127.0.0.1:9", service="ours")
    traces.begin("a", "server", None, None, None).end()
    began = time.monotonic()
    traces.flush()
    assert time.monotonic() - began < 5


def test_a_process_that_traces_nothing_has_no_thread_for_it():
    before = threading.active_count()
    traces = Traces("http://127.0.0.1:9", service="ours")
    traces.flush()
    assert threading.active_count() == before
