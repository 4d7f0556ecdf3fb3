"""The summary call: what is asked, what is shown, and the shape of the answer; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from webapp.llm.structured import complete_items
from webapp.prompts.catalogue import default_text
from webapp.summaries.faithful import whole_sentences

NAME = "conversation_summary"
INSTRUCTIONS = default_text("summaries")
MESSAGE_CHARS = 3_000
CALL_CHARS = 36_000
EARLIER_CHARS = 1_500
SUMMARY_CHARS = 6_000
MARK = " […] "
SUMMARY_TOKENS = 900
FACT_TOKENS = 150


@dataclass(frozen=True, slots=True)
class Said:
    """A message to be summarised."""

    id: int
    role: str
    content: str
    at: datetime


class ConversationSummary(BaseModel):
    """The model's answer."""

    summary: str = Field(min_length=1, max_length=SUMMARY_CHARS)


class SummaryFact(BaseModel):
    """A fact about the person of a legacy; `message` counts the messages of the call from 1."""

    category: str = Field("other", max_length=100)
    content: str = Field(min_length=1, max_length=1_000)
    message: int | None = None
    quote: str = Field("", max_length=2_000)


def _none_is_empty(value: object) -> object:
    return [] if value is None else value


class LegacySummary(ConversationSummary):
    """The model's answer in a legacy: the same single call returns facts about its person. One that is malformed costs
    only itself."""

    facts: Annotated[list[Any], BeforeValidator(_none_is_empty)] = Field(
        default_factory=list, max_length=100, json_schema_extra={"items": SummaryFact.model_json_schema()}
    )

    @property
    def readable(self) -> list[SummaryFact]:
        """The facts that are some."""
        found = []
        for item in self.facts:
            try:
                found.append(SummaryFact.model_validate(item))
            except ValidationError:
                continue
        return found


def build_messages(
    said: Sequence[Said], earlier: str = "", *, instructions: str = INSTRUCTIONS
) -> list[dict[str, str]]:
    """The messages of the call; what is very long is shortened in its middle, all of it stays within CALL_CHARS."""
    limit = min(MESSAGE_CHARS, CALL_CHARS // max(1, len(said)))
    parts = []
    if earlier:
        parts.append(f"<earlier_summary>\n{_inside(earlier[-EARLIER_CHARS:])}\n</earlier_summary>")
    parts += [
        f'<message n="{number}" role="{item.role}" date="{item.at:%Y-%m-%d}">'
        f"{_inside(cut(item.content, limit))}</message>"
        for number, item in enumerate(said, 1)
    ]
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": "\n".join(parts)},
    ]


def cut(text: str, limit: int) -> str:
    """A text without its middle, if it is longer than `limit` characters; at word boundaries where there are some."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[-(limit // 3 - len(MARK)) :]
    return head.rsplit(" ", 1)[0] + MARK + tail.split(" ", 1)[-1]


def answer_tokens(said: Sequence[Said], with_facts: bool) -> int:
    """How long the answer may be: the summary, and in a legacy a fact or two for every message of the user's."""
    return SUMMARY_TOKENS + (FACT_TOKENS * sum(item.role == "user" for item in said) if with_facts else 0)


def salvaged(text: str, with_facts: bool) -> ConversationSummary | None:
    """What there is of an answer that was cut off: its summary up to the last whole sentence, its whole facts."""
    found = re.search(r'"summary"\s*:\s*"((?:[^"\\]|\\.)*)', text, re.DOTALL)
    if found is None:
        return None
    try:
        summary = whole_sentences(str(json.loads(f'"{found[1]}"', strict=False)))[:SUMMARY_CHARS]
    except ValueError:
        return None
    if not summary.strip():
        return None
    if with_facts:
        return LegacySummary(summary=summary, facts=complete_items(text, "facts")[:100])
    return ConversationSummary(summary=summary)


def tidy(summary: str) -> str:
    """The summary as it is kept: no label, no fence, no empty lines; empty when nothing is left of it."""
    lines = [line.strip() for line in summary.replace("```", "").strip().splitlines()]
    text = "\n".join(line for line in lines if line)
    for label in ("summary:", "**summary:**", "**summary**"):
        if text.lower().startswith(label):
            text = text[len(label) :].strip()
    return text


def _inside(text: str) -> str:
    """A text that cannot end the block it stands in."""
    return text.replace("<", "&lt;")
