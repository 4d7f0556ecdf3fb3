"""What a streamed chat completion consists of, and the decoder from its bytes; no I/O here.

The decoder takes whatever a network read returns: events may be cut anywhere, even within a character. All text of one
read is joined into one delta, because everything downstream costs per delta, not per character.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import MalformedOutput, ModelError, RefusedByModel, classify_payload
from .lines import LineSplitter

# The fields in which servers send a model's reasoning: DeepSeek, vLLM, llama.cpp; OpenRouter, Ollama; others.
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reports them; None if it does not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    requests: int = 1
    cached_tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """The sum of two calls."""
        return Usage(
            _add(self.prompt_tokens, other.prompt_tokens),
            _add(self.completion_tokens, other.completion_tokens),
            self.requests + other.requests,
            _add(self.cached_tokens, other.cached_tokens),
        )


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer; concatenated in order, deltas are the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks before it answers; not part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call the model asks for; `arguments` is the JSON text as sent, which may be invalid."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of the answer, always the last event: `reason` as sent (`stop`, `length`, `tool_calls`, …)."""

    reason: str
    usage: Usage | None = None
    model: str | None = None


Event = TextDelta | ReasoningDelta | ToolCall | Finish


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class StreamDecoder:
    """Bytes of one streamed completion in, events out; `finished` once the last event has been returned.

    An error within the stream, or bytes that are not a stream at all, end up in `error`.
    """

    def __init__(self) -> None:
        self.finished = False
        self.started = False
        self.error: ModelError | None = None
        self._done = False
        self._progress = False
        self._lines = LineSplitter()
        self._thoughts: list[str] = []
        self._data: list[bytes] = []
        self._calls: dict[int, _PartialCall] = {}
        self._reason: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._first_line = True

    def feed(self, chunk: bytes) -> list[Event]:
        """The events completed by one network read, their text joined.

        After each call `error` holds the stream's error, if there was one: the text before it is still in the events.
        """
        return self._read(self._lines.feed(chunk))

    def end(self) -> list[Event]:
        """The events left at the end of the bytes; unless `finished` is true afterwards, the answer was cut short."""
        events = self._read([self._lines.rest(), b""])
        if not self.finished and self.error is None and self._reason is not None:
            events += self._finish()  # servers without [DONE]: the finish reason is enough of an end
        return events

    def take_progress(self) -> bool:
        """Return whether the model has worked on its answer since the last call, including reasoning and tool calls."""
        progress, self._progress = self._progress, False
        return progress

    def _read(self, lines: list[bytes]) -> list[Event]:
        texts: list[str] = []
        try:
            for line in lines:
                self._line(line, texts)
                if self._done:
                    break
        except ModelError as error:
            self.error = error
        except (AttributeError, TypeError, KeyError):
            self.error = MalformedOutput()  # valid JSON of a different shape
        events: list[Event] = []
        if self._thoughts:
            events.append(ReasoningDelta("".join(self._thoughts)))
            self._thoughts.clear()
        if texts:
            self.started = True
            events.append(TextDelta("".join(texts) if len(texts) > 1 else texts[0]))
        if self._done and not self.finished and self.error is None:
            if self._reason is None and not self.started and not self._calls:
                self.error = MalformedOutput("The model gave no answer. Try again, or choose another model.")
            else:
                events += self._finish()
        return events

    def _line(self, line: bytes, texts: list[str]) -> None:
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                self._data = []
                self._payload(data, texts)
        elif line.startswith((b"{", b"[")):
            # An error object instead of an event: several servers send this once the status is out.
            self._payload(line, texts)

    def _payload(self, data: bytes, texts: list[str]) -> None:
        stripped = data.strip()
        if stripped == b"[DONE]":
            self._done = True
            return
        if not stripped:
            return
        try:
            payload = json.loads(data)
        except (ValueError, RecursionError):
            raise MalformedOutput("The model server sent something that is not a valid stream. Try again.") from None
        if not isinstance(payload, Mapping):
            raise MalformedOutput("The model server sent something that is not a valid stream. Try again.")
        choices = payload.get("choices")
        if not choices and (payload.get("error") or payload.get("object") == "error"):
            raise classify_payload(payload)
        self._chunk(payload, choices, texts)

    def _chunk(self, payload: Mapping[str, Any], choices: Any, texts: list[str]) -> None:
        usage = payload.get("usage")
        if usage:
            self._usage = usage_of(usage)
        if self._model is None and isinstance(payload.get("model"), str):
            self._model = payload["model"]
        if not choices:
            return
        choice = choices[0]
        if not isinstance(choice, Mapping):
            raise MalformedOutput
        delta = choice.get("delta") or choice.get("message")
        if delta:
            text = delta.get("content")
            if text:
                if isinstance(text, str):
                    texts.append(text)
                else:
                    self._thoughts += _thoughts_of_parts(text)
                    if said := text_of_parts(text):
                        texts.append(said)
            elif delta.get("refusal"):
                texts.append(delta["refusal"])
            if len(delta) > 1 or not text:  # most deltas are nothing but text
                self._beside_text(delta)
        reason = choice.get("finish_reason")
        if reason:
            self._reason = reason
            if reason == "error":
                raise classify_payload(payload if payload.get("error") else choice)
            if reason == "content_filter" and not (self.started or texts):
                raise RefusedByModel

    def _beside_text(self, delta: Mapping[str, Any]) -> None:
        """Add what a delta has besides text: reasoning, which is sent under one of several names, and tool calls."""
        for name in _THOUGHTS:
            if thought := delta.get(name):
                self._progress = True
                if isinstance(thought, str):
                    self._thoughts.append(thought)
                break
        if delta.get("tool_calls"):
            self._progress = True
            self._tool_deltas(delta["tool_calls"])

    def _tool_deltas(self, deltas: Any) -> None:
        for position, delta in enumerate(deltas):
            index = delta.get("index")
            call = self._calls.setdefault(index if isinstance(index, int) else position, _PartialCall())
            function = delta.get("function") or {}
            call.id = call.id or delta.get("id") or ""
            call.name += function.get("name") or ""
            if function.get("arguments"):
                call.arguments.append(function["arguments"])

    def _finish(self) -> list[Event]:
        self.finished = True
        events: list[Event] = [
            ToolCall(call.id or f"call_{index}", call.name, "".join(call.arguments))
            for index, call in sorted(self._calls.items())
        ]
        events.append(Finish(self._reason or ("tool_calls" if self._calls else "stop"), self._usage, self._model))
        return events


def usage_of(usage: object) -> Usage:
    """Token counts of a `usage` object, whatever else it contains."""
    if not isinstance(usage, Mapping):
        return Usage()
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens")
    return Usage(
        prompt if isinstance(prompt, int) else None,
        completion if isinstance(completion, int) else None,
        cached_tokens=cached if isinstance(cached, int) else None,
    )


def text_of_parts(parts: object) -> str:
    """The text of a content list, which some servers send instead of a string; thinking parts are left out."""
    if not isinstance(parts, list):
        return ""
    return "".join(p["text"] for p in parts if isinstance(p, Mapping) and isinstance(p.get("text"), str))


def _thoughts_of_parts(parts: object) -> list[str]:
    """The thinking parts of a content list: `{"type": "thinking", "thinking": [{"type": "text", "text": …}]}`."""
    if not isinstance(parts, list):
        return []
    found = [part.get("thinking") for part in parts if isinstance(part, Mapping)]
    return [text for item in found if (text := item if isinstance(item, str) else text_of_parts(item))]


def _add(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
