"""The time until a computing thread makes way for another one of its process, by how many turns are running."""

from __future__ import annotations

import sys

FEW = 8
"""Up to so many turns, a process has time."""
ALONE, TOGETHER = 0.0002, 0.001
"""Seconds. A turn hops between threads on its way to the first word, and each hop may wait that long for the thread
that holds the interpreter: compared with 0.2 ms, the first word came 4 ms later at Python's 5 ms, 2 ms later at 1 ms.
With 300 streams being read, 0.2 ms is spent on handing over: the 95th percentile of a token's delay was 74 to 99 ms at
1 ms, 127 to 188 at 0.2 (`bench/relay.py`, 23 November 2026)."""


def tune_switch_interval(turns: int) -> None:
    """Set it for a process in which so many turns are running or about to run."""
    sys.setswitchinterval(ALONE if turns <= FEW else TOGETHER)
