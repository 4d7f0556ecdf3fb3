"""One structured call that does several things: each part has its own field of the answer, schema and instructions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One thing asked for in a call: the field of its answer, that field's schema, and its instructions.

    The code that makes a part also reads its field of the answer; the call itself knows nothing about either.
    """

    field: str
    schema: Mapping[str, Any]
    instructions: str = ""


def schema_of(parts: Iterable[Part]) -> dict[str, Any]:
    """The JSON schema of an answer to all the parts, in their order."""
    properties = {part.field: dict(part.schema) for part in parts}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def instructions_of(parts: Iterable[Part]) -> str:
    """Return what the model is told: the parts' instructions one after another."""
    return "\n\n".join(part.instructions for part in parts if part.instructions)
