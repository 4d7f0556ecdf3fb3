"""The wait for Redis: one time-out, not one per command.

A request asks Redis for several things, one after the other. If it does not answer, each of them would wait as long
as the first; so for a moment after a time-out the whole process asks nothing at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from webapp.telemetry import tracing
from webapp.telemetry.metrics import REDIS, recorder

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 2.0
PAUSE_SECONDS = 1.5
"""How many seconds after a time-out Redis is assumed to be silent."""

T = TypeVar("T")


class FailFastRetry(Retry):
    """Retries when a connection broke, never when Redis was silent. Shared by all connections of a client."""

    def __init__(self) -> None:
        super().__init__(ExponentialBackoff(cap=0.2, base=0.02), 2, supported_errors=(RedisConnectionError,))
        self._silent_until = 0.0

    def __deepcopy__(self, _memo: dict[int, Any]) -> FailFastRetry:
        return self  # each connection makes a copy, but they have to share this

    def call_with_retry(
        self,
        do: Callable[[], T],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        """Run it, unless Redis was silent a moment ago."""
        if time.monotonic() < self._silent_until:
            raise RedisTimeoutError("Redis did not answer a moment ago")
        start = time.perf_counter()
        try:
            return super().call_with_retry(do, fail, is_retryable, with_failure_count)
        except (RedisTimeoutError, TimeoutError):
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            raise
        finally:
            seconds = time.perf_counter() - start
            recorder.observe(REDIS, seconds)
            tracing.took("redis", seconds, {"db.system.name": "redis"})
