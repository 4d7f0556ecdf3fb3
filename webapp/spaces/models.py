"""Spaces, who belongs to them, and their documents with the parts that search finds."""

from datetime import datetime

from sqlalchemy import Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base, now
from webapp.db.columns import LONG_TEXT, Key, Timestamp, belongs_to, one_of, refers_to, set_at

KINDS = ("project", "legacy")
ROLES = ("owner", "member")
MEMBER_STATUSES = ("invited", "active")
DOCUMENT_STATUSES = ("queued", "indexing", "ready", "failed")


class Space(Base):
    """A project, or a legacy, named after its person and opened by a `persona`; `has_portrait`: members read one."""

    __tablename__ = "spaces"

    space_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(one_of(*KINDS, name="space_kind"))
    name: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text, default="")
    instructions: Mapped[str] = mapped_column(Text, default="")
    persona: Mapped[str | None] = mapped_column(String(50))
    has_portrait: Mapped[bool] = mapped_column(default=False, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at(onupdate=now)


class SpaceMember(Base):
    """A member of a space, or somebody invited to it. A space has one owner.

    An invitation has the address, with or without an account, and is accepted with `user_id`; a member has no address.
    `by_group`: a group of the OpenID provider made, and can end it.
    """

    __tablename__ = "space_members"
    __table_args__ = (
        UniqueConstraint("space_id", "user_id", name="uq_space_members_space_id_user_id"),
        UniqueConstraint("space_id", "email", name="uq_space_members_space_id_email"),
        Index("ix_space_members_user_id", "user_id", "status", "space_id"),
    )

    space_member_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    space_id: Mapped[int] = belongs_to("spaces.space_id")
    user_id: Mapped[int | None] = belongs_to("users.user_id")
    email: Mapped[str | None] = mapped_column(Key(254))
    role: Mapped[str] = mapped_column(one_of(*ROLES, name="space_role"))
    status: Mapped[str] = mapped_column(one_of(*MEMBER_STATUSES, name="space_member_status"))
    invited_by: Mapped[int | None] = refers_to("users.user_id", index=True)
    created_at: Mapped[datetime] = set_at()
    joined_at: Mapped[datetime | None] = mapped_column(Timestamp)
    by_group: Mapped[bool] = mapped_column(default=False, server_default=text("0"))


class SpaceVersion(Base):
    """Counts changes to what members can find in a space; the last row a transaction locks, against deadlocks."""

    __tablename__ = "space_versions"

    space_id: Mapped[int] = belongs_to("spaces.space_id", primary_key=True)
    version: Mapped[int] = mapped_column(default=1, server_default=text("1"))


class SpaceDocument(Base):
    """A text that every member of the space can read and that replies in it can draw on.

    `chunks_done` of `chunks_total` parts can be found by meaning. Text of `pages` has PAGE_END between them. Under
    `digest` is the original, if kept.
    """

    __tablename__ = "space_documents"
    __table_args__ = (
        Index("ix_space_documents_space_id", "space_id", "document_id"),
        Index("ix_space_documents_status", "status", "updated_at"),
        Index("ix_space_documents_digest", "digest"),
    )

    document_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    space_id: Mapped[int] = belongs_to("spaces.space_id")
    user_id: Mapped[int | None] = refers_to("users.user_id", index=True)
    title: Mapped[str] = mapped_column(String(255))
    content: Mapped[str] = mapped_column(LONG_TEXT)
    size: Mapped[int]
    pages: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    digest: Mapped[str | None] = mapped_column(Key(64))
    media_type: Mapped[str | None] = mapped_column(Key(100))
    file_name: Mapped[str | None] = mapped_column(String(255))
    status: Mapped[str] = mapped_column(
        one_of(*DOCUMENT_STATUSES, name="document_status"), default="queued", server_default="queued"
    )
    chunks_total: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    chunks_done: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at(onupdate=now)


class DocumentChunk(Base):
    """A part of a document: adjacent paragraphs or sentences. `embedding` holds float32 values."""

    __tablename__ = "document_chunks"
    __table_args__ = (
        UniqueConstraint("document_id", "position", name="uq_document_chunks_position"),
        Index("ix_document_chunks_space_id", "space_id", "document_chunk_id"),
    )

    document_chunk_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    document_id: Mapped[int] = belongs_to("space_documents.document_id")
    space_id: Mapped[int] = belongs_to("spaces.space_id")
    position: Mapped[int]
    page: Mapped[int | None]
    content: Mapped[str] = mapped_column(Text)
    embedding: Mapped[bytes | None] = mapped_column(LargeBinary(65_535))
    embedding_model: Mapped[str | None] = mapped_column(String(200))
