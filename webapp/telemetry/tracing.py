"""Traces: what a request, a turn and its jobs did when, across processes, sent to an OpenTelemetry collector.

Without `OTEL_EXPORTER_OTLP_ENDPOINT` nothing of OpenTelemetry is loaded. A span has names, numbers and identifiers:
never an address, a statement's values, or anybody's words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from webapp.telemetry.otlp import Traces

P = ParamSpec("P")
T = TypeVar("T")
Value = str | bool | int | float
Kind = Literal["internal", "server", "client", "producer", "consumer"]

_traces: Traces | None = None
_current: ContextVar[Span | None] = ContextVar("span", default=None)


def use(traces: Traces | None) -> None:
    """Start tracing in this process and those it forks; stop, without a tracer."""
    global _traces  # noqa: PLW0603
    _traces = traces


def is_on() -> bool:
    """Return whether anything is traced."""
    return _traces is not None


def begin(name: str, kind: Kind = "internal", traceparent: str | None = None, began_ns: int | None = None) -> Span:
    """Return a span below a valid `traceparent`, else the current span, else none; `end` it. Only while `is_on`."""
    assert _traces is not None
    return _traces.begin(name, kind, traceparent, _current.get(), began_ns)


def describe(span: Span, attributes: Mapping[str, Value | None]) -> None:
    """Add attributes to a span; None is left out."""
    span.set_attributes({name: value for name, value in attributes.items() if value is not None})


def fail(span: Span, error: str) -> None:
    """Mark a span as failed, with the name of the error."""
    assert _traces is not None
    _traces.fail(span)
    span.set_attribute("error.type", error)


def make_current(span: Span | None) -> None:
    """Make what follows, in this thread or task, part of a span, or of none."""
    _current.set(span)


@contextmanager
def span(name: str, kind: Kind = "internal", traceparent: str | None = None) -> Iterator[None]:
    """Yield a span around the body; an exception marks it as failed. `note` adds attributes."""
    if _traces is None:
        yield
        return
    opened_span = begin(name, kind, traceparent)
    token = _current.set(opened_span)
    try:
        yield
    except BaseException as error:
        fail(opened_span, type(error).__name__)
        raise
    finally:
        _current.reset(token)
        opened_span.end()


def trace_calls(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a span around each call of a function."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with span(name):
                return function(*args, **kwargs)

        return call

    return decorate


def note(attributes: Mapping[str, Value | None]) -> None:
    """Add attributes to the current span."""
    if current := _current.get():
        describe(current, attributes)


def record_wait(name: str, seconds: float, attributes: Mapping[str, Value | None]) -> None:
    """Record a wait that has just ended as a span; nothing is recorded outside of any span."""
    if _traces is None or (parent := _current.get()) is None or not parent.is_recording():
        return
    ended = time.time_ns()
    request_span = begin(name, "client", began_ns=ended - round(seconds * 1e9))
    describe(request_span, attributes)
    request_span.end(ended)


def in_current_span(work: Callable[[], T]) -> Callable[[], T]:
    """Return the same work, for another thread, as part of the current span."""
    current = _current.get()
    if current is None:
        return work

    def run() -> T:
        token = _current.set(current)
        try:
            return work()
        finally:
            _current.reset(token)

    return run


def trace_headers() -> dict[str, str]:
    """Return what a job needs to continue the current trace."""
    if (current := _current.get()) is None:
        return {}
    context = current.get_span_context()
    return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}


def ids() -> dict[str, str]:
    """Return the trace that log lines belong to."""
    current = _current.get()
    return {"trace_id": f"{current.get_span_context().trace_id:032x}"} if current else {}


def flush() -> None:
    """Send the ended spans now: this process is about to end."""
    if _traces is not None:
        _traces.flush()
