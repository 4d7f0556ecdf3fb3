"""A proposed change to memory, as the deciding code takes it from any proposer: model, tool or summary."""

from datetime import date
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from webapp.http.validation import PLAIN_NUMBER
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


Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), PLAIN_NUMBER]
Number = Annotated[int, Field(ge=1, le=1_000_000), PLAIN_NUMBER]


class MemoryOperation(BaseModel):
    """One proposed change to memory, with the number of a message and a verbatim quote from it.

    Only a retraction may come without content; `until` is the last day on which it holds, where the user said one.
    """

    model_config = ConfigDict(frozen=True)

    action: Action
    memory_number: int | None = None
    message_number: int
    quote: str
    memory_type: MemoryType = MemoryType.FACT
    category: str | None = None
    content: str = ""
    fact_key: str | None = None
    fact_value: str | None = None
    until: date | None = None
    confidence: float
    importance: float
