"""Small worlds for the tests of the memory engine: messages, operations and what is known."""

from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.memories.operations import MemoryOperation
from webapp.memories.state import KnownMemory, SourceMessage, State, apply_effects

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


def after(state: State, plan) -> State:
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
