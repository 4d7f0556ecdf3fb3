"""The runs: work, fault, healing, check."""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from bench.chaos.faults import FAULTS, UNSAVED, Fault
from bench.chaos.invariants import settle, violations
from bench.chaos.workload import REPLY, Ledger, People, at_work
from bench.client import AWAY, Client
from bench.cluster.faults import FAULTS as CLUSTER_FAULTS
from bench.cluster.stack import cluster
from bench.report import percentile, table, verdict
from bench.stack import Stack, run_stack

PEOPLE = 4
MODEL = ("bench.chaos.model",)
SERVES_WITHIN = 60.0
"""Seconds after which a product that does not answer yet counts as needing help."""


@dataclass
class Tally:
    """The results of the runs with one fault."""

    runs: int = 0
    messages: int = 0
    violations: list[str] = field(default_factory=list)
    serves_after: list[float] = field(default_factory=list)


def main(arguments: list[str]) -> bool:
    """Run it as the arguments say; returns whether nothing was violated."""
    parser = argparse.ArgumentParser(prog="python -m bench chaos")
    parser.add_argument("--runs", type=int, default=2 * len(FAULTS))
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--database", choices=("mariadb", "sqlite", "cluster"), default="mariadb")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--only", choices=sorted({fault.__name__ for fault in (*FAULTS, *CLUSTER_FAULTS)}))
    wanted = parser.parse_args(arguments)
    on_cluster = wanted.database == "cluster"
    print(f"seed {wanted.seed}, {wanted.runs} runs on {wanted.database}", flush=True)
    faults = [fault for fault in (CLUSTER_FAULTS if on_cluster else FAULTS) if wanted.only in (None, fault.__name__)]
    tallies: dict[str, Tally] = defaultdict(Tally)
    with cluster() if on_cluster else _one_machine(wanted.database) as stack:
        before = _size(stack)
        for number in range(wanted.runs):
            fault = faults[number % len(faults)]
            _run(stack, fault, wanted.seed + number, wanted.seconds, tallies[fault.__name__])
            last = tallies[fault.__name__]
            print(f"{number + 1:4} {fault.__name__:20} serves after {last.serves_after[-1]:.1f} s", flush=True)
        after = _size(stack)
    return _report(tallies, before, after, wanted.seed)


def _one_machine(database: str) -> AbstractContextManager[Stack]:
    return run_stack(database=database, worker=True, schedule=True, durable=True, model=MODEL)


def _run(stack: Stack, fault: Fault, seed: int, seconds: float, tally: Tally) -> None:
    """One run; its result is added to the tally."""
    dice = random.Random(seed)
    ledger = Ledger()
    client = Client(stack.url, stack.token)
    people = [People(number, client, ledger, dice.randrange(10**9)) for number in range(PEOPLE)]
    with at_work(people):
        time.sleep(seconds * dice.uniform(0.2, 0.6))
        heal = fault(stack, dice)
        tally.serves_after.append(_serves_after(Client(stack.url, stack.token, patience=5)))
        if heal is not None:
            heal()
        time.sleep(seconds * 0.3)
    left = settle(stack)
    found = [f"still owed: {what}" for what in left] + violations(stack, ledger, unsaved=UNSAVED.get(fault.__name__, 0))
    found += [f"{person.name} still waits" for person in people if person.is_alive()]
    tally.runs += 1
    tally.messages += len(ledger.said)
    for what in found:
        print(f"     VIOLATED by {fault.__name__} (seed {seed}): {what}", flush=True)
    tally.violations += found


def _serves_after(client: Client) -> float:
    """Seconds until a new question is answered with a first word."""
    began = time.monotonic()
    while time.monotonic() - began < SERVES_WITHIN:
        try:
            for name, _data in client.stream("/api/chat/stream", {"message": f"probe {time.time_ns()}"}, ""):
                if name == "delta":
                    return time.monotonic() - began
        except AWAY:
            pass
        time.sleep(0.1)
    return SERVES_WITHIN


def _size(stack: Stack) -> float:
    return sum(stack.usage(name)[1] for name in stack.processes if name.startswith(("web", "worker")))


def _report(tallies: dict[str, Tally], before: float, after: float, seed: int) -> bool:
    rows = [
        [
            name.replace("_", " "),
            tally.runs,
            tally.messages,
            len(tally.violations),
            percentile(tally.serves_after, 50),
            max(tally.serves_after),
        ]
        for name, tally in tallies.items()
    ]
    header = ["fault", "runs", "messages", "violations", "serves again after, p50 s", "most s"]
    table(f"Chaos, seed {seed}", header, rows)
    print(
        f"\nWeb and workers: {before:.0f} MB before, {after:.0f} MB after; a whole reply has {len(REPLY)} characters."
    )
    count = sum(len(tally.violations) for tally in tallies.values())
    helpless = sum(time >= SERVES_WITHIN for tally in tallies.values() for time in tally.serves_after)
    held = verdict("nothing acknowledged is lost or there twice, nothing stays owed, forgotten is forgotten", not count)
    return verdict("it serves again by itself", not helpless) and held
