"""Tables of retrieval: vectors of messages, chunks, what changed for whom, receipts, and users' verdicts on them."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Float, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import belongs_to, one_of, set_at

CHANGES = ("conversation", "memories", "documents", "verdicts")
VERDICTS = ("wrong", "outdated", "not_relevant", "forget")


class ConversationChunk(Base):
    """The summary of messages `message_range_start` to `message_range_end` (ids, both included) of a conversation.

    Chunks do not overlap and leave out no current message before the last one's end. `embedding` holds float32 values,
    empty for temporary conversations. One of a `level` above 0 is an overview of several below, and not searched.
    """

    __tablename__ = "conversation_chunks"
    __table_args__ = (
        UniqueConstraint(
            "conversation_id", "message_range_start", "message_range_end", name="uq_conversation_chunks_range"
        ),
        Index("ix_conversation_chunks_user_id", "user_id", "space_id"),
    )

    chunk_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id")
    user_id: Mapped[int | None] = belongs_to("users.user_id")
    space_id: Mapped[int | None]
    content: Mapped[str] = mapped_column(Text)
    embedding: Mapped[bytes | None] = mapped_column(LargeBinary(65_535))
    embedding_model: Mapped[str | None] = mapped_column(String(200))
    message_range_start: Mapped[int]
    message_range_end: Mapped[int]
    level: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    model: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime] = set_at()


class MessageEmbedding(Base):
    """The vector (float32 values) of a piece of a message, characters `from_char` to `to_char`, and the model that made
    it; replaced when the model changes. A short message is one piece."""

    __tablename__ = "message_embeddings"
    __table_args__ = (Index("ix_message_embeddings_user_id", "user_id", "model"),)

    message_id: Mapped[int] = belongs_to("messages.message_id", primary_key=True)
    piece: Mapped[int] = mapped_column(primary_key=True, autoincrement=False, default=0, server_default=text("0"))
    from_char: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    to_char: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    user_id: Mapped[int] = belongs_to("users.user_id")
    model: Mapped[str] = mapped_column(String(200))
    embedding: Mapped[bytes] = mapped_column(LargeBinary(65_535))


class PassageVersion(Base):
    """Counts the changes of what a user can find; its row is locked for every change, so that the numbers are in commit
    order. `memories_through` is the last version of their memory whose memories have
    vectors."""

    __tablename__ = "passage_versions"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    version: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    memories_through: Mapped[int | None]


class PassageChange(Base):
    """The change of a version: messages (from an id on) and chunks of the conversation `ref_id`, the vector of the
    memory `ref_id` (0: of many), a document, or the user's verdicts. Old ones are pruned: an index that missed some is
    rebuilt.
    """

    __tablename__ = "passage_changes"
    __table_args__ = (Index("ix_passage_changes_version", "user_id", "version"),)

    change_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    version: Mapped[int]
    what: Mapped[str] = mapped_column(one_of(*CHANGES, name="passage_change"))
    ref_id: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    from_id: Mapped[int] = mapped_column(default=0, server_default=text("0"))


class TurnReceipt(Base):
    """A memory's revision or a passage considered for a reply, without text; `injected`: the model saw it."""

    __tablename__ = "turn_receipts"
    __table_args__ = (
        Index("ix_turn_receipts_message", "message_id", "receipt_id"),
        Index("ix_turn_receipts_passage", "kind", "passage_id"),
    )

    receipt_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    message_id: Mapped[int] = belongs_to("messages.message_id")
    kind: Mapped[str] = mapped_column(one_of("memory", "chunk", "message", "document", name="passage_kind"))
    passage_id: Mapped[int]
    revision: Mapped[int | None]
    stage: Mapped[str] = mapped_column(String(20))
    rank: Mapped[int]
    score: Mapped[float] = mapped_column(Float)
    reason: Mapped[str] = mapped_column(String(200))
    injected: Mapped[bool] = mapped_column(Boolean)
    # The range of the passage that the model saw; NULL if it saw all of it.
    from_char: Mapped[int | None]
    to_char: Mapped[int | None]


class PassageVerdict(Base):
    """A user's verdict on a passage under a reply. `terms` are the words of the question it was found for: a passage
    called not relevant ranks lower for questions in those words."""

    __tablename__ = "passage_verdicts"
    __table_args__ = (
        UniqueConstraint("message_id", "kind", "passage_id", name="uq_passage_verdicts_passage"),
        Index("ix_passage_verdicts_user_id", "user_id", "verdict"),
    )

    verdict_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    message_id: Mapped[int] = belongs_to("messages.message_id")
    kind: Mapped[str] = mapped_column(one_of("memory", "chunk", "message", "document", name="verdict_kind"))
    passage_id: Mapped[int]
    verdict: Mapped[str] = mapped_column(one_of(*VERDICTS, name="passage_verdict"))
    terms: Mapped[list[Any]] = mapped_column(JSON, default=list)
    created_at: Mapped[datetime] = set_at()
