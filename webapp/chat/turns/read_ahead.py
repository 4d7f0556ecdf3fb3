"""Reads what a prompt needs of a user's memory as soon as that has changed: 5 to 10 ms that the next turn is spared."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from flask import Flask
from redis import Redis
from redis.client import PubSub

from webapp.loops import repeat
from webapp.retrieval.cache import index_cache
from webapp.retrieval.changes import CHANNELS, GROWN, SPACES

log = logging.getLogger(__name__)

BEGIN_SECONDS = 1.0
"""Seconds between checks whether this process keeps anything yet."""
LISTEN_SECONDS = 4.0
POLL_SECONDS = 0.25
"""Seconds between checks whether there is time now, while somebody's memory is due."""
QUIET_SECONDS = 1.5
"""Seconds since a memory last changed: what follows a turn changes it twice (what was learned, the vectors), and in
every process that keeps some of it, reading it after each took a tenth of what a turn costs."""
LARGE_INDEX = 1_000
"""From so many passages on, what a turn adds is read ahead too; to fewer, the next turn adds it in two statements."""
REST = 4
"""After each user it rests this many times as long as that took: this process has other things to compute."""
RETRY_SECONDS = 30.0
"""Seconds after which it listens again; its user may not even be allowed to."""


class ReadAhead:
    """Follows whose memory changes, by a `client` for blocking reads, and reads it anew while `has_spare_time`."""

    def __init__(self, app: Flask, client: Redis, has_spare_time: Callable[[], bool]) -> None:
        self._app = app
        self._client = client
        self._has_spare_time = has_spare_time
        self._changed: dict[int, float] = {}
        """When the memory of a user last changed, the longest unchanged first."""
        self._rests_until = 0.0

    def start(self) -> None:
        """Start listening, in the process that is to keep up (not before a fork)."""
        threading.Thread(target=self.run, name="keeping-up", daemon=True).start()

    def run(self) -> None:
        # Connecting writes to 2 MB of pages that idle processes share.
        while index_cache.of(self._app).is_empty:
            time.sleep(BEGIN_SECONDS)
        repeat(self._follow, log, "changes of memory are not heard of, retrying", RETRY_SECONDS)

    def _follow(self) -> None:
        with self._client.pubsub(ignore_subscribe_messages=True) as subscription:  # type: ignore[no-untyped-call]
            subscription.subscribe(*CHANNELS)
            while True:
                self.listen(subscription)
                self.work()

    def listen(self, subscription: PubSub) -> None:
        """Wait for news, or until there may be something to do. Raises RedisError."""
        wait = LISTEN_SECONDS
        if self._changed:  # not woken by each of what may be hundreds of messages a second
            due_at = max(self._rests_until, next(iter(self._changed.values())) + QUIET_SECONDS)
            time.sleep(max(POLL_SECONDS, due_at - time.monotonic()))
            wait = 0.0
        while (message := subscription.get_message(timeout=wait)) is not None:
            for user_id in self._affected_users(message):
                self._changed.pop(user_id, None)
                self._changed[user_id] = time.monotonic()
            wait = 0.0

    def _affected_users(self, message: Mapping[str, bytes]) -> list[int]:
        """Return the users that a message is about and of whom this process keeps something, or a LARGE_INDEX."""
        cache = index_cache.of(self._app)
        ids = [int(number) for number in message["data"].split(b",")]
        if message["channel"] == SPACES.encode():
            return cache.users_with_index_in(ids)
        least = LARGE_INDEX if message["channel"] == GROWN.encode() else 0
        return [user_id for user_id in ids if (entry := cache.peek(user_id)) and len(entry.index) >= least]

    def work(self) -> None:
        """Bring one user up to date, the longest unchanged, if it is time for that."""
        if not self._changed or time.monotonic() < self._rests_until or not self._has_spare_time():
            return
        user_id, changed_at = next(iter(self._changed.items()))
        if time.monotonic() < changed_at + QUIET_SECONDS:
            return
        del self._changed[user_id]
        start = time.monotonic()
        try:
            with self._app.app_context():
                index_cache().catch_up(user_id)
        except Exception as error:  # the next turn will say what is wrong, if it still is
            log.warning("memory was not read ahead", extra={"user_id": user_id, "error": type(error).__name__})
        self._rests_until = time.monotonic() + REST * (time.monotonic() - start)
