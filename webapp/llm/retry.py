"""The wait before a model call is tried again."""

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from .errors import ModelError
from .settings import ModelSettings

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


def with_retries(ask: Callable[[], Answer], settings: ModelSettings) -> Answer:
    """Return the answer of a server, asked again while that may help; raises the last `ModelError`."""
    attempt = 0
    while True:
        try:
            return ask()
        except ModelError as error:
            delay = retry_delay(error, attempt, settings)
            if delay is None:
                raise
            log.info("model call failed (%s), attempt %d, next in %.1f s", error.code, attempt + 1, delay)
        attempt += 1
        time.sleep(delay)


def retry_delay(error: ModelError, attempt: int, settings: ModelSettings) -> float | None:
    """Seconds before attempt `attempt + 1` (0 is the first), or None if retrying is pointless or the wait too long.

    The server's own Retry-After wins; one longer than `max_retry_wait` is left to the caller rather than waited for.
    """
    if not error.retryable or attempt >= settings.max_retries:
        return None
    if error.retry_after is not None:
        if error.retry_after > settings.max_retry_wait:
            return None
        return error.retry_after + random.uniform(0, 0.1) * settings.retry_base
    ceiling = min(settings.max_retry_wait, settings.retry_base * 2**attempt)
    return float(ceiling * random.uniform(0.5, 1.0))
