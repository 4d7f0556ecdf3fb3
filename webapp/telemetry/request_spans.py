"""A span for each request, and switching on tracing if the settings say so."""

from __future__ import annotations

import time

from flask import Flask, Response, g, request

from webapp.telemetry import tracing
from webapp.telemetry.otlp import Sender

QUIET = {"static", "service.healthz", "service.readyz", "service.metrics"}
"""Requested every few seconds by machines; not worth tracing."""


def init_tracing(app: Flask, sender: Sender, share: float, *, believes: bool) -> None:
    """Trace a share of what this application does. Call it before anything else that handles requests.

    `believes`: a trace begun elsewhere is accepted.
    """
    tracing.use(sender, share)
    app.extensions["traces"] = sender
    trace_requests(app, believes=believes)


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
