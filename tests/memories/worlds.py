"""Small worlds for the tests of the memory engine: messages, operations and what is known."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st

from testkit.memory_extraction import apply_effects
from webapp.memories.learning.prompt import SECTIONS
from webapp.memories.rules.evidence import find_quote
from webapp.memories.rules.operations import MemoryOperation
from webapp.memories.rules.state import KnownMemory, SourceMessage, State
from webapp.prompts.catalogue import default_text

NAME = "identity/name"
INSTRUCTIONS = f"{default_text('extraction')}\n\n{default_text('points')}"
"""As the extraction of a guided conversation is instructed."""
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def say(*texts: str, roles: dict[int, str] | None = None, first_id: int = 100) -> tuple[SourceMessage, ...]:
    """Messages numbered from 1, one a minute."""
    return tuple(
        SourceMessage(i, first_id + i, (roles or {}).get(i, "user"), text, NOON + timedelta(minutes=i))
        for i, text in enumerate(texts, 1)
    )


def op(action: str, message: int, quote: str, content: str = "", **fields: Any) -> MemoryOperation:
    """An operation of fair confidence and importance."""
    values = {"confidence": 0.9, "importance": 0.6, "content": content or quote} | fields
    return MemoryOperation(action=action, message_number=message, quote=quote, **values)


def fact(message: int, quote: str, key: str, value: str, confidence: float = 0.9, **fields: Any) -> MemoryOperation:
    """An added keyed fact."""
    name = key.split("/")[1]
    values = {"fact_key": key, "fact_value": value, "confidence": confidence} | fields
    return op(values.pop("action", "add"), message, quote, f"The user's {name} is {value}.", **values)


def apply(state: State, plan) -> State:
    """The state in which the plan was applied."""
    return State(
        messages=state.messages,
        memories=apply_effects(state.memories, plan.effects),
        numbered=state.numbered,
        embeddings=state.embeddings,
        context=state.context,
        is_forgotten=state.is_forgotten,
    )


def current(state: State) -> list[KnownMemory]:
    """What is in use."""
    return [memory for memory in state.memories if memory.is_current]


def memory(ref: int, content: str, **fields: Any) -> KnownMemory:
    """A memory of an earlier extraction."""
    values = {"memory_type": "fact", "origin": "extraction", "confidence": 0.9} | fields
    return KnownMemory(ref=ref, content=content, **values)


TEXTS = [
    "My name is Alex. Call me Al. I live in Rome",
    "Actually my name is Alexander; I like tea 🍵",
    "我喜欢喝茶 and I live in Oslo",
    "I do not like tea. I no longer live in Oslo",
    "J’habite à Paris, I like tea",
]
QUOTES = [
    "My name is Alex",
    "Call me Al",
    "I live in Rome",
    "my name is Alexander",
    "I like tea",
    "我喜欢喝茶",
    "I live in Oslo",
    "I do not like tea",
    "I no longer live in Oslo",
    "J'habite à Paris",
    "never said this",
]
GROUNDED = [(n, quote) for n, text in enumerate(TEXTS, 1) for quote in QUOTES if find_quote(quote, text)]
VALUES = ["Alex", "Al", "Alexander", "Rome", "Oslo", "Paris"]
LEVELS = [0.1, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0]


@st.composite
def operations(draw):
    """Mostly grounded operations of every kind."""
    keyed = draw(st.booleans())
    value = draw(st.sampled_from(VALUES))
    anything = st.tuples(st.integers(1, len(TEXTS) + 1), st.sampled_from(QUOTES))
    message, quote = draw(st.one_of(*[st.sampled_from(GROUNDED)] * 4, anything))
    return op(
        draw(st.sampled_from(["add", "add", "update", "supersede", "retract"])),
        message,
        quote,
        f"The user's is {value}" if keyed else draw(st.sampled_from(QUOTES)),
        memory_number=draw(st.none() | st.integers(1, 4)),
        fact_key=draw(st.sampled_from([NAME, "identity/location"])) if keyed else None,
        fact_value=value if keyed else None,
        confidence=draw(st.sampled_from(LEVELS)),
        importance=draw(st.sampled_from(LEVELS)),
        memory_type=draw(st.sampled_from(["fact", "preference"])),
    )


@st.composite
def worlds(draw):
    """Messages, and up to three memories: a keyed fact, a plain one, and one that the user wrote."""
    messages = say(*TEXTS)
    sure = draw(st.sampled_from(LEVELS[3:]))
    keyed = memory(1, "Is Alex", fact_key=NAME, fact_value="Alex", confidence=sure)
    plain = memory(2, "I like tea", memory_type="preference", needs_review=draw(st.booleans()))
    written = memory(3, "Is Rome", fact_key="identity/location", fact_value="Rome", origin="user")
    # Brought in with a key, and in words that may be said without one.
    home = {"fact_key": "identity/location", "fact_value": draw(st.sampled_from(["Oslo", "Paris"]))}
    waiting = memory(4, "I live in Oslo", origin="import", needs_review=True, confidence=0.5, **home)
    memories = tuple(draw(st.lists(st.sampled_from([keyed, plain, written, waiting]), unique_by=lambda m: m.ref)))
    vectors = {quote: np.eye(len(QUOTES), dtype=np.float32)[QUOTES.index(quote) // 2] for quote in QUOTES}
    return State(messages, memories, {m.ref: m.ref for m in memories}, embeddings=vectors)


batches = st.lists(operations(), max_size=8)


def read_sections(text: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of every section of a call's user message, by heading; lines that are not JSON objects are skipped."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SECTIONS}
    section: str | None = None
    for line in text.split("\n"):
        if line in SECTIONS:
            section = line
        elif section is not None and line.startswith("{"):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            found[section].append(row)
    return found
