"""Input and output of digests."""

from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.http.validation import Id, Input, Instant, Line, Lines, Output
from webapp.memories.schemas import MemoryFields, MemoryKind, OptionalFields, Statement

MAX_ITEMS = 30
MAX_ITEM = 300
MAX_OBSERVATION = 2_000


def _without_blanks(items: list[str]) -> list[str]:
    return list(dict.fromkeys(item for item in items if item))


Item = Annotated[Line, Field(max_length=MAX_ITEM)]
Items = Annotated[list[Item], Field(max_length=MAX_ITEMS), AfterValidator(_without_blanks)]


class ConversationMemoryData(Input):
    """The documented structure of a conversation's memory."""

    main_topics: Items = Field(description="What the conversation is about, most important first.")
    action: Items = Field(description="What its user could do next.")
    typical_observation: Annotated[Lines, Field(max_length=MAX_OBSERVATION)] = Field(
        description="How its user works here."
    )

    @property
    def is_empty(self) -> bool:
        """Return whether the digest says nothing."""
        return not (self.main_topics or self.action or self.typical_observation)

    def without(self, is_unwanted: Callable[[str], bool]) -> "ConversationMemoryData":
        """Return the digest without the entries for which the function is true."""
        return ConversationMemoryData(
            main_topics=[item for item in self.main_topics if not is_unwanted(item)],
            action=[item for item in self.action if not is_unwanted(item)],
            typical_observation="" if is_unwanted(self.typical_observation) else self.typical_observation,
        )


class NewMemory(OptionalFields):
    """Either a memory (`memory_type` and `content`), or a conversation's digest (`conversation_id`, `memory_data`)."""

    memory_type: MemoryKind | None = None
    content: Statement | None = None
    conversation_id: Id | None = None
    memory_data: ConversationMemoryData | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        digest = {"conversation_id", "memory_data"}
        fields = {name for name in self.model_fields_set if getattr(self, name) is not None}
        needed = ("conversation_id", "memory_data") if fields & digest else ("memory_type", "content")
        if missing := [name for name in needed if name not in fields]:
            raise ValidationError.from_exception_data(
                "NewMemory", [{"type": "missing", "loc": (name,), "input": None} for name in missing]
            )
        if fields & digest and fields - digest:
            raise ValueError("a digest consists of conversation_id and memory_data, and nothing else")
        return self

    @property
    def fields(self) -> MemoryFields:
        """Return the memory it contains."""
        return MemoryFields(**self.model_dump(exclude={"conversation_id", "memory_data"}))


class ConversationMemoryOut(Output):
    """A conversation's memory."""

    id: int
    conversation_id: int
    memory_data: ConversationMemoryData
    created_at: Instant
    updated_at: Instant
    version: int

    @classmethod
    def of(cls, row: ConversationMemory) -> "ConversationMemoryOut":
        return cls.from_row(row, memory_data=stored_digest(row.memory_data))


class ConversationMemoryVersionOut(Output):
    """One of the versions a digest had."""

    version: int
    memory_data: ConversationMemoryData
    source: str
    model: str | None
    prompt_version: str | None
    created_at: Instant

    @classmethod
    def of(cls, row: ConversationMemoryVersion) -> "ConversationMemoryVersionOut":
        return cls.from_row(row, memory_data=stored_digest(row.memory_data))


class ConversationMemoryHistory(BaseModel):
    conversation_id: int
    versions: list[ConversationMemoryVersionOut] = Field(description="Newest first.")


class ModelDigest(BaseModel):
    """The answer of the model; of any length: too long a one is shortened rather than refused."""

    main_topics: list[str]
    action: list[str]
    typical_observation: str

    def tidy(self) -> ConversationMemoryData:
        """Return the answer within the bounds of a digest."""

        def items(items: list[str]) -> list[str]:
            lines = [_line(item)[:MAX_ITEM].strip() for item in items]
            return [line for line in lines if line][:MAX_ITEMS]

        return ConversationMemoryData(
            main_topics=items(self.main_topics),
            action=items(self.action),
            typical_observation=_line(self.typical_observation)[:MAX_OBSERVATION].strip(),
        )


def stored_digest(data: dict[str, Any]) -> ConversationMemoryData:
    """Return a stored digest; what was checked when it was written is not checked again."""
    return ConversationMemoryData.model_construct(
        main_topics=list(data.get("main_topics") or ()),
        action=list(data.get("action") or ()),
        typical_observation=data.get("typical_observation") or "",
    )


def _line(text: str) -> str:
    return " ".join(text.replace("\x00", " ").encode("utf-8", "replace").decode().split())
