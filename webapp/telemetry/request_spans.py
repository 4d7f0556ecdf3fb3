"""A span for each request."""

import time

from flask import Flask, Response, g, request

from webapp.telemetry import tracing

QUIET = {"static", "service.healthz", "service.readyz", "service.metrics"}
"""Requested every few seconds by machines; not worth tracing."""


def trace_requests(app: Flask, *, believes: bool) -> None:
    """A span for each request, from its arrival to the beginning of its answer.

    It is named after the route: the URL itself may contain a secret, like that of a share.
    """

    @app.before_request
    def _begin() -> None:
        if request.endpoint in QUIET or "span" in g:  # it is being repeated (webapp/db/conflicts.py)
            return
        traceparent = request.headers.get("traceparent") if believes else None
        rule = request.url_rule.rule if request.url_rule else None
        g.span = tracing.begin(f"{request.method} {rule}" if rule else request.method, "server", traceparent)
        tracing.describe(g.span, {"http.request.method": request.method, "http.route": rule})
        tracing.make_current(g.span)

    @app.after_request
    def _answered(response: Response) -> Response:
        if span := g.get("span"):
            g.answered_ns = time.time_ns()  # a streamed answer keeps the request until its end
            number = g.get("request_id")
            attributes = {"http.response.status_code": response.status_code, "commonplace.request_id": number}
            tracing.describe(span, attributes)
            if response.status_code >= 500:
                tracing.fail(span, str(response.status_code))
        return response

    @app.teardown_request
    def _end(error: BaseException | None) -> None:
        if span := g.pop("span", None):
            tracing.make_current(None)
            if error is not None:
                tracing.fail(span, type(error).__name__)
            span.end(g.get("answered_ns"))
