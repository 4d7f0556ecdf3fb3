"""A span for each request, and switching on tracing if the settings say so."""

from __future__ import annotations

import time

from flask import Flask, Response, g, request

from webapp.config import Settings
from webapp.telemetry import tracing
from webapp.telemetry.otlp import Sender

QUIET = {"static", "service.healthz", "service.readyz", "service.metrics"}
"""Requested every few seconds by machines; not worth tracing."""


def init_tracing(app: Flask, settings: Settings) -> None:
    """Trace what this application does, if a collector is set. Call it before anything else that handles requests."""
    if not settings.otel_exporter_otlp_endpoint:
        return
    sender = Sender(
        settings.otel_exporter_otlp_endpoint,
        headers=settings.otel_headers,
        service=settings.otel_service_name,
    )
    tracing.use(sender, settings.otel_traces_sampler_arg)
    app.extensions["traces"] = sender
    # A trace begun elsewhere is accepted if there are proxies whose addresses are trusted.
    trace_requests(app, believes=settings.trusted_proxies > 0)


def trace_requests(app: Flask, *, believes: bool) -> None:
    """A span for each request, from its arrival to the beginning of its answer.

    It is named after the route: the URL itself may contain a secret, like that of a share.
    """

    @app.before_request
    def _begin() -> None:
        if request.endpoint in QUIET or "span" in g:  # it is being repeated (webapp/db/conflicts.py)
            return
        given = request.headers.get("traceparent") if believes else None
        rule = request.url_rule.rule if request.url_rule else None
        g.span = tracing.begin(f"{request.method} {rule}" if rule else request.method, "server", given)
        g.span.set({"http.request.method": request.method, "http.route": rule})
        tracing.make_current(g.span)

    @app.after_request
    def _answered(response: Response) -> Response:
        if span := g.get("span"):
            span.ended_ns = time.time_ns()  # a streamed answer keeps the request until its end
            number = g.get("request_id")
            span.set({"http.response.status_code": response.status_code, "commonplace.request_id": number})
            if response.status_code >= 500:
                span.fail(str(response.status_code))
        return response

    @app.teardown_request
    def _end(error: BaseException | None) -> None:
        if span := g.pop("span", None):
            tracing.make_current(None)
            if error is not None:
                span.fail(type(error).__name__)
            tracing.end(span)
