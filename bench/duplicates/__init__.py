"""Memories that say the same: labelled pairs in many languages, and the effect of each threshold on them.

`python -m bench duplicates [--embedder multilingual]` embeds `pairs.tsv` (same or not, language, two statements) with
the product's embedder and prints, for each threshold, how many of the equal pairs the product would merge and how many
others it would merge wrongly, by its rule (`relations.is_same`) and by the vectors alone; then the pairs that it
gets wrong at its own threshold, and what is left to the nightly check. The threshold and the rule were tuned on these
very pairs: that they hold here says little about unseen pairs.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.report import table, verdict
from webapp.llm.embeddings import Embedder
from webapp.llm.encoders import LocalEmbedder, MultilingualEmbedder
from webapp.memories.rules.policy import MAYBE_SAME_COSINE, SAME_COSINE
from webapp.memories.rules.relations import is_same, may_be_same

PAIRS = Path(__file__).parent / "pairs.tsv"
STEPS = [n / 100 for n in range(60, 100, 2)]
WRONG = 0.02
"""At most this share of the different pairs may be merged: what was merged wrongly is lost to its owner."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements, whether they say the same, and how close their vectors are."""

    same: bool
    language: str
    left: str
    right: str
    cosine: float = 0.0

    def merged_at(self, bound: float, *, by_rule: bool = True) -> bool:
        """Return whether they count as one at a threshold."""
        return self.cosine >= bound and (not by_rule or is_same(self.left, self.right, 1.0))


def main(arguments: Sequence[str] = ()) -> bool:
    """Print the curve; returns whether the product's threshold merges few enough of the different pairs."""
    parser = argparse.ArgumentParser(prog="python -m bench duplicates")
    parser.add_argument("--embedder", choices=("local", "multilingual"), default="local")
    options = parser.parse_args(list(arguments))
    pairs = measure_pairs(LocalEmbedder() if options.embedder == "local" else MultilingualEmbedder())
    table(
        f"{len(pairs)} pairs by threshold",
        ("cosine from", "same, merged", "others, merged", "same by vectors alone", "others by vectors alone"),
        [
            (f"{bound:.2f}", *_shares(pairs, bound, by_rule=True), *_shares(pairs, bound, by_rule=False))
            for bound in STEPS
        ],
    )
    wrong = [pair for pair in pairs if pair.merged_at(SAME_COSINE) != pair.same]
    table(
        f"wrong at {SAME_COSINE}",
        ("same", "language", "one", "other", "cosine"),
        [(pair.same, pair.language, pair.left, pair.right, f"{pair.cosine:.3f}") for pair in wrong],
    )
    looked_at = [
        pair for pair in pairs if may_be_same(pair.left, pair.right, pair.cosine) and not pair.merged_at(SAME_COSINE)
    ]
    counts = f"{sum(p.same for p in looked_at)} same and {sum(not p.same for p in looked_at)} others"
    print(f"left to the nightly look, from {MAYBE_SAME_COSINE}: {counts}")
    others = [pair for pair in pairs if not pair.same]
    share = sum(pair.merged_at(SAME_COSINE) for pair in others) / len(others)
    return verdict(f"others merged at {SAME_COSINE}: {share:.3f}, at most {WRONG}", share <= WRONG)


def measure_pairs(embedder: Embedder) -> list[Pair]:
    """The labelled pairs with their cosines."""
    with PAIRS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    left = embedder.embed_passages([row[2] for row in rows])
    right = embedder.embed_passages([row[3] for row in rows])
    return [
        Pair(row[0] == "same", row[1], row[2], row[3], float(one @ other))
        for row, one, other in zip(rows, left, right, strict=True)
    ]


def _shares(pairs: Sequence[Pair], bound: float, *, by_rule: bool) -> tuple[str, str]:
    merged = {
        same: sum(pair.merged_at(bound, by_rule=by_rule) for pair in pairs if pair.same is same)
        for same in (True, False)
    }
    total = {same: sum(pair.same is same for pair in pairs) for same in (True, False)}
    return f"{merged[True]}/{total[True]}", f"{merged[False]}/{total[False]}"
