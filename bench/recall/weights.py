"""Curves of every ranking weight, on all sets together: what each value gives, and what leaving it out costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from bench.recall.measure import measure_search
from bench.recall.store import Stored
from bench.report import table
from webapp.db.base import db
from webapp.retrieval.cache import index_cache
from webapp.retrieval.index import UserIndex
from webapp.retrieval.weights import FusionWeights, Weights

FACTORS = (0.0, 0.5, 0.75, 1.0, 1.33, 2.0)
"""Multiples of the current value; 0 leaves a feature out."""
SHOWN = ("recall@10", "ndcg@10")


def print_curves(stored: dict[str, list[Stored]], every: int, only: str) -> bool:
    """Print what each value gives, for each weight whose name contains `only`; the mean over the sets comes last."""
    indexes = {item.user_id: _index(item) for accounts in stored.values() for item in accounts}
    rows: list[tuple[object, ...]] = []
    for name, value, keyword, fusion in _candidates(only):
        for index in indexes.values():
            index.reweigh(keyword, fusion)
        means = {of: _mean(accounts, every) for of, accounts in stored.items()}
        whole = [sum(mean[column] for mean in means.values()) / len(means) for column in SHOWN]
        shown = [*(mean[column] for mean in means.values() for column in SHOWN), *whole]
        rows.append((name, f"{value:g}", *(f"{number:.3f}" for number in shown)))
        print(*rows[-1], flush=True)
    header = ("weight", "value", *(f"{of} {column}" for of in [*stored, "all"] for column in SHOWN))
    table("Search by weight; 0 leaves the feature out", header, rows)
    return True


def _candidates(only: str) -> Iterator[tuple[str, float, Weights, FusionWeights]]:
    for kind in (Weights(), FusionWeights()):
        for field in fields(kind):
            name = f"{type(kind).__name__}.{field.name}"
            if only not in name or field.name == "query_terms":
                continue
            present = float(getattr(kind, field.name))
            for factor in FACTORS:
                value: Any = present * factor
                if isinstance(kind, Weights):
                    yield name, value, replace(kind, **{field.name: value}), FusionWeights()
                else:
                    yield name, value, Weights(), replace(kind, **{field.name: value})


def _index(stored: Stored) -> UserIndex:
    entry = index_cache().get(stored.user_id, 600)
    db.session.rollback()
    if entry is None:
        raise RuntimeError("the index was not built in time")
    return entry.index


def _mean(accounts: list[Stored], every: int) -> dict[str, float]:
    rows = [measure_search(stored, question) for stored in accounts for question in stored.questions[::every]]
    return {column: sum(row[column] for row in rows) / len(rows) for column in SHOWN}
