"""Structured logs that carry request, turn and job ids, and never message text or memory content."""

import json
import logging
import sys
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime

from flask import Flask, Response, g, request

from webapp.telemetry import tracing

_context: ContextVar[dict[str, object] | None] = ContextVar("log_context", default=None)

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def context() -> dict[str, object]:
    """Return the fields of every line that is logged here."""
    return dict(_context.get() or {})


def set_context(**fields: object) -> None:
    """Add these fields to every line logged from here on, in this thread or task."""
    _context.set(fields)


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **(_context.get() or {}),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _visible(json.dumps(line, default=str, ensure_ascii=False), json.dumps)


class TextFormatter(logging.Formatter):
    """Formats a line for people, with the same fields at its end."""

    def format(self, record: logging.LogRecord) -> str:
        extra = {**(_context.get() or {}), **{n: v for n, v in vars(record).items() if n not in _STANDARD}}
        fields = " ".join(f"{name}={_field(value)}" for name, value in extra.items())
        time = self.formatTime(record, "%H:%M:%S")
        text = _visible(f"{time} {record.levelname:<7} {record.name} {record.getMessage()} {fields}")
        if not record.exc_info:
            return text
        lines = self.formatException(record.exc_info).split("\n")
        return "\n".join([text, *(f"  {_visible(line)}" for line in lines)])


def _field(value: object) -> str:
    """Return a value as a field: one with spaces or quotes is put in quotes."""
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or set(text) & set(' "=') else text


def _visible(line: str, escape: Callable[[str], str] = ascii) -> str:
    """Return a line with its control characters spelled out by `escape`, harmless for logs and terminals."""
    if line.isprintable():
        return line
    return "".join(ch if ch.isprintable() or ch == " " else escape(ch)[1:-1] for ch in line)


def configure(log_format: str, log_level: str) -> None:
    """Send every logger to standard error in the chosen format; done once per process."""
    root = logging.getLogger()
    if any(getattr(handler, "commonplace", False) for handler in root.handlers):
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.commonplace = True  # type: ignore[attr-defined]  # a mark of ours, asked for above
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root.addHandler(handler)
    root.setLevel(log_level)
    for noisy in ("httpx2", "httpcore2", "openai", "alembic", "fontTools", "rq.worker", "rq.scheduler"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def init_logs(app: Flask, log_format: str, log_level: str) -> None:
    """Give every request an id (the proxy's X-Request-ID if it looks like one) and log its outcome."""
    configure(log_format, log_level)
    access = logging.getLogger("webapp.access")

    @app.before_request
    def _begin() -> None:
        request_id = request.headers.get("X-Request-ID", "")
        g.request_id = (
            request_id
            if request_id.isascii() and 8 <= len(request_id) <= 64 and request_id.isprintable()
            else uuid.uuid4().hex
        )
        g.started = time.perf_counter()
        set_context(request_id=g.request_id, **tracing.ids())

    @app.after_request
    def _end(response: Response) -> Response:
        response.headers["X-Request-ID"] = g.get("request_id", "")
        access.log(
            logging.WARNING if response.status_code >= 500 else logging.INFO,
            "request",
            extra={
                "method": request.method,
                "path": _public_path(),
                "status": response.status_code,
                "ms": round((time.perf_counter() - g.get("started", time.perf_counter())) * 1000, 1),
            },
        )
        return response


def _public_path() -> str:
    """Return the path of a request, with … in place of what alone lets its visitor in."""
    path, values = request.path, request.view_args or {}
    for name in {"secret", "token"} & values.keys():
        path = path.replace(values[name], "…")
    return path
