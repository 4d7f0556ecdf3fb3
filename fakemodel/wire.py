"""The bytes of OpenAI's protocol: completion objects, stream events, errors; pure."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

CHAT_MODEL = "offline-demo"
EMBEDDING_MODEL = "all-minilm-l6-v2"
DONE = b"data: [DONE]\n\n"

_TOKEN = re.compile(r"\s*\S{1,5}|\s+")
_numbers = itertools.count(1)


@dataclass(slots=True)
class Answer:
    """An answer to give: text already cut into tokens, or tool calls, and its pace (in seconds)."""

    tokens: list[str] = field(default_factory=list)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    first_delay: float = 0.0
    token_delay: float = 0.0
    finish_reason: str = ""
    stamp: bool = False
    reasoning: list[str] = field(default_factory=list)
    reports_usage: bool = True

    @property
    def text(self) -> str:
        """Return the whole text."""
        return "".join(self.tokens)

    @property
    def reason(self) -> str:
        """Return the finish reason."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


def tokens_of(text: str) -> list[str]:
    """Return pieces of a few characters whose concatenation is `text`."""
    return _TOKEN.findall(text)


def count_tokens(text: str) -> int:
    """Estimate tokens for the usage, as cheaply as possible: prompts are long and benchmarks share the processor."""
    return (len(text) + 3) // 4


def text_of(content: object) -> str:
    """Return the text of a message's content, whether a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def usage(messages: Sequence[dict[str, Any]], completion_tokens: int) -> dict[str, int]:
    """Return the usage object for a prompt of `messages`."""
    prompt = sum(3 + count_tokens(text_of(m.get("content"))) for m in messages)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt + completion_tokens,
    }


def completion(answer: Answer, model: str, usage_object: dict[str, int] | None) -> dict[str, Any]:
    """Return the response object of a request without streaming."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.reasoning:
        message["reasoning_content"] = "".join(answer.reasoning)
    if answer.tool_calls:
        message["tool_calls"] = answer.tool_calls
    found = {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": answer.reason, "logprobs": None}],
    }
    return found if usage_object is None else {**found, "usage": usage_object}


class StreamEvents:
    """Events of one streamed completion; what is the same for every token is encoded once."""

    def __init__(self, model: str) -> None:
        base = {
            "id": f"chatcmpl-{next(_numbers)}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._base = json.dumps(base, separators=(",", ":"))[:-1]
        self._prefix = f'data: {self._base},"choices":[{{"index":0,"delta":{{"content":'.encode()

    def text(self, text: str) -> bytes:
        """Return the event of one token."""
        return b'%b%b},"finish_reason":null}]}\n\n' % (self._prefix, json.dumps(text, ensure_ascii=False).encode())

    def delta(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        """Return the event of any other delta."""
        return self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    def usage(self, usage_object: dict[str, int]) -> bytes:
        """Return the last event of a stream that was asked for usage."""
        return self._event({"choices": [], "usage": usage_object})

    def tool_calls(self, calls: Iterable[dict[str, Any]]) -> Iterable[bytes]:
        """Yield calls as providers send them: the name first, then the arguments in two pieces."""
        for index, call in enumerate(calls):
            function = call["function"]
            head = {"index": index, **call}
            yield self.delta({"tool_calls": [{**head, "function": {"name": function["name"], "arguments": ""}}]})
            half = len(function["arguments"]) // 2
            for piece in (function["arguments"][:half], function["arguments"][half:]):
                yield self.delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def _event(self, fields: dict[str, Any]) -> bytes:
        rest = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))[1:]
        return f"data: {self._base},{rest}\n\n".encode()


def error(message: str, *, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """Return an error body."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}
