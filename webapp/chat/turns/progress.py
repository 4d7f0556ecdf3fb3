"""A reply so far, and the outcome it leads to."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webapp.chat.context.assembly import AssembledPrompt
from webapp.chat.context.values import Step
from webapp.chat.redaction import PromptMemories
from webapp.chat.suggestions import Offer
from webapp.chat.turns.finish import Outcome
from webapp.http.validation import MAX_TEXT_BYTES
from webapp.i18n.marks import N_
from webapp.llm.errors import MalformedOutput, RefusedByModel
from webapp.llm.events import Finish
from webapp.llm.settings import Target
from webapp.llm.usage import Usage
from webapp.telemetry import tracing
from webapp.telemetry.metrics import FIRST_TOKEN, MODEL_TIME, RETRIEVAL, TOKENS, TURN, recorder
from webapp.text.tokens import estimate_tokens

MAX_THOUGHT = 200_000
"""The most characters kept of what a model thinks for one reply."""


@dataclass(slots=True)
class Progress:
    """A reply so far; it outlives a cancelled model call."""

    start: float = field(default_factory=time.perf_counter)
    text: str = ""
    thoughts: str = ""
    thought_ms: int = 0
    size: int = 0
    model: str | None = None
    target: str | None = None
    asked_first: str | None = None
    finish: Finish | None = None
    truncated: bool = False
    first_text_ms: int | None = None
    model_seconds: float = 0.0
    usage: Usage | None = None
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    answer_tokens: int = 0
    asked_again_tokens: int = 0
    is_tainted: bool = False
    offer: Offer = field(default_factory=Offer)
    _thinks_since: float | None = None

    def think(self, text: str) -> str:
        """Add what the model thinks; returns what of it to show. A thought after an answer is a new paragraph."""
        text = storable(text)
        if self._thinks_since is None:
            self._thinks_since = time.perf_counter()
            text = "\n\n" + text.lstrip() if self.thoughts else text
        text = text[: max(0, MAX_THOUGHT - len(self.thoughts))]
        self.thoughts += text
        return text

    def withdraw(self, length: int) -> str:
        """Make a thought of the text from a position on, as only its end told; returns what of it to show."""
        thought, self.text = self.text[length:], self.text[:length]
        self.size = len(self.text.encode())
        return self.think(thought.strip() + "\n")

    def _end_thought(self) -> None:
        if self._thinks_since is not None:
            self.thought_ms += round((time.perf_counter() - self._thinks_since) * 1000)
            self._thinks_since = None

    def count_repeated_prompt(self, tokens: int, messages: Sequence[dict[str, Any]]) -> None:
        """Record that the prompt, of so many tokens, is sent again with results: for providers that report no usage."""
        self.answer_tokens += sum(estimate_tokens(str(message.get("content") or "")) for message in messages)
        self.asked_again_tokens += tokens + self.answer_tokens

    def add(self, text: str, *, new_paragraph: bool = False) -> str:
        """Add text as it arrives; returns what of it to show, as the database can hold it."""
        text = storable(text)
        if not text:
            return ""
        self._end_thought()
        if new_paragraph and not self.text.endswith("\n"):
            text = "\n\n" + text.lstrip()
        room = MAX_TEXT_BYTES - self.size
        self.size += len(text.encode())
        if self.size > MAX_TEXT_BYTES:
            # A longer reply ends where the column does, and says so.
            self.truncated = True
            text = text.encode()[:room].decode("utf-8", "ignore")
        if self.first_text_ms is None:
            self.first_text_ms = self._elapsed()
        self.text += text
        return text

    def switch(self, target: Target) -> None:
        """Record that a model other than the one asked first answers."""
        self.asked_first = self.asked_first or self.model
        self.model, self.target = target.model, target.id

    def note(self, finish: Finish) -> None:
        """Record the end of a model call; a reply with tools takes several."""
        self._end_thought()
        self.finish = finish
        self.truncated = finish.reason == "length"
        if finish.usage is not None:
            self.usage = self.usage.plus(finish.usage) if self.usage else finish.usage

    def check_answer(self) -> None:
        """Raise MalformedOutput for a reply without a word, RefusedByModel for one that a filter ended."""
        if self.finish is not None and self.finish.reason == "content_filter":
            raise RefusedByModel(
                N_("The provider’s content filter ended this answer. Rephrase the message and try again.")
            )
        if not self.text.strip():
            detail = N_("The model gave no answer. Try again, or choose another model.")
            if self.truncated:
                detail = N_("The model used up the length of its answer before it said anything. Allow longer replies.")
            elif self.thoughts:
                detail = N_("The model only thought and gave no answer. Try again, or choose another model.")
            raise MalformedOutput(detail)

    def complete(self, outcome: Outcome, assembled: AssembledPrompt | None) -> Outcome:
        """Return the outcome with everything known about the prompt and the model's calls."""
        self._end_thought()
        usage = self.usage
        model = (self.finish.model if self.finish else None) or self.model
        return replace(
            outcome,
            model=model,
            target=self.target,
            stands_in_for=self.asked_first,
            estimated_tokens=assembled.tokens + self.asked_again_tokens if assembled else 0,
            prompt_characters=_characters(assembled) if assembled and not self.asked_again_tokens else 0,
            cached_tokens=usage.cached_tokens if usage else None,
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            prompt_version=assembled.prompt_version if assembled else None,
            truncated=self.truncated,
            filtered=self.finish is not None and self.finish.reason == "content_filter",
            tool_calls=self.tool_calls,
            thoughts=self.thoughts,
            thought_ms=self.thought_ms,
            offer=self.offer,
            receipt=assembled.receipt if assembled else (),
            seen=assembled.seen if assembled else PromptMemories(),
            is_tainted=self.is_tainted,
            fills_prompt=assembled is not None and estimate_tokens(outcome.text) > assembled.spare,
            steps=self._steps(assembled, model) if assembled else [],
        )

    def measure(self, outcome: Outcome) -> None:
        """Record how long the turn took and what it used, once it has ended."""
        recorder.observe(TURN, time.perf_counter() - self.start, outcome.status)
        if self.first_text_ms is not None:
            recorder.observe(FIRST_TOKEN, self.first_text_ms / 1000)
        if self.model_seconds:
            recorder.observe(MODEL_TIME, self.model_seconds)
        for step in outcome.steps:
            if step.name == "retrieval" and step.duration_ms is not None:
                recorder.observe(RETRIEVAL, step.duration_ms / 1000)
        counts = {"input": outcome.prompt_tokens, "cached": outcome.cached_tokens, "output": outcome.completion_tokens}
        for kind, tokens in counts.items():
            recorder.count(TOKENS, tokens or 0, kind)
        attributes: dict[str, tracing.Value | None] = {
            "commonplace.turn.status": outcome.status,
            "commonplace.turn.first_token_ms": self.first_text_ms,
            "commonplace.turn.model_ms": round(self.model_seconds * 1000),
            "error.type": outcome.error_code,
        }
        tracing.note(attributes | {f"commonplace.turn.tokens.{kind}": tokens for kind, tokens in counts.items()})

    def _steps(self, assembled: AssembledPrompt, model: str | None) -> list[Step]:
        usage = self.usage
        call = {
            "first_text_ms": self.first_text_ms,
            "finish_reason": self.finish.reason if self.finish else None,
            "prompt_tokens": usage.prompt_tokens if usage else None,
            "completion_tokens": usage.completion_tokens if usage else None,
            "tools": [record["tool_name"] for record in self.tool_calls],
            "tool_results": [_result(record) for record in self.tool_calls],
        }
        before = [step for step in (assembled.retrieval, assembled.step) if step is not None]
        return [*before, Step("model", call, model=model, duration_ms=self._elapsed())]

    def _elapsed(self) -> int:
        return round((time.perf_counter() - self.start) * 1000)


def _result(record: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call without its text, which is stored with the message."""
    output = record.get("output") or {}
    fields: dict[str, Any] = {name: record[name] for name in ("server", "duration_ms") if name in record}
    tokens = estimate_tokens(str(output.get("text") or output))
    return {"tool_name": record["tool_name"], "status": output.get("status", "ok"), "tokens": tokens, **fields}


def storable(text: str) -> str:
    """Return text as the database can hold it: without NUL, and with a replacement for halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _characters(assembled: AssembledPrompt) -> int:
    """Return the length of a prompt; 0 if it has pictures or tools, since its length then says little about tokens."""
    texts = [message.get("content") or "" for message in assembled.messages]
    if assembled.tool_tokens or not all(isinstance(text, str) for text in texts):
        return 0
    return sum(map(len, texts))
