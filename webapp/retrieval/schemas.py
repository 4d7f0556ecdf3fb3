"""Input and output of search and receipts."""

from typing import Literal

from pydantic import BaseModel, Field, field_validator

from webapp.http.validation import Day, Id, Input, Instant, Integer, Output, SearchText
from webapp.i18n.marks import say
from webapp.retrieval.excerpt import excerpt
from webapp.retrieval.passages import KINDS, FoundPassage

EXCERPT = 240
PLURALS = {"memories": "memory", "chunks": "chunk", "messages": "message", "documents": "document"}
"""Names that lists of the kinds have elsewhere, which are accepted here too."""


class SearchQuery(BaseModel):
    q: SearchText = Field("", max_length=500, description="Words to look for; the last one may be unfinished.")
    kinds: str = Field("", max_length=100, description="Some of memory, chunk, message, document, with commas; all.")
    space_id: Id | None = None
    conversation_id: Id | None = Field(None, description="Only messages of this conversation.")
    since: Day | None = Field(
        None, description="The first day; for memories and summaries, of the day they were created."
    )
    until: Day | None = Field(None, description="The last day.")
    speaker: Literal["user", "assistant"] | None = Field(None, description="Only messages, and only from that side.")
    limit: Integer = Field(20, ge=1, le=100)

    @field_validator("kinds")
    @classmethod
    def _known_kinds(cls, kinds: str) -> str:
        selection = [kind.strip() for kind in kinds.split(",") if kind.strip()]
        names = [PLURALS.get(kind, kind) for kind in selection]
        if set(names) - set(KINDS):
            raise ValueError(say("may contain only %(names)s", names=", ".join(KINDS)))
        return ",".join(names)

    @property
    def selected_kinds(self) -> frozenset[str]:
        return frozenset(kind for kind in self.kinds.split(",") if kind) or frozenset(KINDS)


class SearchHit(Output):
    kind: str
    id: int
    score: float
    reason: str = Field(description="Why it was found: words, words nearby, meaning.")
    excerpt: str
    highlights: list[tuple[int, int]] = Field(description="Start and end of the words found, in `excerpt`.")
    created_at: Instant
    conversation_id: int | None
    message_id: int | None = Field(description="Where to jump to in the conversation.")
    start: int = Field(0, description="Where in the text the passage found begins, in characters.")
    title: str | None
    role: str | None
    memory_type: str | None = None
    revision: int | None = None

    @classmethod
    def of(cls, item: FoundPassage, q: str) -> "SearchHit":
        """Return a passage with the part of it that shows why it was found."""
        part = excerpt(item.content, q, EXCERPT)
        return cls.from_row(
            item,
            score=round(item.score, 4),
            excerpt=part.text,
            highlights=list(part.spans),
            created_at=item.at,
            memory_type=item.extra.get("memory_type"),
        )


class SearchResults(BaseModel):
    results: list[SearchHit]
    with_meaning: bool = Field(
        description="False when only words were searched because the embedding model is unavailable."
    )
    indexed: bool = Field(description="False while the index is being built: ask again in a moment.")


class ReceiptLine(Output):
    kind: str
    id: int
    revision: int | None = Field(description="Of a memory: the revision that the reply saw.")
    stage: str = Field(description="known, summaries or retrieved.")
    rank: int
    score: float
    reason: str
    injected: bool = Field(description="Whether the model saw it.")
    state: str = Field(
        description="current, changed (the memory now says something else), closed (set aside, replaced, outdated or "
        "in review now) or gone."
    )
    content: str | None = Field(description="As the reply saw it; null when that is gone.")
    created_at: Instant | None
    conversation_id: int | None
    message_id: int | None
    title: str | None
    role: str | None
    verdict: str | None = Field(description="What the user said about it here.")


class Receipt(BaseModel):
    message_id: int
    items: list[ReceiptLine]


class Verdict(Input):
    kind: Literal["memory", "chunk", "message", "document"]
    id: Id
    verdict: Literal["wrong", "outdated", "not_relevant", "forget"]


class VerdictDone(BaseModel):
    verdict: str
    kind: str
    id: int
    forgotten: list[int] | None = None
