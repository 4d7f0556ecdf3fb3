"""The cost of memory, titles and summaries: background model calls and tokens for 100 scripted turns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from flask import Flask

from bench.product import run_application
from bench.report import table, verdict
from testkit.counting_client import CountingClient
from testkit.people import Person, api_client, make_person
from testkit.work import run_queued_jobs

CONVERSATIONS = (60, 20, 10, 5, 3, 2)
"""Turns of each conversation, 100 in all: one long enough for summaries, most of them short."""
LIMIT = 1.0
SAID = (
    "My name is Robin and I live in Lisbon",
    "What should I see in Porto in two days?",
    "I prefer tea over coffee, and I'm allergic to walnuts",
    "thanks",
    "My project is called Heron; it is a small sailing app",
    "Can you explain how tides work near a river mouth?",
    "We decided to use SQLite for the first version of Heron",
    "ok",
    "Actually, I live in Porto now",
    "Write me a haiku about grey water and patient birds",
    "Always answer in British English",
    "And what does a spring tide change about that?",
)


def main() -> bool:
    """Say 100 things, run the jobs of every turn, and count; returns whether one background call per turn is enough."""
    with run_application(scripted=True) as (app, counting, model):
        per_turn = list(_turns(app, make_person(app), counting))
        embeddings = sum(call["path"] == "embeddings" for call in model.calls())
    return _report(counting, per_turn, embeddings)


def _turns(app: Flask, person: Person, counting: CountingClient) -> Iterator[int]:
    """The number of background calls that each turn caused."""
    client = api_client(app, person)
    said = 0
    for turns in CONVERSATIONS:
        conversation = client.post("/api/conversations", json={}).get_json()["conversation_id"]
        for _ in range(turns):
            before = len(counting.calls)
            text = f"{SAID[said % len(SAID)]}" + ("" if said < len(SAID) else f" ({said})")
            sent = client.post(f"/api/conversations/{conversation}/messages", json={"content": text})
            client.get(f"/api/messages/{sent.get_json()['message']['id']}/response?wait=30")
            run_queued_jobs(app)
            said += 1
            yield len(counting.calls) - before


def _report(counting: CountingClient, per_turn: list[int], embeddings: int) -> bool:
    tokens: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, prompt, completion in counting.calls:
        tokens[name].append((prompt, completion))
    turns = len(per_turn)
    rows = [
        (
            name,
            len(found),
            f"{len(found) / turns:.2f}",
            round(sum(p for p, _ in found) / turns),
            round(sum(c for _, c in found) / turns),
            max(p for p, _ in found),
        )
        for name, found in sorted(tokens.items())
    ]
    total = len(counting.calls)
    rows.append(
        (
            "all",
            total,
            f"{total / turns:.2f}",
            round(sum(p for _, p, _ in counting.calls) / turns),
            round(sum(c for *_, c in counting.calls) / turns),
            max(p for _, p, _ in counting.calls),
        )
    )
    table(
        f"Background model calls of {turns} turns",
        ("request", "calls", "a turn", "prompt tokens a turn", "answer tokens a turn", "longest prompt"),
        rows,
    )
    spread = Counter(per_turn)
    print(
        f"turns by calls: {', '.join(f'{spread[n]} with {n}' for n in sorted(spread))}; "
        f"requests for embeddings: {embeddings / turns:.2f} a turn"
    )
    return verdict("at most one background model call a turn on average", total / turns <= LIMIT)
