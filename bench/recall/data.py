"""Readers of the three sets: accounts with sessions of messages, and questions with their evidence."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.report import import_file

ADVERSARIAL = 5
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


@dataclass(frozen=True, slots=True)
class Said:
    """A message; `unit` is what a question's evidence refers to, and several messages may share one."""

    unit: str
    role: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the group it is reported in, and the units that contain its answer."""

    text: str
    group: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody's conversations and the questions about them."""

    name: str
    sessions: Sequence[Sequence[Said]]
    questions: Sequence[Asked]


def load(name: str, directory: Path) -> list[Account]:
    """The accounts of a set."""
    return SETS[name](directory)


def _locomo(directory: Path) -> list[Account]:
    """One account per dialogue: the first speaker is the user, the second the assistant."""
    accounts = []
    for dialogue in import_file(directory / "recall_metric.py").load_locomo(directory / "locomo_dev.json"):
        sessions: dict[int, list[Said]] = defaultdict(list)
        for turn in dialogue.turns:
            text = f"{turn.text} [shares a photo: {turn.caption}]" if turn.caption else turn.text
            role = "user" if turn.speaker == dialogue.speakers[0] else "assistant"
            sessions[turn.sess].append(Said(turn.id, role, text, turn.when.replace(tzinfo=UTC)))
        questions = [
            Asked(qa.question, CATEGORIES[qa.category], frozenset(qa.gold))
            for qa in dialogue.qas
            if qa.category != ADVERSARIAL
        ]
        accounts.append(Account(dialogue.id, list(sessions.values()), questions))
    return accounts


def _longmemeval(directory: Path) -> list[Account]:
    """All sessions of all questions pooled in one account; a session is a unit."""
    sessions, questions = [], []
    for item in json.loads((directory / "longmemeval_dev.json").read_text()):
        gold = []
        for place, session in enumerate(item["sessions"]):
            unit = f"{item['question_id']}/{place}"
            at = datetime.strptime(session["date"], "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
            sessions.append([Said(unit, turn["role"], turn["content"], at) for turn in session["turns"]])
            gold.append(unit)
        if gold:
            group = "one session" if len(gold) == 1 else "two sessions" if len(gold) == 2 else "more sessions"
            questions.append(Asked(item["question"], group, frozenset(gold)))
    return [Account("longmemeval", sorted(sessions, key=lambda said: said[0].at), questions)]


def _beam(directory: Path) -> list[Account]:
    """One account per chat; a reply's id counts as that of the message it answers."""
    accounts = []
    for chat in json.loads((directory / "beam_dev.json").read_text()):
        sessions: list[list[Said]] = []
        unit_of: dict[int, str] = {}
        asked = ""
        for number, session in enumerate(chat["sessions"]):
            at = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=30 * number)
            lines = []
            for place, message in enumerate(session):
                asked = str(message["id"]) if message["role"] == "user" else asked
                unit_of[message["id"]] = asked
                lines.append(Said(asked, message["role"], message["content"], at + timedelta(minutes=place)))
            sessions.append(lines)
        questions = [
            Asked(item["question"], item["ability"], frozenset(unit_of[number] for number in item["gold"]))
            for item in chat["questions"]
        ]
        accounts.append(Account(f"beam-{chat['chat']}", sessions, questions))
    return accounts


SETS: dict[str, Callable[[Path], list[Account]]] = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam}
