"""Spans for each request and each call of a model: which, how long, how it ended; never what was said."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from flask import Flask, Response, g, request

from webapp.llm.background import BackgroundClient
from webapp.llm.complete import Completion, SchemaT
from webapp.llm.events import Event, Finish
from webapp.llm.pool import ChatPool, ModelSwitched
from webapp.llm.settings import Target
from webapp.telemetry import tracing

UNTRACED_ENDPOINTS = {"static", "service.healthz", "service.readyz", "service.metrics"}
"""Requested every few seconds by machines; not worth tracing."""


def trace_requests(app: Flask, *, trusts_traceparent: bool) -> None:
    """Trace each request from arrival to answer, named by its route, as a URL may hold a secret."""

    @app.before_request
    def _begin() -> None:
        if request.endpoint in UNTRACED_ENDPOINTS or "span" in g:  # it is being repeated (webapp/db/conflicts.py)
            return
        traceparent = request.headers.get("traceparent") if trusts_traceparent else None
        rule = request.url_rule.rule if request.url_rule else None
        g.span = tracing.begin(f"{request.method} {rule}" if rule else request.method, "server", traceparent)
        tracing.describe(g.span, {"http.request.method": request.method, "http.route": rule})
        tracing.make_current(g.span)

    @app.after_request
    def _name_span(response: Response) -> Response:
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


Events = AsyncGenerator[Event | ModelSwitched, None]


class TracedChat(ChatPool):
    """For turns. If nothing is traced, events pass straight through."""

    def stream(self, *args: Any, **options: Any) -> Events:
        """Stream as `ChatPool.stream`."""
        events = super().stream(*args, **options)
        return _trace(events, options.get("targets") or ()) if tracing.is_on() else events


async def _trace(events: Events, targets: Sequence[Target]) -> Events:
    # Never the current span: what a generator sets as current would apply to whoever asks it for the next event.
    span = tracing.begin("chat", "client")
    model = targets[0].model if targets else None
    tracing.describe(span, {"gen_ai.operation.name": "chat", "gen_ai.request.model": model})
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, ModelSwitched):
                    switched = {"gen_ai.request.model": event.target.model, "commonplace.switched": event.because}
                    tracing.describe(span, switched)
                elif isinstance(event, Finish):
                    usage = event.usage
                    tracing.describe(
                        span,
                        {
                            "gen_ai.response.model": event.model,
                            "gen_ai.response.finish_reasons": event.reason,
                            "gen_ai.usage.input_tokens": usage.prompt_tokens if usage else None,
                            "gen_ai.usage.output_tokens": usage.completion_tokens if usage else None,
                        },
                    )
                yield event
    except BaseException as error:
        if not isinstance(error, GeneratorExit):  # the listener simply stopped listening
            tracing.fail(span, type(error).__name__)
        raise
    finally:
        span.end()


class TracedCompletions(BackgroundClient):
    """For background work."""

    def complete_text(self, messages: Any, **options: Any) -> Completion:
        """Complete as `CompletionClient.complete_text`."""
        with tracing.span("complete", "client"):
            return _note_completion(super().complete_text(messages, **options), "text")

    def complete_structured(
        self, messages: Any, schema: type[SchemaT], name: str, **options: Any
    ) -> tuple[SchemaT, Completion]:
        """Complete as `CompletionClient.complete_structured`."""
        with tracing.span("complete", "client"):
            parsed, completion = super().complete_structured(messages, schema, name, **options)
            return parsed, _note_completion(completion, name)


def _note_completion(completion: Completion, name: str) -> Completion:
    tracing.note(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.type": name,
            "gen_ai.request.model": completion.model,
            "gen_ai.response.finish_reasons": completion.finish_reason,
            "gen_ai.usage.input_tokens": completion.usage.prompt_tokens,
            "gen_ai.usage.output_tokens": completion.usage.completion_tokens,
        }
    )
    return completion
