"""Sends many streams, each at its own pace, from one timer.

A task that sleeps and writes for every token costs several times as much as the token; instead, one callback of the
event loop writes what is due for all streams, straight to their transports, and schedules itself again.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Sequence

_COALESCE = 0.002  # seconds: streams due within this time are served by one wake-up
_HIGH_WATER = 1 << 20  # bytes waiting for a slow reader before its stream pauses


class Flow:
    """One stream being sent: frames at a certain pace; `done` resolves to the number of frames sent."""

    __slots__ = ("_frames", "_position", "_transport", "closed", "delay", "done")

    def __init__(
        self, transport: asyncio.Transport, frames: Sequence[bytes | Callable[[], bytes]], delay: float
    ) -> None:
        self._transport = transport
        self._frames = frames
        self._position = 0
        self.delay = delay
        self.closed = False
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    @property
    def sent(self) -> int:
        """Return how many frames were sent so far."""
        return self._position

    def step(self) -> bool:
        """Send the next frame (all of them at pace zero); False if there is nothing left to do."""
        transport = self._transport
        if self.closed or transport.is_closing():
            self._resolve()
            return False
        if transport.get_write_buffer_size() > _HIGH_WATER:
            return True
        count = 1 if self.delay > 0 else len(self._frames) - self._position
        batch = []
        for frame in self._frames[self._position : self._position + count]:
            data = frame if isinstance(frame, bytes) else frame()
            batch.append(b"%x\r\n%b\r\n" % (len(data), data))
        transport.write(b"".join(batch))
        self._position += count
        if self._position >= len(self._frames):
            self._resolve()
            return False
        return True

    def _resolve(self) -> None:
        if not self.done.done():
            self.done.set_result(self._position)


class Pacer:
    """The shared timer of one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[float, int, Flow]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, flow: Flow, first_delay: float) -> int:
        """Send the entire flow; cancelling stops it."""
        self._push(self._loop.time() + first_delay, flow)
        self._arm()
        try:
            return await flow.done
        finally:
            flow.closed = True

    def _push(self, when: float, flow: Flow) -> None:
        heapq.heappush(self._due, (when, next(self._order), flow))

    def _arm(self) -> None:
        if not self._due:
            return
        when = self._due[0][0]
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._loop.time()
        while self._due and self._due[0][0] <= now + _COALESCE:
            when, _, flow = heapq.heappop(self._due)
            if flow.step():
                # From the time it was due, not from now: a busy moment must not slow the stream down permanently.
                self._push(max(when + flow.delay, now - 1.0) if flow.delay > 0 else now + 0.01, flow)
        self._arm()
