"""The turns that long work takes: a job does a little, stores it, and queues itself again behind other people's.

Work that cannot be stored halfway is a generator that the process keeps between jobs; another process begins anew.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from typing import Any, TypeVar, cast

SECONDS = 2.0
"""How long a job goes on before others get their turn: whoever waits, waits for one slice of each other person."""
ENDLESS = float("inf")
"""For a command that has a process of its own."""
FEW, MANY = 8, 64
QUICK_SHARE = 1 / 8
MAX_UNFINISHED = 4
"""The most generators that a process keeps; the oldest goes first."""

Result = TypeVar("Result")
Work = Generator[Hashable, None, Result]
"""Yields wherever it may be left, what it has stored by then (such as a position), and returns its result."""


class Slice:
    """One turn of a job. `portion` is how many things it should take on before it asks again whether to go on."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = SECONDS if seconds is None else seconds
        self.began = self._checked_at = time.monotonic()
        self.portion = FEW

    def has_time(self) -> bool:
        """Return whether there is time for another portion, which doubles if the last one took little of the slice."""
        moment = time.monotonic()
        if moment - self._checked_at < QUICK_SHARE * self.seconds:
            self.portion = min(2 * self.portion, MANY)
        self._checked_at = moment
        return moment - self.began < self.seconds


_unfinished: OrderedDict[Hashable, tuple[Hashable, Work[Any]]] = OrderedDict()


def advance(key: Hashable, begin: Callable[[], Work[Result]], turn: Slice, stored: Hashable = None) -> Result | None:
    """Continue some work for a slice; return its result, None if unfinished.

    `stored` is what the work has stored so far: if this process lacks that, it begins anew, and takes as long again as
    it needed to get there.
    """
    step, work = _unfinished.pop(key, (None, None))
    if work is not None and step != stored:
        work.close()
        work = None
    try:
        if work is None:
            work = begin()
            step = next(work)
            turn = Slice(max(turn.seconds, time.monotonic() - turn.began) if turn.seconds else 0)
        else:
            step = next(work)
        while turn.has_time():
            step = next(work)
    except StopIteration as end:
        return cast(Result, end.value)
    while len(_unfinished) >= MAX_UNFINISHED:
        _unfinished.popitem(last=False)[1][1].close()
    _unfinished[key] = step, work
    return None


def has_unfinished_work() -> bool:
    """Return whether this process is in the middle of any work that another one would have to begin anew."""
    return bool(_unfinished)
