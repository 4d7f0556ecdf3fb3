"""The turns that long work takes: a job does a little, stores it, and queues itself again behind other people's."""

from __future__ import annotations

import time

SECONDS = 2.0
"""How long a job goes on before others get their turn: whoever waits, waits for one slice of each other person."""
FEW, MANY = 8, 64
QUICK = 1 / 8


class Slice:
    """One turn of a job. `portion` is how many things it should take on before it asks again whether to go on."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = SECONDS if seconds is None else seconds
        self._began = self._asked = time.monotonic()
        self.portion = FEW

    def goes_on(self) -> bool:
        """Whether there is time for another portion; it is twice as large if the last one took little of the slice."""
        at = time.monotonic()
        if at - self._asked < QUICK * self._seconds:
            self.portion = min(2 * self.portion, MANY)
        self._asked = at
        return at - self._began < self._seconds


def endless() -> Slice:
    """A turn without an end, for a command that has a process of its own."""
    return Slice(float("inf"))
