"""`python -m bench [part ...]`: run the named parts, all by default, and print their tables.

`python -m bench recall --data FILE` needs data of its own, so it runs only when named; the arguments after its name are
its own.
"""

from __future__ import annotations

import importlib
import sys

from bench.report import machine

PARTS = ("relay", "lists", "footprint", "retrieval", "prefix", "upkeep", "long", "jobs", "fairness", "schedules")
BY_NAME = (
    *("recall", "languages", "extraction", "duplicates", "truth"),
    *("chaos", "soak", "imports", "odd_world", "odd_inputs"),
)
"""The parts that take arguments of their own."""


def main(names: list[str]) -> int:
    """Run the parts one after another; returns how many did not hold their promises."""
    if names[:1] and (names[0] in BY_NAME or (names[0] in PARTS and names[1:2] and names[1].startswith("-"))):
        print(machine())
        return int(not importlib.import_module(f"bench.{names[0]}").main(names[1:]))
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join((*PARTS, *BY_NAME))}", file=sys.stderr)
        return 2
    print(machine())
    failed = 0
    for name in names or PARTS:
        failed += not importlib.import_module(f"bench.{name}").main()
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
