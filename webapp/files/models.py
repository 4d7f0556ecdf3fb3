"""Users' files, their pages as text, and the messages they are attached to."""

from datetime import datetime

from sqlalchemy import Boolean, Index, String, Text, literal_column, text
from sqlalchemy.dialects.mysql import MEDIUMTEXT
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, belongs_to, one_of, set_at

STATUSES = ("ready", "unreadable")
MODES = ("whole", "search")


class File(Base):
    """A file of one user, whose bytes under `digest` are shared by equal files.

    `picture_pages` counts pages without text of their own; `characters` those of the entire file in a prompt.
    """

    __tablename__ = "files"
    __table_args__ = (
        Index("ix_files_listing", "user_id", "file_id"),
        Index("ix_files_digest", "digest"),
        Index("ix_files_scan_due", "scan_due"),
        Index("ix_files_time", "created_at", "size"),
    )

    file_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    digest: Mapped[str] = mapped_column(Key(64))
    name: Mapped[str] = mapped_column(String(255))
    media_type: Mapped[str] = mapped_column(Key(100))
    size: Mapped[int]
    status: Mapped[str] = mapped_column(one_of(*STATUSES, name="file_status"))
    reason: Mapped[str | None] = mapped_column(String(255))
    pages: Mapped[int] = mapped_column(default=0)
    tokens: Mapped[int] = mapped_column(default=0)
    characters: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    picture_pages: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    # Whether pages that are pictures are still to be read by machine.
    scan_due: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()

    @property
    def is_picture(self) -> bool:
        """Return whether the file is a picture that can be shown."""
        return self.status == "ready" and self.media_type.startswith("image/")


class FilePage(Base):
    """The text of one page; a long text without pages is cut into some."""

    __tablename__ = "file_pages"

    file_id: Mapped[int] = belongs_to("files.file_id", primary_key=True)
    page: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb"))
    tokens: Mapped[int]
    # Whether it was read by machine, from a picture.
    is_scanned: Mapped[bool] = mapped_column(Boolean, default=False, server_default=literal_column("0"))


class MessageFile(Base):
    """A file that was sent with a message, and whether prompts hold all of it or the pages found for each question."""

    __tablename__ = "message_files"
    __table_args__ = (
        Index("ix_message_files_conversation_id", "conversation_id"),
        Index("ix_message_files_file_id", "file_id"),
    )

    message_id: Mapped[int] = belongs_to("messages.message_id", primary_key=True)
    file_id: Mapped[int] = belongs_to("files.file_id", primary_key=True)
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id")
    mode: Mapped[str] = mapped_column(one_of(*MODES, name="file_mode"), default="whole", server_default="whole")
