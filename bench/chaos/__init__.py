"""Faults put to the running product while people use it, and what must hold afterwards: `make chaos`.

`python -m bench chaos [--runs N] [--seed N] [--database mariadb|sqlite] [--seconds 8] [--only NAME]`: in each run
people work for `--seconds`, one fault hurts the product at a moment drawn from the seed, it is healed, given time,
and looked at. Not part of `make bench`: it counts what is violated, and times only how long it takes to serve again.
"""

from bench.chaos.runs import main

__all__ = ["main"]
