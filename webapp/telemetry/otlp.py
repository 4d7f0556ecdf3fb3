"""OpenTelemetry's SDK and its OTLP exporter (`requirements-tracing.txt`): loaded only where a collector is named."""

from collections.abc import Mapping
from functools import cached_property

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

EXPORT_INTERVAL_MS = 2_000
RETRY_LIMIT_SECONDS = 2.0
"""How long a collector is waited for, by a thread of its own or by the process of jobs that is about to end."""

_propagator = TraceContextTextMapPropagator()


class Traces:
    """Makes spans and sends them. Its thread begins with the first span, so that none lives in the parent of a fork."""

    def __init__(self, endpoint: str, *, headers: Mapping[str, str] | None = None, service: str, share: float = 1.0):
        self._endpoint = endpoint.rstrip("/") + "/v1/traces"
        self._headers = dict(headers or {})
        self._service = service
        self._share = share

    def begin(self, name: str, kind: str, traceparent: str | None, parent: Span | None, began_ns: int | None) -> Span:
        """Return a span below `traceparent` if it is valid, else below `parent`, else the root of a trace."""
        context = set_span_in_context(parent) if parent else None
        if traceparent:
            context = _propagator.extract({"traceparent": traceparent}, context)
        return self._tracer.start_span(name, context, SpanKind[kind.upper()], start_time=began_ns)

    def fail(self, span: Span) -> None:
        """Mark a span as failed."""
        span.set_status(StatusCode.ERROR)

    def flush(self) -> None:
        """Send everything; what the collector does not accept is dropped."""
        if "_provider" in self.__dict__:
            self._provider.force_flush()

    @cached_property
    def _provider(self) -> TracerProvider:
        sampler = ParentBased(TraceIdRatioBased(self._share))
        provider = TracerProvider(sampler, Resource.create({"service.name": self._service}))
        provider.add_span_processor(self.processor())
        return provider

    @cached_property
    def _tracer(self) -> Tracer:
        return self._provider.get_tracer("commonplace")

    def processor(self) -> SpanProcessor:
        """Return the batches in which ended spans are sent."""
        exporter = OTLPSpanExporter(self._endpoint, headers=self._headers, timeout=RETRY_LIMIT_SECONDS)
        return BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_INTERVAL_MS)
