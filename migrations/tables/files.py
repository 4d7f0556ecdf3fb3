"""Files, exports and imports."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp, one_of
from migrations.tables.first import belongs_to, table

table(
    "exports",
    sa.Column("export_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("what", Key(20), nullable=False),
    sa.Column("format", Key(20), nullable=False),
    sa.Column("conversation_id", sa.Integer),
    sa.Column("status", one_of("waiting", "ready", "failed", "expired", name="export_status"), nullable=False),
    sa.Column("stored_as", Key(64)),
    sa.Column("filename", sa.String(255)),
    sa.Column("media_type", Key(100)),
    sa.Column("size", sa.Integer),
    sa.Column("error", sa.Text),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("expires_at", Timestamp),
    sa.Index("ix_exports_listing", "user_id", "export_id"),
    sa.Index("ix_exports_status", "status", "created_at"),
)

table(
    "files",
    sa.Column("file_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("digest", Key(64), nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.Column("media_type", Key(100), nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("status", one_of("ready", "unreadable", name="file_status"), nullable=False),
    sa.Column("reason", sa.String(255)),
    sa.Column("pages", sa.Integer, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("characters", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("picture_pages", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("scan_due", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_files_digest", "digest"),
    sa.Index("ix_files_listing", "user_id", "file_id"),
    sa.Index("ix_files_scan_due", "scan_due"),
    sa.Index("ix_files_time", "created_at", "size"),
)

table(
    "import_sources",
    belongs_to("user_id", "users.user_id"),
    sa.Column("origin", Key(120), nullable=False),
    sa.Column("target_id", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("user_id", "origin", name="pk_import_sources"),
)

table(
    "imports",
    sa.Column("import_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column(
        "status",
        one_of("reading", "ready", "running", "done", "failed", "cancelled", "undone", name="import_status"),
        nullable=False,
    ),
    sa.Column("format", Key(30)),
    sa.Column("filename", sa.String(255), nullable=False),
    sa.Column("stored_as", Key(64)),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("preview", sa.JSON),
    sa.Column("options", sa.JSON),
    sa.Column("counts", sa.JSON, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("error", sa.String(500)),
    sa.Column("change_set_ids", sa.JSON, nullable=False),
    sa.Column("learn_status", Key(10)),
    sa.Column("learning", sa.JSON),
    sa.Column("undo_status", Key(10)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_imports_learn_status", "learn_status"),
    sa.Index("ix_imports_listing", "user_id", "import_id"),
    sa.Index("ix_imports_status", "status", "updated_at"),
    sa.Index("ix_imports_undo_status", "undo_status"),
)

table(
    "file_pages",
    belongs_to("file_id", "files.file_id"),
    sa.Column("page", sa.Integer, nullable=False),
    sa.Column("text", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("is_scanned", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.PrimaryKeyConstraint("file_id", "page", name="pk_file_pages"),
)

table(
    "import_items",
    sa.Column("item_id", sa.Integer, primary_key=True),
    belongs_to("import_id", "imports.import_id"),
    sa.Column("kind", one_of("conversation", "memory", "project", "problem", name="import_item_kind"), nullable=False),
    sa.Column("title", sa.String(255)),
    sa.Column("outcome", one_of("imported", "updated", "unchanged", "skipped", name="import_outcome"), nullable=False),
    sa.Column("reason", sa.String(255)),
    sa.Column("target_id", sa.Integer),
    sa.Column("message_count", sa.Integer, nullable=False),
    sa.Column("left_out", sa.JSON),
    sa.Index("ix_import_items_import", "import_id", "item_id"),
)

table(
    "restored_rows",
    belongs_to("import_id", "imports.import_id"),
    sa.Column("kind", Key(20), nullable=False),
    sa.Column("old_id", sa.Integer, nullable=False),
    sa.Column("new_id", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("import_id", "kind", "old_id", name="pk_restored_rows"),
)

table(
    "imported_messages",
    belongs_to("message_id", "messages.message_id", is_key=True),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("import_id", sa.Integer, sa.ForeignKey("imports.import_id", ondelete="SET NULL")),
    sa.Column("source_id", Key(64), nullable=False),
    sa.Column("digest", Key(64)),
    sa.Index("ix_imported_messages_conversation", "conversation_id", "message_id"),
    sa.Index("ix_imported_messages_import_id", "import_id"),
)

table(
    "message_files",
    belongs_to("message_id", "messages.message_id"),
    belongs_to("file_id", "files.file_id"),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("mode", one_of("whole", "search", name="file_mode"), nullable=False, server_default="whole"),
    sa.PrimaryKeyConstraint("message_id", "file_id", name="pk_message_files"),
    sa.Index("ix_message_files_conversation_id", "conversation_id"),
    sa.Index("ix_message_files_file_id", "file_id"),
)
