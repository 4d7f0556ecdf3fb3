"""The share of a prompt that is an unchanged prefix, which a cache need not read again: from turn to turn, and for
others.
"""

from __future__ import annotations

import json
import random
import urllib.request
from collections.abc import Callable
from os.path import commonprefix
from typing import Any

from bench.client import Client
from bench.report import percentile, table, verdict
from bench.stack import Stack, add_person, run_stack
from testkit.memory_rows import sentence, vocabulary

TURNS = 60
WARM = 5
SUBJECTS = ("the garden", "the boat", "the choir", "the move to Lisbon", "the report", "the bicycle", "the birthday")


def main() -> bool:
    """Hold conversations through the real stack and compare each prompt that reached the model with the previous one.

    One is an ordinary conversation, one is guided by a journey, whose section changes with every turn. Then somebody
    else begins one: what both prompts share is told for three kinds of local models, by where those put the tools.
    """
    with run_stack(database="mariadb", worker=True) as stack:
        stack.script(reply="Understood. " * 12)
        stack.script_also(match="conversation_summary", structured={"summary": "They spoke of " + ", ".join(SUBJECTS)})
        stack.script_also(match="memory_operations", structured={"statements": []})
        _remember(stack)
        slug = stack.client.ask("GET", "/api/journeys")["journeys"][0]["slug"]
        rows = [(name, _shares(stack, body)) for name, body in (("any", {}), (slug, {"journey": slug}))]
        others = _shared_by_people(stack)
    table(
        "Share of a prompt, but for its last message, that begins the next one unchanged (characters, per cent)",
        ("conversation", "turns compared", "mean", "p50", "p5", "turns under 90"),
        [
            (
                name,
                len(shares),
                100 * sum(shares) / len(shares),
                100 * percentile(shares, 50),
                100 * percentile(shares, 5),
                sum(share < 0.9 for share in shares),
            )
            for name, shares in rows
        ],
    )
    table("Share of what is nobody's own (instructions and tools) that two people's first prompts share", *others)
    return verdict(
        "another person's first prompt shares at least 80 per cent of what is nobody's own",
        all(share >= 80 for _, _, share in others[1]),
    ) & verdict(
        "on average at least 90 per cent stay an unchanged prefix, summaries included, with a journey too",
        all(sum(shares) / len(shares) >= 0.9 for _, shares in rows),
    )


def _qwen(system: str, user: str, tools: str) -> str:
    return f"<system>{system}\n# Tools\n{tools}</system><user>{user}"


def _llama(system: str, user: str, tools: str) -> str:
    return f"<system>{system}</system><user>Given the following functions: {tools}\n{user}"


def _mistral(system: str, user: str, tools: str) -> str:
    return f"[AVAILABLE_TOOLS]{tools}[/AVAILABLE_TOOLS][INST]{system}\n\n{user}[/INST]"


ORDERS: tuple[tuple[str, Callable[[str, str, str], str]], ...] = (
    ("Qwen: tools after the system message", _qwen),
    ("Llama: tools in the user's message", _llama),
    ("Mistral: tools first", _mistral),
)
"""Where chat templates put the definitions of tools in a conversation's first prompt."""


def _shared_by_people(stack: Stack) -> tuple[tuple[str, ...], list[tuple[str, int, float]]]:
    """Return the columns and rows of what the first prompts of two people share, in characters and per cent."""
    firsts: list[dict[str, Any]] = []
    for name, city in (("Ada", "Oslo"), ("Bruno", "Lisbon")):
        their = Client(stack.url, add_person(stack.environment, f"{name.lower()}@example.com"))
        their.ask("PUT", "/api/profile", {"name": name})
        for words in (f"{name} lives in {city}", f"{name} has a boat in {city}"):
            their.ask("POST", "/api/memories", {"memory_type": "fact", "content": words, "importance": 0.9})
        their.ask("POST", "/api/memories", {"memory_type": "instruction", "content": f"Call me {name}."})
        _turn(their, their.ask("POST", "/api/conversations", {})["conversation_id"], f"What is new in {city}?")
        firsts.append([call for call in _calls(stack) if _is_turn(call)][-1])
    rows = []
    for order, put in ORDERS:
        one, two = (_first_prompt(put, call) for call in firsts)
        nobodys = len(firsts[0]["messages"][0]["content"]) + len(firsts[0]["definitions"])
        rows.append((order, nobodys, min(100.0, 100 * len(commonprefix([one, two])) / nobodys)))
    return ("order of the template", "characters", "shared, per cent"), rows


def _first_prompt(put: Callable[[str, str, str], str], call: dict[str, Any]) -> str:
    system, user = (message["content"] for message in call["messages"])
    return put(system, user, call["definitions"])


def _shares(stack: Stack, body: dict[str, Any]) -> list[float]:
    """The shares for the turns of a conversation, after the first few."""
    said, talk, known = len(_calls(stack)), random.Random(3), vocabulary()
    conversation_id = stack.client.ask("POST", "/api/conversations", body)["conversation_id"]
    for number in range(TURNS):
        _turn(
            stack.client, conversation_id, f"Note {number} about {talk.choice(SUBJECTS)}: " + sentence(talk, known, 30)
        )
    prompts = [call["messages"] for call in _calls(stack)[said:] if _is_turn(call)]
    return [_shared_share(before, after) for before, after in zip(prompts, prompts[1:], strict=False)][WARM:]


def _remember(stack: Stack) -> None:
    for number, subject in enumerate(SUBJECTS):
        body = {"memory_type": "fact", "content": f"The user has plan {number} for {subject}", "importance": 0.4}
        stack.client.ask("POST", "/api/memories", body)


def _turn(client: Client, conversation_id: int, text: str) -> None:
    started = client.ask("POST", f"/api/conversations/{conversation_id}/messages", {"content": text})
    client.ask("GET", f"/api/messages/{started['response_id']}/response?wait=30")


def _calls(stack: Stack) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"{stack.model_url.removesuffix('/v1')}/_calls", timeout=30) as answer:
        return list(json.load(answer)["calls"])


def _is_turn(call: dict[str, Any]) -> bool:
    return bool(call["path"] == "chat" and call["stream"])


def _text(messages: list[dict[str, Any]]) -> str:
    return "".join(f"<{message['role']}>{message['content']}" for message in messages)


def _shared_share(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> float:
    """The length of the common prefix as a share of the earlier prompt without its last message."""
    kept, later = _text(before[:-1]), _text(after)
    length = next(
        (place for place, (one, two) in enumerate(zip(kept, later, strict=False)) if one != two),
        min(len(kept), len(later)),
    )
    return length / len(kept)
