"""One very long conversation, turn by turn through the product: HTTP, the jobs of every turn, receipts."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flask import Flask
from sqlalchemy import select

from testkit.counting_client import CountingClient
from testkit.people import ApiClient
from testkit.work import run_queued_jobs
from webapp.chat.models import PipelineStep
from webapp.conversations.models import Message
from webapp.db.base import db


@dataclass(frozen=True)
class Fact:
    """Something told early on, the question about it at the end, and the word that answers it."""

    statement: str
    question: str
    answer: str


FACTS = (
    Fact("My name is Robin and I live in Lisbon", "What is my name?", "Robin"),
    Fact("By the way, I'm allergic to walnuts", "Is there anything that I am allergic to?", "walnuts"),
    Fact("My project is called Heron; it is a small sailing app", "What is my project called?", "Heron"),
    Fact(
        "The blue dinghy was mended with larch from Kvale's yard.",
        "Which wood was the blue dinghy mended with?",
        "larch",
    ),
    Fact("Ana found the old sea chart in the church of Sant Elm.", "Where did Ana find the old sea chart?", "Sant Elm"),
    Fact(
        "The choir sang a piece by Hildegard on the quay.", "Whose piece did the choir sing on the quay?", "Hildegard"
    ),
    Fact("Our ferry was cancelled because of a strike in Ancona.", "Why was our ferry cancelled?", "strike"),
    Fact(
        "The lighthouse keeper lent us a sextant made in Bergen.",
        "Where was the lighthouse keeper's sextant made?",
        "Bergen",
    ),
    Fact("Tomas paid 340 euros for the second-hand spinnaker.", "How much did Tomas pay for the spinnaker?", "340"),
    Fact("The harbour cat is called Pimento and sleeps on the ropes.", "What is the harbour cat called?", "Pimento"),
)
EVERY = 9
"""By default a fact is told every this many turns, starting with the third."""


@dataclass(frozen=True)
class Turn:
    """The cost of a turn: tokens of its prompt, and their budget; model calls, and all tokens in and out of them."""

    tokens: int
    budget: int
    calls: int
    used: int


@dataclass(frozen=True)
class RecalledFact:
    """The place of the answer to an early fact in the prompt of the reply: kinds of passages, in order; none if it was
    not there."""

    fact: Fact
    kinds: tuple[str, ...]


def remark(number: int) -> str:
    """Return what is said in between: different things of the same kinds, so that facts have many neighbours."""
    pick = random.Random(number).choice
    colour, boat = pick(("red", "white", "green", "grey", "yellow")), pick(("dinghy", "ketch", "cutter", "sloop"))
    did = pick(("was painted", "came in", "was towed", "went out", "lost a rope", "was sold", "took on water"))
    who = pick(("Marta", "Jonas", "Ines", "Piet", "Olga", "Bruno", "Lena", "Filip"))
    where = pick(("Horta", "Brest", "Kiel", "Genoa", "Split", "Vigo", "Malmo", "Hull", "Cork", "Oban"))
    what = pick(("rope", "tar", "charts", "oak", "paint", "lamps", "nets", "coffee", "nails", "canvas"))
    wind = pick(("north", "south", "east", "west"))
    return (
        f"Entry {number}: the {colour} {boat} {did} at {number % 12 + 1} in the morning, {who} brought {what} from "
        f"{where}, and the wind went {wind} with {number % 37} knots before the rain stopped."
    )


def hold_conversation(
    app: Flask, client: ApiClient, counting: CountingClient, turns: int, every: int = EVERY
) -> Iterator[Turn]:
    """Hold a conversation of this many turns, with the FACTS among the first ones, and run the jobs of each."""
    conversation_id = client.post("/api/conversations", json={"title": "Logbook"}).get_json()["conversation_id"]
    facts = {3 + every * at: fact for at, fact in enumerate(FACTS)}
    assert turns > max(facts), "too few turns for all facts"
    for number in range(turns):
        text = facts[number].statement if number in facts else remark(number)
        yield _turn(app, client, counting, conversation_id, text)[1]


def ask_about_facts(app: Flask, client: ApiClient, counting: CountingClient) -> Iterator[tuple[RecalledFact, Turn]]:
    """Ask about every early fact in the conversation that `hold_conversation` held, and look at the receipts."""
    conversation_id = client.get("/api/conversations").get_json()["conversations"][0]["conversation_id"]
    for fact in FACTS:
        reply_id, turn = _turn(app, client, counting, conversation_id, fact.question)
        lines = client.get(f"/api/messages/{reply_id}/receipt").get_json()["items"]
        kinds = [line["kind"] for line in lines if line["injected"] and fact.answer in (line["content"] or "")]
        yield RecalledFact(fact, tuple(dict.fromkeys(kinds))), turn


def _turn(app: Flask, client: ApiClient, counting: CountingClient, conversation_id: int, text: str) -> tuple[int, Turn]:
    before = len(counting.calls)
    sent = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": text})
    assert sent.status_code == 202, sent.text
    reply_id = sent.get_json()["response_id"]
    reply = client.get(f"/api/messages/{reply_id}/response?wait=30")
    assert reply.status_code == 200 and reply.get_json()["status"] == "complete", reply.text
    run_queued_jobs(app)
    background = counting.calls[before:]
    with app.app_context():
        statement = select(PipelineStep.data).where(PipelineStep.message_id == reply_id, PipelineStep.name == "context")
        step = db.session.scalars(statement).one() or {}
        row = db.session.get_one(Message, reply_id)
        chat = (row.prompt_tokens or 0) + (row.completion_tokens or 0)
    used = chat + sum(prompt + completion for _, prompt, completion in background)
    return reply_id, Turn(step["tokens"], step["budget"], 1 + len(background), used)


def mean(turns: list[Turn], of: Callable[[Turn], int]) -> float:
    """Return the mean of something over turns."""
    return sum(map(of, turns)) / len(turns)
