"""Asks the product a set's questions, and measures how much of the evidence it found and gave to a reply."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from flask import current_app

from bench.recall.data import Asked
from bench.recall.store import Stored
from bench.report import percentile
from webapp.accounts.models import User
from webapp.chat.context.composition import compose
from webapp.chat.context.values import Context, Message as ContextMessage
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.retrieval.service import search

DEPTH = 60
Row = dict[str, float]


@dataclass
class Measured:
    """Means by group, "all" first."""

    search: dict[str, Row] = field(default_factory=dict)
    reply: dict[str, Row] = field(default_factory=dict)


def measure(name: str, accounts: Sequence[Stored], every: int = 1) -> Measured:
    """Ask every n-th question of some accounts, in the search box and for a reply."""
    searched: dict[str, list[Row]] = defaultdict(list)
    replied: dict[str, list[Row]] = defaultdict(list)
    for stored in accounts:
        search(stored.user_id, "warm")
        for question in stored.questions[::every]:
            for rows, row in ((searched, measure_search(stored, question)), (replied, measure_reply(stored, question))):
                rows["all"].append(row)
                rows[question.group].append(row)
    groups = ["all", *sorted(set(searched) - {"all"})]
    return Measured({g: _mean(searched[g]) for g in groups}, {g: _mean(replied[g]) for g in groups})


def measure_search(stored: Stored, question: Asked) -> Row:
    """Return what the search box finds."""
    started = time.perf_counter()
    found = search(stored.user_id, question.text, kinds=("message",), limit=DEPTH)
    took = (time.perf_counter() - started) * 1000
    db.session.remove()
    ranked = list(dict.fromkeys(stored.units[item.id] for item in found.items))
    ranks = [place for place, unit in enumerate(ranked, 1) if unit in question.gold]
    gold = len(question.gold)
    row: Row = {"questions": 1}
    for k in (5, 10, 20, 30):
        row[f"recall@{k}"] = sum(rank <= k for rank in ranks) / gold
    row["all@10"] = float(sum(rank <= 10 for rank in ranks) == gold)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(gold, 10) + 1))
    row["ndcg@10"] = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10) / ideal
    row["ms"] = took
    return row


def measure_reply(stored: Stored, question: Asked) -> Row:
    """Return what the prompt of a new conversation that asks the question contains."""
    conversation = db.session.get_one(Conversation, stored.conversation_id)
    owner = db.session.get_one(User, stored.user_id)
    asked = ContextMessage(10**9, "user", question.text)
    started = time.perf_counter()
    context = compose(conversation, owner, [asked], [], "You are helpful.", current_app.extensions["settings"]).context
    took = (time.perf_counter() - started) * 1000
    db.session.remove()
    given = given_units(stored, context)
    tokens = next(section.tokens for section in context.sections if section.name == "retrieved")
    recall = len(given & question.gold) / len(question.gold)
    return {
        "questions": 1,
        "recall": recall,
        "all": float(recall == 1),
        "passages": sum(item.injected and item.stage == "retrieved" for item in context.receipt),
        "tokens": tokens,
        "ms": took,
    }


def given_units(stored: Stored, context: Context) -> set[str]:
    """The units of the messages that are in a prompt, whole or in part."""
    return {stored.units[item.id] for item in context.receipt if item.injected and item.id in stored.units}


def _mean(rows: Sequence[Row]) -> Row:
    mean = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    mean["questions"] = len(rows)
    if "tokens" in mean:
        mean["tokens p95"] = percentile([row["tokens"] for row in rows], 95)
    mean["ms"] = percentile([row["ms"] for row in rows], 50)
    return mean
