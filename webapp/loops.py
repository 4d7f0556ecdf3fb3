"""Loops that last as long as their process: whatever goes wrong in a round is logged, and the next round comes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from logging import Logger
from typing import Any, NoReturn

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

OUTAGES = (RedisError, SQLAlchemyError, OSError)
"""Failures of what a loop depends on: their kind says enough."""

REPEAT_LOG_SECONDS = 60.0
"""After so many seconds without a failure, the next one is logged in any case."""

CANCEL_SECONDS = 0.5
"""For so long a task may take to end before it is cancelled again."""


class _Failures:
    """Logs failures, once for each kind in a row, however long it lasts."""

    def __init__(self, log: Logger, problem: str) -> None:
        self._log = log
        self._problem = problem
        self._last = ""
        self._last_at = 0.0

    def note(self, error: Exception) -> None:
        """Log an error, unless it is the one that has been occurring all the time."""
        name, moment = type(error).__name__, time.monotonic()
        if name != self._last or moment - self._last_at > REPEAT_LOG_SECONDS:
            cause = None if isinstance(error, OUTAGES) else error
            self._log.warning(self._problem, extra={"error": name}, exc_info=cause)
        self._last, self._last_at = name, moment


def repeat(step: Callable[[], object], log: Logger, problem: str, pause: float) -> NoReturn:
    """Run a step forever; log an error as `problem`, and pause for so many seconds after it."""
    failures = _Failures(log, problem)
    while True:
        try:
            step()
        except Exception as error:
            failures.note(error)
            time.sleep(pause)


async def repeat_on_loop(step: Callable[[], Awaitable[object]], log: Logger, problem: str, pause: float) -> NoReturn:
    """Run a coroutine in the same way."""
    failures = _Failures(log, problem)
    while True:
        try:
            await step()
        except Exception as error:
            failures.note(error)
            await asyncio.sleep(pause)


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they end: before Python 3.12, wait_for, which redis-py calls, may lose a cancellation."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _done, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
