"""`python -m bench soak [--minutes 30] [--people 4] [--database mariadb|sqlite]`: how a process grows over time.

People chat, note memories and have some forgotten, while jobs run; every process that lives from the end of the warm-up
to the end of the run is sampled repeatedly: resident memory, threads, open files. It is flat if the last third needs no
more than the first one after the warm-up, within the tolerances below.

What people own stays the same size, since their index is part of a web process: the oldest conversation is deleted if
there are enough, and so is a memory. With `--growing`, conversations stay, and most memories.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from bench.chaos.workload import TOKEN_DELAY, WORDS, Ledger, People, at_work
from bench.client import Client
from bench.report import table, verdict
from bench.stack import Stack, family, resident, run_stack
from testkit.processes import wait_until

SAMPLES = 60
WARM_UP = 0.25
"""The share of the run in which caches fill and pools grow."""
SHARE, MB, THREADS, FILES = 0.05, 6.0, 4.0, 8.0
"""How much a process may grow: a share of its memory, or this many MB; threads; open files."""


KEPT_CONVERSATIONS, KEPT_MEMORIES = 10, 50
"""How much people who tidy up keep."""


class Tidy(People):
    """Somebody who deletes as much as they add, once there is enough."""

    def __init__(self, number: int, client: Client, ledger: Ledger, seed: int) -> None:
        super().__init__(number, client, ledger, seed)
        self._conversations: list[int] = []

    def _chat(self) -> None:
        super()._chat()
        if self._conversation is not None and self._conversation not in self._conversations[-1:]:
            self._conversations.append(self._conversation)
        if len(self._conversations) > KEPT_CONVERSATIONS:
            oldest = self._conversations.pop(0)
            self.ledger.judge("deleting", self.client.call("DELETE", f"/api/conversations/{oldest}").status)

    def _note(self) -> None:
        super()._note()
        if len(self._mine) > KEPT_MEMORIES:
            self._forget()


class Sample(NamedTuple):
    """The resources of one process at one moment."""

    memory: float
    threads: float
    files: float


def main(arguments: list[str]) -> bool:
    """Run it as the arguments say; returns whether every process was flat and nothing went wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--people", type=int, default=4)
    parser.add_argument("--database", choices=("mariadb", "sqlite"), default="mariadb")
    parser.add_argument("--growing", action="store_true", help="nobody deletes a conversation")
    wanted = parser.parse_args(arguments)
    with run_stack(database=wanted.database, worker=True, schedule=True) as stack:
        wait_until(lambda: _takes(stack), "the model server")
        stack.script_also(match="memory_operations", structured={"statements": [], "title": "A title"})
        ledger = Ledger()
        kind = People if wanted.growing else Tidy
        people = [kind(number, Client(stack.url, stack.token), ledger, number) for number in range(wanted.people)]
        with at_work(people):
            seen = _watch(stack, wanted.minutes * 60)
    return _report(seen, ledger, wanted.minutes)


def _takes(stack: Stack) -> bool:
    try:
        stack.script(reply=WORDS, token_delay=TOKEN_DELAY)
    except OSError:
        return False
    return True


def _watch(stack: Stack, seconds: float) -> dict[tuple[str, int], list[Sample]]:
    """The samples after the warm-up, for every process that lived through all of them."""
    seen: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    start, rounds = time.monotonic(), 0
    for number in range(SAMPLES):
        time.sleep(max(0.0, start + (number + 1) * seconds / SAMPLES - time.monotonic()))
        if number < SAMPLES * WARM_UP:
            continue
        rounds += 1
        for name in ("web", "worker"):
            for pid in family(stack.processes[name].pid):
                if (sample := _sample(pid)) is not None:
                    seen[(name, pid)].append(sample)
    return {key: samples for key, samples in seen.items() if len(samples) == rounds}


def _sample(pid: int) -> Sample | None:
    try:
        threads = len(os.listdir(f"/proc/{pid}/task"))
        return Sample(resident(pid), float(threads), float(len(os.listdir(Path(f"/proc/{pid}/fd")))))
    except OSError:  # a job's process, which has just ended
        return None


def thirds(values: Sequence[float]) -> tuple[float, float]:
    """The means of the first and of the last third."""
    size = max(1, len(values) // 3)
    return mean(values[:size]), mean(values[-size:])


def is_flat(samples: Sequence[Sample]) -> bool:
    """Return whether a process grew within the tolerances."""
    allowed = (max(MB, SHARE * thirds([sample.memory for sample in samples])[0]), THREADS, FILES)
    growth = [ends - begins for begins, ends in map(thirds, zip(*samples, strict=True))]
    return all(grown <= most for grown, most in zip(growth, allowed, strict=True))


def _report(seen: dict[tuple[str, int], list[Sample]], ledger: Ledger, minutes: float) -> bool:
    rows = []
    for (name, pid), samples in sorted(seen.items()):
        row: list[object] = [f"{name} {pid}"]
        for values in zip(*samples, strict=True):
            begins, ends = thirds(values)
            row += [begins, ends, max(values)]
        rows.append([*row, "flat" if is_flat(samples) else "GROWS"])
    columns = [f"{what} {when}" for what in ("RSS MB", "threads", "files") for when in ("first", "last", "most")]
    done = sum(said.is_done for said in ledger.said)
    title = f"{minutes:g} minutes, {done:,} turns, {len(ledger.noted) + len(ledger.forgotten):,} memories"
    table(title, ("process", *columns, ""), rows)
    for wrong in ledger.wrong[:20]:
        print(wrong)
    flat = verdict("memory, threads and open files stay flat", bool(rows) and all(map(is_flat, seen.values())))
    return verdict(f"nothing went wrong ({ledger.refused} refused)", not ledger.wrong and done > 0) and flat
