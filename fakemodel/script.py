"""Scripted replies and faults for tests and benchmarks; see `Rule` for what a script can say."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .script_faults import Fault
from .wire import Answer, text_of, tokens_of

DEFAULT_TOKENS = 20
_LOOK = 0.01  # seconds between checks whether a held reply may continue


class Hold:
    """A point in a streamed reply, after `after` of its frames, where it waits until a test releases it."""

    def __init__(self, after: int) -> None:
        self.after = after
        self._released = threading.Event()

    def release(self) -> None:
        """Let the reply continue."""
        self._released.set()

    async def wait(self) -> None:
        """Return once the reply may continue."""
        while not self._released.is_set():  # noqa: ASYNC110 - set in another thread
            await asyncio.sleep(_LOOK)


@dataclass(slots=True)
class Rule:
    """One scripted behaviour; the newest matching rule is used, `times` times (None: always).

    `match` is a regular expression searched in the last user message, the schema name and, for embeddings, the inputs.
    The answer is `reply` (text, or a list of tokens), `structured` (an object), `tool_calls` (`[{name, arguments, …}]`)
    or `tokens` (that many deterministic ones; with `stamp`, each is `"<seq>:<time_ns> "`, stamped when sent).
    """

    match: str = ""
    path: str = "chat"  # or "embeddings"
    reply: str | list[str] | None = None
    structured: Any = None
    tool_calls: list[dict[str, Any]] | None = None
    tokens: int | None = None
    stamp: bool = False
    reasoning: str | None = None  # thought before the answer, in a separate field
    first_delay: float = 0.0
    token_delay: float = 0.0
    tokens_per_second: float | None = None
    finish_reason: str = ""
    times: int | None = None
    fault: Fault = field(default_factory=Fault)
    hold: Hold | None = None  # in a test's own process, too
    # Only in a test's own process: computes fields of the rule from the body of the request.
    respond: Callable[[dict[str, Any]], dict[str, Any]] | None = None

    @classmethod
    def parse(cls, data: dict[str, Any]) -> Rule:
        """Return a rule from JSON. Raises TypeError or re.error if it is not one."""
        fault = Fault(**data.get("fault", {}))
        rule = cls(**{**data, "fault": fault})
        re.compile(rule.match)
        return rule

    def answer(self) -> Answer:
        """Return the answer that this rule gives."""
        delay = 1 / self.tokens_per_second if self.tokens_per_second else self.token_delay
        pace: dict[str, Any] = {
            "first_delay": self.first_delay,
            "token_delay": delay,
            "finish_reason": self.finish_reason,
            "reasoning": tokens_of(self.reasoning or ""),
        }
        if self.tool_calls is not None:
            calls = [_call(index, call) for index, call in enumerate(self.tool_calls)]
            return Answer(tokens_of(self.reply) if isinstance(self.reply, str) else [], calls, **pace)
        if self.structured is not None:
            return Answer(tokens_of(json.dumps(self.structured, ensure_ascii=False)), **pace)
        if self.reply is not None:
            return Answer(self.reply if isinstance(self.reply, list) else tokens_of(self.reply), **pace)
        count = DEFAULT_TOKENS if self.tokens is None else self.tokens
        return Answer([f"token{number} " for number in range(count)], stamp=self.stamp, **pace)


def _call(index: int, call: dict[str, Any]) -> dict[str, Any]:
    arguments = call.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": call["name"], "arguments": text}
    beside = {name: value for name, value in call.items() if name not in ("name", "arguments")}
    return {"id": f"call_{index + 1}", "type": "function", "function": function, **beside}


class Script:
    """The rules and the record of calls; thread-safe, so that a test can use it alongside the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._calls: deque[dict[str, Any]] = deque(maxlen=10_000)

    def add(self, rule: Rule) -> None:
        """Add a rule before the existing ones."""
        with self._lock:
            self._rules.insert(0, rule)

    def reset(self) -> None:
        """Forget rules and calls."""
        with self._lock:
            self._rules.clear()
            self._calls.clear()

    def calls(self) -> list[dict[str, Any]]:
        """Return the requests so far, oldest first."""
        with self._lock:
            return [dict(call) for call in self._calls]

    def record(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Note a request; the caller updates `status` and `outcome` of the returned record."""
        call = {
            "at": time.time(),
            "path": path,
            "model": body.get("model"),
            "stream": bool(body.get("stream")),
            "schema": schema_name(body),
            "messages": body.get("messages"),
            "input": body.get("input"),
            "keys": sorted(body),
            "values": {name: value for name, value in body.items() if isinstance(value, (int, float, str))},
            "tools": [tool["function"]["name"] for tool in body.get("tools") or ()],
            "definitions": json.dumps(body.get("tools") or []),
            "response_format": (body.get("response_format") or {}).get("type"),
            "status": 200,
            "outcome": "open",
            "sent": 0,
            "ended": None,
        }
        with self._lock:
            self._calls.append(call)
        return call

    def take(self, path: str, body: dict[str, Any]) -> Rule | None:
        """Return the rule for this request, counted as used, or None."""
        subjects = [last_user_text(body), schema_name(body) or ""]
        if path == "embeddings":
            given = body.get("input")
            subjects += [given] if isinstance(given, str) else [text for text in given or () if isinstance(text, str)]
        with self._lock:
            for rule in self._rules:
                if rule.path != path or rule.times == 0 or not rule.fault.concerns(body):
                    continue
                if any(re.search(rule.match, subject, re.DOTALL) for subject in subjects):
                    if rule.times is not None:
                        rule.times -= 1
                    return rule
        return None


def schema_name(body: dict[str, Any]) -> str | None:
    """Return the name of the schema asked for, if any."""
    wanted = body.get("response_format")
    if not isinstance(wanted, dict):
        return None
    schema = wanted.get("json_schema")
    return schema.get("name") if isinstance(schema, dict) else None


def last_user_text(body: dict[str, Any]) -> str:
    """Return the last user message."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return ""
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            return text_of(message.get("content"))
    return ""
