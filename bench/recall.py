"""Recall on a set of long dialogues with questions and their evidence, through the product's own ways in and out.

`python -m bench recall --data FILE`: one account a dialogue, one conversation a session at its date, the first speaker
as the user and the second as the assistant. The messages are written by the services that turns use and indexed by the
index job; the questions go to the product's search as they stand. Beside it, in the same run and over the same texts:
plain BM25 and plain vectors. The reader of the file and the metric (`recall_metric.py`) are looked for beside the data.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bench.product import product
from bench.report import percentile, table, verdict
from webapp.accounts.models import User
from webapp.conversations import messages
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.database import db, write_transaction
from webapp.model_clients import embedder
from webapp.retrieval.indexing import index_user
from webapp.retrieval.service import search
from webapp.text.tokens import estimate_tokens
from webapp.text.words import stems, words

FLOOR = 76.0
DEPTH = 60
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
COLUMNS = (
    "recall@5",
    "recall@10",
    "all@5",
    "all@10",
    "any@5",
    "any@10",
    "s_recall@5",
    "s_recall@10",
    "s_any@5",
    "s_any@10",
)

Rank = Callable[[str], list[str]]


@dataclass
class Stored:
    """A dialogue in the product: whose it is, and its turns' ids by message."""

    user_id: int
    turns: dict[int, str]
    texts: dict[str, str]


def main(arguments: Sequence[str] = ()) -> bool:
    """Store, index, ask and print; whether recall@10 holds its floor."""
    parser = argparse.ArgumentParser(prog="python -m bench recall")
    parser.add_argument("--data", type=Path, required=True, help="a file of dialogues with questions")
    parser.add_argument("--metric", type=Path, help="its reader and metric; recall_metric.py beside the data")
    options = parser.parse_args(list(arguments))
    metric = _load(options.metric or options.data.with_name("recall_metric.py"))
    dialogues = metric.load_locomo(options.data)
    rows: dict[str, list[tuple[int, dict[str, float]]]] = defaultdict(list)
    took: list[float] = []
    passages: list[int] = []
    with product() as app, app.app_context():
        started = time.perf_counter()
        stored = [_store(dialogue) for dialogue in dialogues]
        written = time.perf_counter()
        for item in stored:
            while index_user(item.user_id).more:
                pass
        indexed = time.perf_counter()
        for dialogue, item in zip(dialogues, stored, strict=True):
            ways: dict[str, Rank] = {
                "Commonplace": lambda q, item=item: _ask(item, q, took, passages),
                "BM25": _bm25(item.texts),
                "vectors": _vectors(item.texts),
            }
            search(item.user_id, "warm")
            for question in dialogue.qas:
                for name, rank in ways.items():
                    rows[name].append((question.category, _metrics(metric, rank(question.question), question.gold)))
    turns = sum(len(item.turns) for item in stored)
    print(
        f"\n{len(dialogues)} dialogues, {turns} turns, {len(rows['BM25'])} questions; written in "
        f"{written - started:.0f} s, indexed in {indexed - written:.0f} s"
    )
    _report(rows)
    table(
        "The product's search",
        ("", "p50", "p95"),
        [
            ("milliseconds", percentile(took, 50), percentile(took, 95)),
            ("tokens of the first 10 passages", percentile(passages, 50), percentile(passages, 95)),
        ],
    )
    found = _mean([values for category, values in rows["Commonplace"] if category <= 4])["recall@10"]
    return verdict(f"recall@10 of categories 1–4 at least {FLOOR} (strict, turn level)", found >= FLOOR)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("recall_metric", path)
    if spec is None or spec.loader is None or not path.is_file():
        sys.exit(f"no metric at {path}: name it with --metric")
    module = importlib.util.module_from_spec(spec)
    sys.modules["recall_metric"] = module
    spec.loader.exec_module(module)
    return module


def _store(dialogue: Any) -> Stored:
    """Write a dialogue as the product takes in conversations that were had elsewhere."""
    with write_transaction():
        user = User(email=f"{dialogue.id}@example.org", name="", password_hash="-")
        db.session.add(user)
        db.session.flush()
        stored = Stored(user.user_id, {}, {})
    sessions: dict[int, list[Any]] = defaultdict(list)
    for turn in dialogue.turns:
        text = f"{turn.text} [shares a photo: {turn.caption}]" if turn.caption else turn.text
        stored.texts[turn.id] = text
        sessions[turn.sess].append(
            (
                turn.id,
                "user" if turn.speaker == dialogue.speakers[0] else "assistant",
                text,
                turn.when.replace(tzinfo=UTC),
            )
        )
    for lines in sessions.values():
        with write_transaction():
            conversation = create_conversation(stored.user_id, NewConversation())
            rows = messages.add_past(conversation, [line[1:] for line in lines])
            stored.turns |= {row.message_id: line[0] for row, line in zip(rows, lines, strict=True)}
    return stored


def _ask(stored: Stored, question: str, took: list[float], passages: list[int]) -> list[str]:
    started = time.perf_counter()
    found = search(stored.user_id, question, kinds=("message",), limit=DEPTH)
    took.append((time.perf_counter() - started) * 1000)
    db.session.remove()
    passages.append(sum(estimate_tokens(item.content) for item in found.items[:10]))
    return [stored.turns[item.id] for item in found.items]


def _bm25(texts: dict[str, str], k1: float = 1.2, b: float = 0.75) -> Rank:
    """Okapi BM25 over each turn by itself, with stemming and stop words as in the product."""
    ids = list(texts)
    counts = [Counter(stems(words(text))) for text in texts.values()]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths)
    frequency = Counter(word for count in counts for word in count)

    def rank(question: str) -> list[str]:
        scores = np.zeros(len(ids))
        for word in stems(words(question)):
            if word in frequency:
                idf = math.log(1 + (len(ids) - frequency[word] + 0.5) / (frequency[word] + 0.5))
                scores += [
                    idf * count[word] * (k1 + 1) / (count[word] + k1 * (1 - b + b * length / mean))
                    for count, length in zip(counts, lengths, strict=True)
                ]
        return [ids[place] for place in np.argsort(-scores, kind="stable")[:DEPTH]]

    return rank


def _vectors(texts: dict[str, str]) -> Rank:
    """The cosine of each turn by itself with the question, by the same embedding model."""
    ids, matrix = list(texts), embedder().embed_passages(list(texts.values()))
    return lambda question: [ids[place] for place in np.argsort(-(matrix @ embedder().embed_query(question)))[:DEPTH]]


def _metrics(metric: ModuleType, ranked: list[str], gold: Sequence[str]) -> dict[str, float]:
    """The metric's own numbers, and sessions at 10 beside its 5."""
    found = metric.metrics(ranked, gold)
    wanted = {metric.sess_of(turn) for turn in gold}
    seen = set(list(dict.fromkeys(metric.sess_of(turn) for turn in ranked))[:10])
    found["s_recall@10"], found["s_any@10"] = len(wanted & seen) / len(wanted), float(bool(wanted & seen))
    return found


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: 100 * sum(row[name] for row in rows) / len(rows) for name in COLUMNS} if rows else {}


def _report(rows: dict[str, list[tuple[int, dict[str, float]]]]) -> None:
    def line(name: str, chosen: Sequence[int]) -> tuple[object, ...] | None:
        values = [found for category, found in rows[name] if category in chosen]
        mean = _mean(values)
        return (name, len(values), *(mean[column] for column in COLUMNS)) if values else None

    header = ("", "questions", *COLUMNS)
    table(
        "Categories 1–4, per cent (all@k: every evidence turn found; s_: by session)",
        header,
        [found for name in rows if (found := line(name, (1, 2, 3, 4)))],
    )
    for category, title in CATEGORIES.items():
        found = [found for name in rows if (found := line(name, (category,)))]
        if found:
            table(f"Category {category}, {title}", header, found)
