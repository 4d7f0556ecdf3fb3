"""Requests that start turns are served one after another: Python computes on one thread at a time.

A hundred at once would all end late; in turn, half are done in half the time, and running streams continue.
"""

import threading
from collections.abc import Callable
from typing import Any

from flask import Flask, current_app, g, request

MAX_CONCURRENT = 1
"""How many requests of a process may start turns at the same time: with two, the running streams were measured to lag
half as much again, and the turns came no sooner."""
MAX_WAIT_SECONDS = 0.5
"""Seconds after which a request proceeds anyway: those before it may be waiting for a lock."""


def starts_turn(view: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a view that starts a turn."""
    view.starts_turn = True  # type: ignore[attr-defined]
    return view


def leave() -> None:
    """Let the next request in; to be called by a view before it waits for something."""
    gate: threading.Semaphore | None = g.pop("gate", None)
    if gate is not None:
        gate.release()


def init_gate(app: Flask) -> None:
    """Hold marked requests back while others are served; register it before any hook that computes for a request."""
    gate = threading.Semaphore(MAX_CONCURRENT)

    @app.before_request
    def _queue_request() -> None:
        view = current_app.view_functions.get(request.endpoint or "")
        if getattr(view, "starts_turn", False):
            request.get_data()  # read the whole body, however slow: nobody waits in line for another's network
            if gate.acquire(timeout=MAX_WAIT_SECONDS):
                g.gate = gate

    @app.teardown_request
    def _leave(_error: BaseException | None) -> None:
        leave()  # before the body of a streamed answer, which has its own thread for as long as it lasts
