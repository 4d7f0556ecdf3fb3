"""Recall by language: facts told and asked about in fourteen languages, and asked about in English.

`python -m bench languages [--embedder local|multilingual]`: one account per language, one conversation per fact, among
as many other statements. The facts (`facts.tsv`) were written for this. `--floors` instead prints the share of texts
above each cosine with either model.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.languages import relatedness
from bench.product import add_conversation, add_user, product
from bench.report import table, verdict
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.retrieval.service import search
from webapp.retrieval.vector_jobs import index_user

FACTS = Path(__file__).with_name("facts.tsv")
START = datetime(2026, 1, 1, tzinfo=UTC)
OWN, ACROSS = 0.85, 0.70


def main(arguments: Sequence[str] = ()) -> bool:
    """Tell, ask and print; returns whether every language reaches its recall."""
    parser = argparse.ArgumentParser(prog="python -m bench languages")
    parser.add_argument("--embedder", choices=("local", "multilingual"), default="multilingual")
    parser.add_argument("--floors", action="store_true", help="print what lies above which cosine instead")
    options = parser.parse_args(list(arguments))
    with FACTS.open(encoding="utf-8", newline="") as lines:
        rows = {row["key"]: row for row in csv.DictReader(lines, delimiter="\t")}
    languages = [name for name in next(iter(rows.values())) if name != "key"]
    if options.floors:
        return relatedness.print_floors(rows, languages)
    keys = [key for key in rows if not key.endswith("?")]
    found: list[tuple[Any, ...]] = []
    with product(embedder=options.embedder) as app, app.app_context():
        for language in languages:
            user_id, by_message = _tell(language, [(key, rows[key][language]) for key in keys])
            own = [_rank(user_id, rows[f"{key}?"][language], key, by_message) for key in keys]
            across = [_rank(user_id, rows[f"{key}?"]["en"], key, by_message) for key in keys]
            found.append(
                (language, *(sum(rank <= k for rank in ranks) / len(keys) for ranks in (own, across) for k in (1, 5)))
            )
    table(
        f"{len(keys)} facts a language, embedder {options.embedder}",
        ("", "own recall@1", "own recall@5", "asked in English @1", "@5"),
        [(language, *(f"{value:.2f}" for value in values)) for language, *values in found],
    )
    held = verdict(f"recall@5 in each language at least {OWN}", all(row[2] >= OWN for row in found))
    return verdict(f"asked in English at least {ACROSS}", all(row[4] >= ACROSS for row in found)) and held


def _tell(language: str, facts: Sequence[tuple[str, str]]) -> tuple[int, dict[int, str]]:
    user_id = add_user(f"{language}@example.org")
    by_message: dict[int, str] = {}
    for place, (key, text) in enumerate(facts):
        with write_transaction():
            row = Message(role="user", content=text, created_at=START + timedelta(days=place))
            add_conversation(user_id, [row])
            by_message[row.message_id] = key
    while index_user(user_id).has_more:
        pass
    return user_id, by_message


def _rank(user_id: int, question: str, key: str, by_message: dict[int, str]) -> int:
    ranked = [by_message[item.id] for item in search(user_id, question, kinds=("message",), limit=20).items]
    db.session.remove()
    return ranked.index(key) + 1 if key in ranked else len(by_message) + 1
