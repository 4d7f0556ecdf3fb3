"""How much of a prompt stays an unchanged prefix from turn to turn, which a provider's cache need not read again."""

from __future__ import annotations

import json
import random
import urllib.request

from bench.report import percentile, table, verdict
from bench.stack import Stack, running
from bench.words import sentence, vocabulary

TURNS = 60
WARM = 5
SUBJECTS = ("the garden", "the boat", "the choir", "the move to Lisbon", "the report", "the bicycle", "the birthday")


def main() -> bool:
    """Have a conversation through the real stack and compare each prompt that reached the model with the one before."""
    with running(database="mariadb", worker=True) as stack:
        stack.script(reply="Understood. " * 12)
        _also(stack, match="conversation_summary", structured={"summary": "They spoke of " + ", ".join(SUBJECTS)})
        _also(stack, match="memory_operations", structured={"operations": []})
        _remember(stack)
        conversation_id = _call(stack, "POST", "/api/conversations", {})["conversation_id"]
        talk, known = random.Random(3), vocabulary()
        for number in range(TURNS):
            _turn(stack, conversation_id, f"Note {number} about {talk.choice(SUBJECTS)}: " + sentence(talk, known, 30))
        prompts = [_text(call) for call in _calls(stack) if _is_turn(call)]
    shares = [_shared(before, after) for before, after in zip(prompts, prompts[1:], strict=False)][WARM:]
    steady = [share for share in shares if share > 0.5]
    table("Share of the prompt (characters) that is the unchanged beginning of the prompt before, per cent", (
        "turns compared", "mean", "p50", "p5", "turns after a summary or a change of memory"), [(
            len(shares), 100 * sum(shares) / len(shares), 100 * percentile(shares, 50), 100 * percentile(shares, 5),
            len(shares) - len(steady))])
    return verdict("the median prompt shares at least 80 per cent with the one before", percentile(shares, 50) >= 0.8)


def _also(stack: Stack, **rule: object) -> None:
    url = f"{stack.model_url.removesuffix('/v1')}/_script"
    request = urllib.request.Request(url, json.dumps(rule).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=10).read()


def _remember(stack: Stack) -> None:
    for number, subject in enumerate(SUBJECTS):
        body = {"memory_type": "fact", "content": f"The user has plan {number} for {subject}", "importance": 0.4}
        _call(stack, "POST", "/api/memories", body)


def _turn(stack: Stack, conversation_id: int, text: str) -> None:
    started = _call(stack, "POST", f"/api/conversations/{conversation_id}/messages", {"content": text})
    _call(stack, "GET", f"/api/messages/{started['response_id']}/response?wait=30")


def _call(stack: Stack, method: str, path: str, body: dict | None = None) -> dict:
    request = urllib.request.Request(
        stack.url + path, json.dumps(body).encode() if body is not None else None, method=method,
        headers={"Authorization": f"Bearer {stack.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def _calls(stack: Stack) -> list[dict]:
    with urllib.request.urlopen(f"{stack.model_url.removesuffix('/v1')}/_calls", timeout=30) as answer:
        return json.load(answer)["calls"]


def _is_turn(call: dict) -> bool:
    return call["path"] == "chat" and call["stream"]


def _text(call: dict) -> str:
    return "".join(f"<{message['role']}>{message['content']}" for message in call["messages"])


def _shared(before: str, after: str) -> float:
    """The length of the common beginning as a share of the later prompt."""
    length = next(
        (place for place, (one, two) in enumerate(zip(before, after, strict=False)) if one != two),
        min(len(before), len(after)),
    )
    return length / len(after)


if __name__ == "__main__":
    main()
