"""Brings the streams of turns to everyone who watches them in this process: its own from their writer, others from
Redis.

One reader tails all streams: a blocking XREAD per viewer would cost a connection and a wake-up each.
"""

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from webapp.chat.turns.turnlog import Entry, entry, log_key, order, read
from webapp.loops import repeat

log = logging.getLogger(__name__)

# With many streams, a short pause after a wake-up lets one XREAD fetch what a hundred turns have just written.
BUSY_STREAMS = 24
BUSY_PAUSE = 0.008
BLOCK_MS = 2_000
RETRY_SECONDS = 0.5


class Subscription:
    """A viewer's queue of the entries of one turn, each once and in order."""

    def __init__(self, after: str):
        self.queue: SimpleQueue[Entry] = SimpleQueue()
        self.backlog: deque[Entry] = deque()
        self._last = order(after)

    def get(self, timeout: float) -> Entry | None:
        """Return the next entry, or None if none comes in time."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                # The backlog comes first: the reader may already have put newer entries into the queue.
                item = (
                    self.backlog.popleft()
                    if self.backlog
                    else self.queue.get(timeout=max(0.0, deadline - time.monotonic()))
                )
            except Empty:
                return None
            position = order(item.id)
            if position > self._last:
                self._last = position
                return item


@dataclass(slots=True)
class _OwnTurn:
    """A turn that this process runs: its first entries, the id of the last, and those that Redis may not have yet."""

    first: Sequence[Entry] = ()
    last: str = ""
    unwritten: Sequence[Entry] = ()

    @property
    def has_more(self) -> bool:
        """Return whether others have followed the first entries."""
        return self.last != (self.first[-1].id if self.first else "")


class Hub:
    """Reads in a thread that starts with the first subscription, in the process that subscribes (not before a fork)."""

    def __init__(self, client: Redis, tailing: Redis):
        self._client = client
        self._tailing = tailing
        self._lock = threading.Lock()
        self._positions: dict[int, str] = {}
        self._queues: dict[int, list[Subscription]] = {}
        self._local_turns: dict[int, _OwnTurn] = {}
        self._wake_key = f"hub:{uuid.uuid4().hex}"
        self._wake_position = "0-0"
        self._thread: threading.Thread | None = None

    @property
    def viewers(self) -> int:
        """Return the number of viewers connected to this process."""
        with self._lock:
            return sum(len(queues) for queues in self._queues.values())

    def has_viewers(self, turn_id: int) -> bool:
        """Return true if anybody watches a turn in this process."""
        return turn_id in self._queues

    def own(self, turn_id: int) -> None:
        """Expect every entry of a turn about to begin in this process from its writer, until `release`."""
        with self._lock:
            if turn_id not in self._positions:  # two sources would overtake each other
                self._local_turns[turn_id] = _OwnTurn()

    def hand_over(self, turn_id: int, entries: Sequence[Entry], unwritten: Sequence[Entry] = ()) -> None:
        """Deliver entries of a turn written in this process to its viewers; its writer keeps the `unwritten` ones."""
        with self._lock:
            if (local_turn := self._local_turns.get(turn_id)) is None:
                return  # the reader brings it
            local_turn.first = local_turn.first or entries
            local_turn.last = entries[-1].id
            local_turn.unwritten = unwritten
            queues = list(self._queues.get(turn_id, ()))
        _put(queues, entries)

    def release(self, turn_id: int) -> bool:
        """Leave the rest of a turn's stream, such as its jobs' reports, to the reader; returns whether to wake it."""
        with self._lock:
            local_turn = self._local_turns.pop(turn_id, None)
            if local_turn is None or turn_id not in self._queues:
                return False
            self._positions[turn_id] = local_turn.last or "0-0"
            self._start()
            return True

    def wake(self) -> None:
        """Make the reader reload its list of streams now; on its own it would do so within BLOCK_MS."""
        with suppress(RedisError), self._client.pipeline(transaction=False) as pipe:
            pipe.xadd(self._wake_key, {"w": 1}, maxlen=1, approximate=False)
            pipe.expire(self._wake_key, 60)
            pipe.execute()

    @contextmanager
    def subscribe(self, turn_id: int, after: str = "") -> Iterator[Subscription]:
        """Yield every entry of a turn after an id, or all, until the context ends. Raises RedisError at the start."""
        subscription = Subscription(after)
        with self._lock:
            local_turn = self._local_turns.get(turn_id)
            is_stored = local_turn is None or local_turn.has_more
            entries = list(local_turn.unwritten if is_stored else local_turn.first) if local_turn else []
            is_new = local_turn is None and turn_id not in self._positions
            self._queues.setdefault(turn_id, []).append(subscription)
            if local_turn is None:
                self._positions.setdefault(turn_id, "0-0")
                self._start()
        try:
            if is_stored:
                # Every viewer reads the existing entries itself: the queues get what comes from now on.
                subscription.backlog.extend(read(self._client, turn_id, after))
            subscription.backlog.extend(entries)
            if is_new:
                if subscription.backlog:
                    self._advance(turn_id, subscription.backlog[-1].id)
                self.wake()
            yield subscription
        finally:
            with self._lock:
                self._queues[turn_id].remove(subscription)
                if not self._queues[turn_id]:
                    del self._queues[turn_id]
                    self._positions.pop(turn_id, None)

    def _advance(self, turn_id: int, entry_id: str) -> None:
        with self._lock:
            if order(entry_id) > order(self._positions[turn_id]):
                self._positions[turn_id] = entry_id

    def _start(self) -> None:
        if self._thread is None:
            work = (self._read, log, "turn reader lost redis, retrying", RETRY_SECONDS)
            self._thread = threading.Thread(target=repeat, args=work, name="turn-hub", daemon=True)
            self._thread.start()

    def _read(self) -> None:
        with self._lock:
            watched = dict(self._positions)
        streams: dict[Any, Any] = {log_key(turn_id): position for turn_id, position in watched.items()}
        streams[self._wake_key] = self._wake_position
        self._deliver(
            self._tailing.xread(streams, block=BLOCK_MS), {log_key(turn_id).encode(): turn_id for turn_id in watched}
        )
        if len(watched) > BUSY_STREAMS:
            time.sleep(BUSY_PAUSE)

    def _deliver(self, answer: Any, turns: dict[bytes, int]) -> None:
        for key, batch in answer:
            turn_id = turns.get(key)
            if turn_id is None:
                self._wake_position = batch[-1][0].decode()
                continue
            entries = [entry(entry_id, raw) for entry_id, raw in batch]
            with self._lock:
                if turn_id not in self._positions:
                    continue
                if order(entries[-1].id) > order(self._positions[turn_id]):
                    self._positions[turn_id] = entries[-1].id
                queues = list(self._queues.get(turn_id, ()))
            _put(queues, entries)


def _put(queues: Iterable[Subscription], entries: Iterable[Entry]) -> None:
    for subscription in queues:
        for item in entries:
            subscription.queue.put(item)
