"""One structured call that does several things: each part owns its field of the answer, its schema and its words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One thing asked for in a call: the field it is answered in, that field's schema, and the instructions for it.

    Whoever makes a part also reads its field of the answer; the call itself knows neither.
    """

    field: str
    schema: Mapping[str, Any]
    instructions: str = ""


def schema_of(parts: Iterable[Part]) -> dict[str, Any]:
    """The JSON schema of an answer to all the parts, in their order."""
    properties = {part.field: dict(part.schema) for part in parts}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def instructions_of(parts: Iterable[Part]) -> str:
    """What the model is told, the parts' instructions one after another."""
    return "\n\n".join(part.instructions for part in parts if part.instructions)
