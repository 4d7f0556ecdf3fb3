"""Turns begin a few at a time, in the order of their requests: Python computes on one thread at a time.

A hundred at once would all begin late; in turn, half have begun in half the time, and running streams continue.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from flask import Flask, current_app, g, request

MAX_CONCURRENT = 4
"""How many turns of a process begin at a time, from their requests until their prompts are made: some of them wait for
an index or a vector, and more would hold up the running streams."""
MAX_WAIT_SECONDS = 0.5
"""Seconds in which no turn began after which a request proceeds anyway: those before it may be waiting for a lock."""


class StartQueue:
    """Lets MAX_CONCURRENT in at a time, first come, first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free = MAX_CONCURRENT
        self._waiting: deque[threading.Event] = deque()
        self._passed = 0

    def enter(self) -> ExitStack:
        """Wait for a place; whoever closes what is returned lets the next one in."""
        called = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                called.set()
            else:
                self._waiting.append(called)
        passed = -1
        while not called.is_set() and passed != self._passed:
            passed = self._passed
            called.wait(MAX_WAIT_SECONDS)
        place = ExitStack()
        with self._lock:
            if called.is_set():
                place.callback(self._leave)
            else:
                self._waiting.remove(called)
        return place

    def _leave(self) -> None:
        with self._lock:
            self._passed += 1
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1


def starts_turn(view: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a view that starts a turn."""
    view.starts_turn = True  # type: ignore[attr-defined]
    return view


def pop_place() -> ExitStack:
    """Return the place of this request in the queue, for whoever is to close it instead."""
    place: ExitStack = g.pop("place", None) or ExitStack()
    return place


def init_gate(app: Flask) -> None:
    """Hold marked requests back while others are served; register it before any hook that computes for a request."""
    queue = StartQueue()

    @app.before_request
    def _queue_request() -> None:
        view = current_app.view_functions.get(request.endpoint or "")
        if getattr(view, "starts_turn", False) and "place" not in g:  # a request that is begun again has one
            request.get_data()  # read the whole body, however slow: nobody waits in line for another's network
            g.place = queue.enter()

    @app.teardown_request
    def _leave(_error: BaseException | None) -> None:
        pop_place().close()
