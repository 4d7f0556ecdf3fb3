"""Sends spans to a collector by OTLP over HTTP, as JSON: what OpenTelemetry's own collector, Jaeger and Tempo take.

Written here because OpenTelemetry's SDK takes 6 MB in every process as soon as it is installed (redis-py loads it),
while what is needed of it fits on this page. Nothing traced ever waits for the collector or fails with it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from webapp.telemetry.tracing import Kind, Span, Value

log = logging.getLogger(__name__)

MOST_WAITING = 8_192
"""The most spans kept for a collector that is slow or away; beyond that the oldest are dropped."""
AT_ONCE = 512
EVERY_SECONDS = 2.0
PATIENCE_SECONDS = 2.0
PAUSE_SECONDS = 15.0
"""How long a collector that did not accept spans is left alone."""

_KINDS: dict[Kind, int] = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_FAILED = 2


class Sender:
    """Collects the spans of this process; a web process sends them every few seconds, a job at its end."""

    def __init__(self, endpoint: str, *, headers: Mapping[str, str] | None = None, service: str = "commonplace"):
        self._url = endpoint.rstrip("/") + "/v1/traces"
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._service = service
        self._waiting: deque[Span] = deque(maxlen=MOST_WAITING)
        self._lock = threading.Lock()
        self._paused_until = 0.0
        os.register_at_fork(after_in_child=self._begin_anew)

    def add(self, span: Span) -> None:
        """Keep an ended span until it is sent."""
        self._waiting.append(span)

    def flush(self) -> None:
        """Send everything. Never raises; what the collector does not accept is dropped."""
        with self._lock:
            while spans := self._next():
                if time.monotonic() >= self._paused_until and not self._sent(spans):
                    self._paused_until = time.monotonic() + PAUSE_SECONDS

    def keep_sending(self) -> None:
        """Send every few seconds, for as long as this process lives."""

        def work() -> None:
            while True:
                time.sleep(EVERY_SECONDS)
                self.flush()

        threading.Thread(target=work, name="traces", daemon=True).start()

    def _next(self) -> list[Span]:
        spans: list[Span] = []
        while self._waiting and len(spans) < AT_ONCE:
            spans.append(self._waiting.popleft())
        return spans

    def _sent(self, spans: Sequence[Span]) -> bool:
        body = json.dumps(as_otlp(spans, self._service)).encode()
        request = urllib.request.Request(self._url, body, self._headers, method="POST")  # noqa: S310  (a setting)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
                answer.read(65_536)
                return True
        except urllib.error.HTTPError as error:
            log.warning("traces not taken", extra={"status": error.code})
            error.close()
        except Exception as error:
            log.warning("traces not sent", extra={"error": type(error).__name__})
        return False

    def _begin_anew(self) -> None:
        """In a forked child: the parent reports its own spans."""
        self._lock = threading.Lock()
        self._waiting.clear()


def as_otlp(spans: Sequence[Span], service: str) -> dict[str, Any]:
    """The body of a request, in the JSON of `ExportTraceServiceRequest`: ids in hexadecimal, 64-bit numbers as text."""
    about: dict[str, Value] = {"service.name": service, "process.pid": os.getpid()}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(about)},
                "scopeSpans": [{"scope": {"name": "commonplace"}, "spans": [_span(span) for span in spans]}],
            }
        ]
    }


def _span(span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": str(span.began_ns),
        "endTimeUnixNano": str(span.ended_ns),
        "attributes": _attributes(span.attributes),
    }
    if span.parent_id:
        found["parentSpanId"] = span.parent_id
    if span.has_failed:
        found["status"] = {"code": _FAILED}
    return found


def _attributes(values: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}
