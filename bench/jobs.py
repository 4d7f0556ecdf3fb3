"""The cost of what follows a turn: the total CPU time for a turn with its jobs, and for noting a memory.

It is measured for the whole machine, because processes that run jobs are often gone before they can be queried: nothing
else may run. The user has many memories; the model answers at once, in the requested form.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import load
from bench.first import MEMORIES, one_more, remember
from bench.report import table
from bench.stack import Stack, run_stack
from jobs.work_horse import IDLE_SECONDS

BUSY = (40, 0.4)
"""How often, and how many seconds apart: longer than the jobs take, but shorter than their process stays idle."""
NOW_AND_THEN = (8, IDLE_SECONDS + 1)
"""The same if no process is left from the previous turn, as for somebody who reads before they answer."""
SETTLING = 3.0


def main() -> bool:
    """Print it for MariaDB; nothing is promised about it."""
    with run_stack(database="mariadb", worker=True) as stack:
        remember(stack)
        stack.script(tokens=3, stamp=True)
        stack.script_also(match="memory_operations", structured={"statements": [], "title": "A title"})
        _wait_until_idle()
        note, chat = one_more(stack), partial(_chat, stack)
        rows = [
            ("a memory noted through the API, and its vector", _milliseconds(note, *BUSY)),
            ("a turn in a new conversation, and its jobs", _milliseconds(chat, *BUSY)),
            ("the same, by itself", _milliseconds(chat, *NOW_AND_THEN)),
        ]
    table(f"CPU of all processes, {MEMORIES:,} memories, mariadb (ms)", ("", "each"), rows)
    return True


def _chat(stack: Stack, _number: int) -> None:
    load.first_token(stack.url, load.chat_request(stack.url, stack.token))


def _milliseconds(work: Callable[[int], object], times: int, pause: float) -> float:
    """CPU milliseconds per repetition."""
    before = _cpu()
    for number in range(times):
        work(number)
        time.sleep(pause)
    _wait_until_idle()
    return (_cpu() - before) / times * 1_000


def _wait_until_idle() -> None:
    """Wait until the jobs are done: a few seconds with next to no CPU use."""
    while True:
        before = _cpu()
        time.sleep(SETTLING)
        if _cpu() - before < 0.05 * SETTLING:
            return


def _cpu() -> float:
    """Seconds of CPU that the machine has spent on anything."""
    user, nice, system, _idle, _waiting, *more = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + sum(more[:3])) / 100
