"""Injects faults into the running product while people use it, and checks what must hold afterwards: `make chaos`.

`python -m bench chaos [--runs N] [--seed N] [--database mariadb|sqlite] [--seconds 8] [--only NAME]`: in each run
people work for `--seconds`, one fault hits the product at a moment drawn from the seed, it is healed, given time, and
checked. Not part of `make bench`: it counts violations, and measures only how long it takes to serve again.
"""

from bench.chaos.runs import main

__all__ = ["main"]
