"""Replies before background work, on servers of this machine or network, most of which do one thing at a time.

A job's call waits for the replies that the same server writes, and is broken off by one that begins; the job is then
queued again. Once in MAX_WAIT_SECONDS a call runs to its end all the same, so that nothing is put off for ever.
"""

import hashlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from redis import Redis
from redis.exceptions import RedisError
from rq import get_current_job
from sqlalchemy.exc import SQLAlchemyError

from webapp.db.base import db
from webapp.llm.capabilities import Capabilities
from webapp.llm.sdk import interrupt_check
from webapp.llm.settings import ModelSettings, is_own
from webapp.providers.server_models import is_slow

log = logging.getLogger(__name__)

IDLE_SECONDS = 60.0
"""How long a job waits for a server before it is queued again, behind what has become more urgent."""
POLL_SECONDS = 0.5
MAX_WAIT_SECONDS = 1_800
"""How long a server's background work gives way before one call of it runs to its end."""
_KEPT_SECONDS = 86_400


class JobPreempted(BaseException):
    """A job was preempted by a reply and will run again; no Exception, or its own code would catch it."""


class Priority:
    """Decides when a background call may ask a server; `busy_servers` returns the URLs of those that write replies."""

    def __init__(self, store: Redis, capabilities: Capabilities, busy_servers: Callable[[], set[str]]) -> None:
        self._store, self._capabilities, self._busy_servers = store, capabilities, busy_servers

    @contextmanager
    def after_replies(self, server: ModelSettings, prompt_speed: float | None) -> Iterator[None]:
        """Make a job's call once no reply is being written on its server. Raises JobPreempted otherwise."""
        if not self._concerns(server.base_url, prompt_speed):
            yield
            return

        def check() -> None:
            if self._must_wait(server.base_url):
                log.info("background call gives way to a reply")
                raise JobPreempted

        until = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < until and self._must_wait(server.base_url):
            time.sleep(POLL_SECONDS)
        check()
        token = interrupt_check.set(check)
        try:
            yield
        finally:
            interrupt_check.reset(token)
            if not isinstance(sys.exception(), JobPreempted):  # an answer that cannot be used has ended, too
                with suppress(RedisError):
                    self._store.delete(_key(server.base_url))

    def _concerns(self, base_url: str, prompt_speed: float | None) -> bool:
        if get_current_job() is None or not is_own(base_url):  # somebody waits for it, or others' machines do it
            return False
        return is_slow(prompt_speed) or not self._capabilities.answers_together(base_url)

    def _must_wait(self, base_url: str) -> bool:
        try:
            is_busy = base_url in self._busy_servers()
        except SQLAlchemyError:
            db.session.rollback()
            return False
        return is_busy and self._seconds_waited(base_url) < MAX_WAIT_SECONDS

    def _seconds_waited(self, base_url: str) -> int:
        """Return how long the server's background work has been giving way."""
        key = _key(base_url)
        with suppress(RedisError), self._store.pipeline(transaction=False) as pipe:
            pipe.set(key, b"1", nx=True, ex=_KEPT_SECONDS)
            pipe.ttl(key)
            return _KEPT_SECONDS - int(pipe.execute()[-1])
        return 0


def _key(base_url: str) -> str:
    return f"background:waits:{hashlib.sha256(base_url.encode()).hexdigest()[:16]}"
