"""The settings of tools that reach out. Keys are stored encrypted."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, set_at

SINGLE_ROW_ID = 1


class WebAccess(Base):
    """The search engine of the installation: a single row, none before an admin sets one up."""

    __tablename__ = "web_access"

    access_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True, default=SINGLE_ROW_ID)
    provider: Mapped[str] = mapped_column(Key(20))
    address: Mapped[str] = mapped_column(String(500))
    secrets: Mapped[str | None] = mapped_column(Text)
    key_set: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    is_enabled: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    updated_at: Mapped[datetime] = set_at()


class ToolServer(Base):
    """An MCP server: one person's own or, without a user, everybody's.

    `tools` are those it listed when it was last tested, each with `name`, `title`, `description`, `schema`,
    `reads_only` and `is_on`; `age` is the revision of the protocol it spoke then.
    """

    __tablename__ = "tool_servers"

    server_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int | None] = belongs_to("users.user_id", index=True)
    name: Mapped[str] = mapped_column(String(60))
    url: Mapped[str] = mapped_column(String(500))
    secrets: Mapped[str | None] = mapped_column(Text)
    key_set: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    is_enabled: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    age: Mapped[str | None] = mapped_column(String(20))
    tools: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    error: Mapped[str | None] = mapped_column(String(500))
    tested_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = set_at()


class ToolGrant(Base):
    """A person's permission to call a tool that may write without asking again."""

    __tablename__ = "tool_grants"
    __table_args__ = (UniqueConstraint("user_id", "server_id", "tool", name="uq_tool_grants_tool"),)

    grant_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    server_id: Mapped[int] = belongs_to("tool_servers.server_id", index=True)
    tool: Mapped[str] = mapped_column(Key(128))
    created_at: Mapped[datetime] = set_at()
