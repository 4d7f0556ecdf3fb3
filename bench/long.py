"""A conversation of 1,000 turns: prompts stay within budget, the cost of a turn stays flat, early facts are found.

`python -m bench long` takes minutes; LONG_TURNS=500 makes it shorter.
"""

from __future__ import annotations

import os
import time

from bench.product import run_application
from bench.report import table, verdict
from testkit.long_conversation import RecalledFact, Turn, ask_about_facts, hold_conversation, mean
from testkit.people import api_client, make_person

TURNS = int(os.environ.get("LONG_TURNS", "1000"))
"""At least 100; whether the cost stays flat can be seen from 500."""
BLOCK = 100
FLAT = 1.25
"""The most by which the mean of a hundred turns may grow in any later hundred, once summaries fill their budget."""
SETTLED = 3


def main() -> bool:
    """Hold the conversation, ask about what was told at its beginning, and print both per hundred turns."""
    with run_application(scripted=False) as (app, counting, _model):
        client = api_client(app, make_person(app))
        began, turns, seconds = time.monotonic(), [], []
        for turn in hold_conversation(app, client, counting, TURNS):
            turns.append(turn)
            if len(turns) % BLOCK == 0:
                seconds.append(time.monotonic() - began)
        found = list(ask_about_facts(app, client, counting))
    return _report(turns, seconds, [item for item, _ in found], [turn for _, turn in found])


def _report(turns: list[Turn], seconds: list[float], found: list[RecalledFact], asked: list[Turn]) -> bool:
    blocks = [turns[at : at + BLOCK] for at in range(0, len(turns), BLOCK)]
    rows = [
        (
            f"{BLOCK * at + 1}–{BLOCK * at + len(block)}",
            round(mean(block, lambda turn: turn.tokens)),
            max(turn.tokens for turn in block),
            min(turn.budget for turn in block),
            f"{mean(block, lambda turn: turn.calls):.2f}",
            round(mean(block, lambda turn: turn.used)),
            f"{(seconds[at] - (seconds[at - 1] if at else 0)) / BLOCK * 1000:.0f}" if at < len(seconds) else "",
        )
        for at, block in enumerate(blocks)
    ]
    table(
        f"A conversation of {len(turns)} turns",
        (
            "turns",
            "prompt tokens, mean",
            "max",
            "budget",
            "model calls a turn",
            "tokens a turn, all calls",
            "ms a turn",
        ),
        rows,
    )
    table(
        "What was told in the first hundred turns, asked at the end",
        ("question", "the answer stood in"),
        [(item.fact.question, ", ".join(item.kinds) or "nothing") for item in found],
    )
    within = verdict("every prompt within its budget", all(turn.tokens <= turn.budget for turn in [*turns, *asked]))
    later = blocks[SETTLED:]
    flat = len(later) > 1  # otherwise there is nothing to compare
    if flat:
        calls = [mean(block, lambda turn: turn.calls) for block in later]
        used = [mean(block, lambda turn: turn.used) for block in later]
        flat = max(calls) <= FLAT * calls[0] and max(used) <= FLAT * used[0]
    flat = verdict(
        f"from turn {SETTLED * BLOCK + 1} on, calls and tokens a turn never exceed {FLAT} times those of its hundred",
        flat,
    )
    known = verdict("the answers to all early facts are in the prompt", all(item.kinds for item in found))
    return within and flat and known
