"""Traces: what a request, a turn and its jobs did when, across processes, sent to an OpenTelemetry collector.

Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set, and then next to free: `span` is a context manager that does nothing. A
span says how long something took and how it ended, in names, numbers and identifiers: never a requested address, a
statement's values, or anybody's words. `traceparent` carries a trace on to jobs, in the W3C's format.
"""

from __future__ import annotations

import random
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Literal, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Value = str | bool | int | float
Kind = Literal["internal", "server", "client", "producer", "consumer"]

_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(slots=True)
class Span:
    """One thing that was done. Times are in nanoseconds since 1970; `parent_id` is empty at the root of a trace."""

    name: str
    kind: Kind
    trace_id: str
    parent_id: str = ""
    is_sampled: bool = True
    span_id: str = field(default_factory=lambda: secrets.token_hex(8))
    began_ns: int = field(default_factory=time.time_ns)
    ended_ns: int = 0
    has_failed: bool = False
    attributes: dict[str, Value] = field(default_factory=dict)

    def set(self, attributes: Mapping[str, Value | None]) -> None:
        """Add attributes; None is left out."""
        self.attributes.update({name: value for name, value in attributes.items() if value is not None})

    def fail(self, error: str) -> None:
        """Mark it as failed, with the name of the error."""
        self.has_failed = True
        self.attributes["error.type"] = error

    @property
    def traceparent(self) -> str:
        """The `traceparent` with which another process continues this trace."""
        return f"00-{self.trace_id}-{self.span_id}-{self.is_sampled:02x}"


class Collector(Protocol):
    """Takes spans that have ended."""

    def add(self, span: Span) -> None: ...
    def flush(self) -> None: ...


@dataclass(slots=True)
class _Tracer:
    collector: Collector | None = None
    ratio: float = 1.0


_tracing = _Tracer()
_current: ContextVar[Span | None] = ContextVar("span", default=None)


def use(collector: Collector | None, ratio: float = 1.0) -> None:
    """From now on trace this share of all traces, in this process and those it forks; or, without a collector, none."""
    _tracing.collector, _tracing.ratio = collector, ratio


def is_on() -> bool:
    """Return whether anything is traced."""
    return _tracing.collector is not None


def current() -> Span | None:
    """The span that the running code belongs to."""
    return _current.get()


def begin(name: str, kind: Kind = "internal", traceparent: str | None = None) -> Span:
    """A span that has begun: below `traceparent` if it is valid, else below the current span, else the root of a trace.

    It becomes the parent of others only once it is made current; end it with `end`.
    """
    if found := _TRACEPARENT.fullmatch(traceparent or ""):
        trace_id, parent_id, flags = found.groups()
        return Span(name, kind, trace_id, parent_id, bool(int(flags, 16) & 1))
    if parent := _current.get():
        return Span(name, kind, parent.trace_id, parent.span_id, parent.is_sampled)
    return Span(name, kind, secrets.token_hex(16), is_sampled=random.random() < _tracing.ratio)  # noqa: S311


def end(span: Span) -> None:
    """End a span, now unless its end is already set."""
    span.ended_ns = span.ended_ns or time.time_ns()
    if span.is_sampled and _tracing.collector is not None:
        _tracing.collector.add(span)


def make_current(span: Span | None) -> None:
    """Make what follows, in this thread or task, part of a span, or of none."""
    _current.set(span)


@contextmanager
def span(name: str, kind: Kind = "internal", traceparent: str | None = None) -> Iterator[None]:
    """A span around the body; an exception marks it as failed. `note` adds attributes."""
    if _tracing.collector is None:
        yield
        return
    made = begin(name, kind, traceparent)
    token = _current.set(made)
    try:
        yield
    except BaseException as error:
        made.fail(type(error).__name__)
        raise
    finally:
        _current.reset(token)
        end(made)


def trace_calls(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A span around each call of a function."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with span(name):
                return function(*args, **kwargs)

        return call

    return decorate


def note(attributes: Mapping[str, Value | None]) -> None:
    """Add attributes to the current span."""
    if _tracing.collector is not None and (made := _current.get()):
        made.set(attributes)


def took(name: str, seconds: float, attributes: Mapping[str, Value | None]) -> None:
    """Record a wait that has just ended as a span; nothing is recorded outside of any span."""
    if _tracing.collector is None or (parent := _current.get()) is None or not parent.is_sampled:
        return
    made = begin(name, "client")
    made.ended_ns = made.began_ns
    made.began_ns -= round(seconds * 1e9)
    made.set(attributes)
    end(made)


def keep_span(work: Callable[[], T]) -> Callable[[], T]:
    """The same work, for another thread, as part of the current span."""
    if _tracing.collector is None:
        return work
    here = _current.get()

    def run() -> T:
        token = _current.set(here)
        try:
            return work()
        finally:
            _current.reset(token)

    return run


def trace_headers() -> dict[str, str]:
    """Return what a job needs to continue the current trace."""
    made = _current.get() if _tracing.collector is not None else None
    return {"traceparent": made.traceparent} if made else {}


def ids() -> dict[str, str]:
    """The trace that log lines belong to."""
    made = _current.get() if _tracing.collector is not None else None
    return {"trace_id": made.trace_id} if made else {}


def flush() -> None:
    """Send the ended spans now: this process may be about to end."""
    if _tracing.collector is not None:
        _tracing.collector.flush()
