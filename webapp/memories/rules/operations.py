"""A proposed change to memory, as the deciding code accepts it from any proposer: model, tool or summary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from webapp.memories.rules.keys import CONTENT_MAX, KEY_MAX, VALUE_MAX
from webapp.memories.rules.kinds import MemoryType
from webapp.text.canonical import plain_text

QUOTE_MAX = 2000


class Action(StrEnum):
    """The action that an operation asks for. Code decides what happens to it."""

    ADD = "add"
    UPDATE = "update"
    SUPERSEDE = "supersede"
    RETRACT = "retract"


def one_line(value: object) -> object:
    """Return a text as statements are stored; anything else as it is."""
    return plain_text(value) if isinstance(value, str) else value


def _optional_text(value: object) -> object:
    text = one_line(value)
    return None if isinstance(text, str) and text.casefold() in {"", "null", "none", "n/a"} else text


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a number is expected")
    return value


Unit = Annotated[float, BeforeValidator(_no_bool), Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Number = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=1_000_000)]


class MemoryOperation(BaseModel):
    """One proposed change to memory, with the number of a message and a verbatim quote from it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    action: Annotated[Action, BeforeValidator(_lower)]
    memory_number: Number | None = None
    message_number: Number
    quote: str = Field(min_length=1, max_length=QUOTE_MAX)
    memory_type: Annotated[MemoryType, BeforeValidator(_lower)] = MemoryType.FACT
    category: Annotated[Annotated[str, Field(max_length=KEY_MAX)] | None, BeforeValidator(_optional_text)] = None
    content: Annotated[str, BeforeValidator(one_line), Field(max_length=CONTENT_MAX)] = ""
    fact_key: Annotated[Annotated[str, Field(max_length=KEY_MAX)] | None, BeforeValidator(_optional_text)] = None
    fact_value: Annotated[Annotated[str, Field(max_length=VALUE_MAX)] | None, BeforeValidator(_optional_text)] = None
    until: date | None = None
    """The last day on which it holds, where the user said one."""
    confidence: Unit
    importance: Unit

    @model_validator(mode="before")
    @classmethod
    def _default_missing(cls, data: Any) -> Any:
        """Return a null where a default exists means the default: models fill every field of a strict schema."""
        if not isinstance(data, Mapping):
            raise ValueError("an operation is an object")
        fields = {"memory_type", "content"}
        return {key: value for key, value in data.items() if value is not None or key not in fields}

    @model_validator(mode="after")
    def _complete(self) -> MemoryOperation:
        if self.action is not Action.RETRACT and not self.content:
            raise ValueError("only a retraction may come without content")
        return self
