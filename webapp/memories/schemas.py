"""Requests about memories, and a memory in a prompt."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, tzinfo
from typing import Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    GetPydanticSchema,
)
from pydantic_core import core_schema

from webapp.db.base import now
from webapp.http.validation import (
    AwareTime,
    Changes,
    Day,
    Flag,
    Id,
    Input,
    Instant,
    Line,
    Lines,
    PageQuery,
    not_blank,
)
from webapp.memories.rules.kinds import CATEGORY_MAX, CONTENT_MAX, KEY_MAX, MEMORY_TYPES, VALUE_MAX
from webapp.memories.rules.operations import Unit
from webapp.memories.rules.user_decisions import Decision
from webapp.text.canonical import plain_text

MemoryKind = Annotated[str, GetPydanticSchema(lambda _type, _handler: core_schema.literal_schema(list(MEMORY_TYPES)))]
Visibility = Literal["private", "shared"]
D = TypeVar("D", bound=date)


def _statement(value: str) -> str:
    return not_blank(plain_text(value))


def _check_range(value: D) -> D:
    if not date(1970, 1, 2) <= date(value.year, value.month, value.day) <= date(2038, 1, 17):
        raise ValueError("must be between 1970 and 2038")  # what a TIMESTAMP holds, whatever the zone
    return value


MemoryTime = Annotated[AwareTime, AfterValidator(_check_range)]
MemoryDay = Annotated[Day, AfterValidator(_check_range)]
Statement = Annotated[Lines, Field(max_length=CONTENT_MAX), AfterValidator(_statement)]
LastDay = Annotated[
    Annotated[Day | None, BeforeValidator(lambda value: None if value == "" else value)],
    Field(description="The last day on which it holds, as YYYY-MM-DD; prompts leave it out after that."),
]
Category = Annotated[Line, Field(max_length=CATEGORY_MAX)]
FactKey = Annotated[Line, Field(max_length=KEY_MAX)]
FactValue = Annotated[Line, Field(max_length=VALUE_MAX)]


class MemoryQuery(PageQuery):
    memory_type: MemoryKind | None = None
    category: Category | None = None
    q: Line | None = Field(None, max_length=200, description="Words to look for; the answer is then by relevance.")
    is_pinned: bool | None = None
    is_archived: bool = Field(False, description="List what was set aside instead.")
    needs_review: bool | None = None
    space_id: Id | None = None
    visibility: Visibility | None = None
    source_conversation_id: Id | None = None
    is_closed: bool = Field(False, description="List what is no longer true (replaced or retracted) instead.")


ProposalKind = Literal["remember", "forget", "conflict"]


class ProposalQuery(PageQuery):
    kind: ProposalKind | None = None


ProposalId = Annotated[str, Field(pattern=r"^(memory|forget)-[1-9][0-9]{0,8}$")]


class OptionalFields(Input):
    """The fields of a memory besides its kind and its statement."""

    category: Category | None = None
    fact_key: FactKey | None = Field(None, description="`namespace/attribute`: at most one current memory has it.")
    fact_value: FactValue | None = None
    until: LastDay = None
    is_pinned: Flag = False
    importance: Unit = 0.5
    space_id: Id | None = None
    only_conversation_id: Id | None = Field(None, description="Of an instruction: the only place it applies.")
    visibility: Visibility = "private"


class MemoryFields(OptionalFields):
    """A memory as its user writes it."""

    memory_type: MemoryKind
    content: Statement


class MemoryChanges(Changes):
    """Only the fields that are given are changed."""

    nullable = (
        "category",
        "fact_key",
        "fact_value",
        "space_id",
        "only_conversation_id",
        "valid_from",
        "valid_to",
        "until",
    )

    memory_type: MemoryKind | None = None
    content: Statement | None = None
    category: Category | None = None
    fact_key: FactKey | None = None
    fact_value: FactValue | None = None
    is_pinned: Flag | None = None
    is_archived: Flag | None = None
    importance: Unit | None = None
    confidence: Unit | None = None
    visibility: Visibility | None = None
    space_id: Id | None = None
    only_conversation_id: Id | None = None
    valid_from: MemoryTime | None = None
    valid_to: MemoryTime | None = None
    until: LastDay = None


class ForgetQuery(BaseModel):
    archive: bool = Field(False, description="Only set it aside; nothing is forgotten.")
    whole_key: bool = Field(False, description="Never keep another value of its key either.")


class RestoreRevision(Input):
    revision: Id


class ReviewDecision(Input):
    decision: Decision
    other_id: Id | None = None
    until: MemoryDay | MemoryTime | None = Field(None, description="A day, where you are, or a time.")

    def end(self, zone: tzinfo) -> datetime | None:
        """Return when what was true ended: a day counts as its noon in a time zone."""
        if self.until is None or isinstance(self.until, datetime):
            return self.until
        return datetime.combine(self.until, time(12), zone).astimezone(UTC)


class ExtractRequest(Input):
    conversation_id: Id
    sync: Flag = False


def _birthday(value: str) -> str:
    """Return a date in the past, as YYYY-MM-DD, or nothing."""
    with suppress(ValueError):
        if not value or date.fromisoformat(value).isoformat() == value <= now().date().isoformat():
            return value
    raise ValueError("must be a date in the past, such as 1990-05-14")


class StopExtraction(Input):
    conversation_id: Id


class ProfileChanges(Input):
    """Only the given fields are changed: null leaves one as it is, an empty text clears it."""

    name: Annotated[Line, Field(max_length=200)] | None = None
    preferred_name: Annotated[Line, Field(max_length=200)] | None = None
    birthday: Annotated[Line, Field(max_length=100), AfterValidator(_birthday)] | None = Field(
        None, description="A date in the past, such as 1990-05-14."
    )


class ProfileOut(BaseModel):
    """The user's profile, as far as it is known."""

    name: str | None = None
    preferred_name: str | None = None
    birthday: str | None = None
    updated_at: Instant | None = None
    source: str | None = Field(None, description="Who wrote the newest of them: user, extraction, tool or import.")


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A memory for the prompt; `group` is profile, pinned, fact or recent, or how else it got there.

    `author` names the member of the space who shares it; empty for the user's own. `learned_at` is given of what may
    hold for a while only.
    """

    id: int
    content: str
    revision: int = 1
    group: str = "fact"
    importance: float = 0.5
    author: str = ""
    learned_at: datetime | None = None

    def in_zone(self, zone: tzinfo) -> "KnownItem":
        """Return the memory with its time in a time zone."""
        return replace(self, learned_at=self.learned_at.astimezone(zone)) if self.learned_at else self
