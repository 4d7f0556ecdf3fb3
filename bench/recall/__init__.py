"""Recall on three sets of long conversations with questions and their evidence, through the product's own services.

`python -m bench recall --data DIR [--sets locomo,longmemeval,beam] [--every N] [--away]`: the messages are written by
the services that turns use and indexed by the index job; the questions go unchanged to the product's search, and then
to a new conversation, whose prompt is composed as for a reply. Vectors are kept in the system's temporary directory
between runs. `python -m bench recall --data DIR --fit` prints the curve of every weight.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.product import product
from bench.recall import weights
from bench.recall.data import SETS, load
from bench.recall.measure import Measured, measure
from bench.recall.store import keep_vectors, store
from bench.report import table, verdict

TARGETS = {
    ("locomo", "search", "recall@10"): 0.80,
    ("longmemeval", "search", "ndcg@10"): 0.83,
    ("beam", "search", "ndcg@10"): 0.70,
    ("locomo", "reply", "recall"): 0.85,
    ("longmemeval", "reply", "all"): 0.86,
    ("beam", "reply", "recall"): 0.80,
}
TOKENS = {"locomo": 1_500, "longmemeval": 1_500, "beam": 2_000}


def main(arguments: Sequence[str] = ()) -> bool:
    """Store, index, ask and print; returns whether every target is met."""
    parser = argparse.ArgumentParser(prog="python -m bench recall")
    parser.add_argument("--data", type=Path, required=True, help="the directory with the sets")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--every", type=int, default=1, help="ask only every n-th question")
    parser.add_argument("--fit", action="store_true", help="print the curve of every weight instead")
    parser.add_argument("--only", default="", help="with --fit: only the weights whose name holds this")
    parser.add_argument("--embedder", default="local", help="the embedder to measure with")
    parser.add_argument("--away", action="store_true", help="ask while the embedder is away: by words alone")
    options = parser.parse_args(list(arguments))
    sets = {name: load(name, options.data) for name in options.sets.split(",")}
    with product(embedder=options.embedder) as app, app.app_context(), keep_vectors(app, away=options.away):
        stored = {name: [store(account) for account in accounts] for name, accounts in sets.items()}
        if options.fit:
            return weights.print_curves(stored, options.every, options.only)
        found = {name: measure(name, accounts, options.every) for name, accounts in stored.items()}
    return min([_report(name, measured) for name, measured in found.items()])


def _report(name: str, found: Measured) -> bool:
    for way, rows in (("search", found.search), ("reply", found.reply)):
        columns = list(next(iter(rows.values())))
        table(
            f"{name}: {way}",
            ("", *columns),
            [(group, *(_show(column, values[column]) for column in columns)) for group, values in rows.items()],
        )
    held = []
    for (of, way, column), least in TARGETS.items():
        if of == name:
            value = getattr(found, way)["all"][column]
            held.append(verdict(f"{name}, {way}: {column} {value:.3f}, at least {least}", value >= least))
    most = found.reply["all"]["tokens p95"]
    held.append(verdict(f"{name}, reply: tokens p95 {most:.0f}, at most {TOKENS[name]}", most <= TOKENS[name]))
    return all(held)


def _show(column: str, value: float) -> str:
    is_share = column.startswith(("recall", "all", "ndcg"))
    return f"{value:.3f}" if is_share else f"{value:,.1f}" if column in ("ms", "passages") else f"{value:,.0f}"
