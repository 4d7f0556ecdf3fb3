"""The contents of an export, whichever program wrote it: plain data, made by the readers."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, Literal, Protocol

from webapp.i18n.marks import N_
from webapp.memories.store.outside_proposals import OutsideStatement
from webapp.text.provenance import Spans
from webapp.transfer.sources import Upload

Role = Literal["user", "assistant"]


@dataclass(slots=True)
class ReadFile:
    """A file of a message: a member of the upload, or its bytes."""

    name: str
    member: str | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(slots=True)
class ReadMessage:
    """One visible message; `source_id` is unique within its conversation and the same in every export of it, `thought`
    is what the model thought before it and `spans` what of it was not typed, where the export has that."""

    source_id: str
    role: Role
    content: str
    at: datetime | None = None
    model: str | None = None
    files: list[ReadFile] = field(default_factory=list)
    thought: str = ""
    spans: Spans = ()


class Omission:
    """The kinds of things in a conversation that are not imported."""

    OTHER_VERSIONS = N_("other versions")
    HIDDEN = N_("hidden messages")
    STEPS = N_("steps of tools")
    MISSING_FILES = N_("files that are not in the export")
    REFUSED_FILES = N_("files that cannot be attached")
    CHANGES = N_("changes of documents that do not fit")


@dataclass(slots=True)
class ReadConversation:
    """A conversation as its owner last saw it; `left_out` counts what is not taken in, by its kind above."""

    item_kind: ClassVar[str] = "conversation"
    plural: ClassVar[str] = "conversations"
    source_id: str
    title: str | None
    messages: list[ReadMessage]
    created_at: datetime | None = None
    updated_at: datetime | None = None
    is_archived: bool = False
    is_pinned: bool = False
    folder: str | None = None
    tags: list[str] = field(default_factory=list)
    may_remember: bool = True
    left_out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Set a missing id to a digest of the beginning, so that conversations without one differ."""
        if not self.source_id and self.messages:
            first = f"{self.title} {self.created_at} {self.messages[0].content}"
            self.source_id = hashlib.sha256(first.encode("utf-8", "replace")).hexdigest()

    def is_within(self, between: Mapping[str, str | None] | None) -> bool:
        """Return whether the conversation was last active between two ISO 8601 times, as far as the export tells."""
        moment = self.updated_at or (self.messages[-1].at if self.messages else None) or self.created_at
        if not between or moment is None:
            return True
        edges = (datetime.fromisoformat(value) if (value := between[name]) else None for name in ("first", "last"))
        first, last = (edge.replace(tzinfo=UTC) if edge and edge.tzinfo is None else edge for edge in edges)
        return (first is None or moment >= first) and (last is None or moment <= last)


@dataclass(frozen=True)
class ReadMemory(OutsideStatement):
    """Something the other program remembered; `project` is the source id of the project it belongs to."""

    item_kind: ClassVar[str] = "memory"
    plural: ClassVar[str] = "memories"
    project: str | None = None


@dataclass(slots=True)
class ReadProject:
    """A project with its instructions and documents (name, text)."""

    item_kind: ClassVar[str] = "project"
    plural: ClassVar[str] = "projects"
    source_id: str
    name: str
    description: str = ""
    instructions: str = ""
    documents: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Unreadable:
    """A part that could not be read, and why, in words for its owner."""

    item_kind: ClassVar[str] = "problem"
    plural: ClassVar[str] = "problems"
    place: str
    reason: str


Part = ReadConversation | ReadMemory | ReadProject | Unreadable


class Reader(Protocol):
    """Reads one format: `looks_like` peeks, `read` yields parts one by one and never holds a whole file."""

    name: str
    label: str

    def looks_like(self, upload: Upload) -> bool: ...
    def read(self, upload: Upload) -> Iterator[Part]: ...
