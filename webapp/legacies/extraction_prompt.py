"""The prompt for finding the facts a user tells about a person in a conversation, and the shape of its answer; pure."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from webapp.legacies.fact_list import CATEGORIES
from webapp.llm.structured import none_is_empty
from webapp.prompts.transcript import TranscriptMessage, numbered_lines

NAME = "legacy_facts"
FACT_TOKENS = 150
"""The room in an answer for one fact: its quote, its statement, and where it belongs."""
MIN_TOKENS, MAX_TOKENS = 600, 6_000
CALL_MESSAGES = 20
CALL_CHARS = 24_000
MAX_FACTS = 100

_FACTS = """This conversation is with a memorial agent and about {name}. \
{ask} in `facts` a list of factual observations about {name} that the user mentioned. For each fact:
- `category`: one of [{categories}]
- `content`: a short factual statement about {name}, one sentence
- `message`: the number of the user's message that says it
- `quote`: the words of that message that say it, verbatim

Only give facts the user explicitly stated or clearly implied. Do not infer or speculate. What the assistant said is \
no fact. Without any, the list is empty."""


class LegacyFact(BaseModel):
    """A fact about the person of a legacy as the model gave it.

    `message` counts all messages of the call from 1, the assistant's included; `contradicts` is the number that the
    call gave to a known fact.
    """

    category: str = Field("other", max_length=100)
    content: str = Field(min_length=1, max_length=1_000)
    message: int | None = None
    quote: str = Field("", max_length=2_000)
    contradicts: int | None = None


class LegacyFacts(BaseModel):
    """The answer of the call that looks for facts alone. One that is malformed costs only itself."""

    facts: Annotated[list[Any], BeforeValidator(none_is_empty)] = Field(
        max_length=MAX_FACTS, json_schema_extra={"items": LegacyFact.model_json_schema()}
    )


def fact_task(name: str) -> str:
    """Return what a legacy adds to the summary prompt."""
    return "\n\n" + _instructions("Besides the summary, give", name)


def build_messages(transcript: Sequence[TranscriptMessage], name: str, facts: str) -> list[dict[str, str]]:
    """Return the messages of the call that only looks for facts; `facts` is the text about those not to be repeated."""
    return [
        {"role": "system", "content": _instructions("Give", name) + facts},
        {"role": "user", "content": "\n".join(numbered_lines(transcript, CALL_CHARS))},
    ]


def answer_tokens(transcript: Sequence[TranscriptMessage]) -> int:
    """Return the most tokens for an answer: room for a fact or so per message from the user, more for long ones."""
    texts = [item.content for item in transcript if item.role == "user"]
    return min(MAX_TOKENS, MIN_TOKENS + FACT_TOKENS * len(texts) + sum(map(len, texts)) // 2)


def first_batch(transcript: Sequence[TranscriptMessage], limit: int = CALL_MESSAGES) -> list[TranscriptMessage]:
    """Return as many messages from the beginning as one call reads; at least one."""
    batch: list[TranscriptMessage] = []
    room = CALL_CHARS
    for item in transcript[:limit]:
        room -= len(item.content)
        if batch and room < 0:
            break
        batch.append(item)
    return batch


def _instructions(ask: str, name: str) -> str:
    return _FACTS.format(ask=ask, name=" ".join(name.split()), categories=", ".join(CATEGORIES))
