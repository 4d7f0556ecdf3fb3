"""Model connections, tools, webhooks and prompts."""

import sqlalchemy as sa

from migrations.columns import Key, Timestamp, current_timestamp, one_of
from migrations.tables.first import belongs_to, table

table(
    "memory_grades",
    sa.Column("model_key", Key(64), primary_key=True),
    sa.Column("recall", sa.Float, nullable=False),
    sa.Column("key_share", sa.Float, nullable=False),
    sa.Column("false_share", sa.Float, nullable=False),
    sa.Column("cases", sa.Integer, nullable=False),
    sa.Column("examined_at", Timestamp, nullable=False, server_default=current_timestamp()),
)

table(
    "model_connections",
    sa.Column("connection_id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("base_url", sa.String(500), nullable=False),
    sa.Column("secrets", sa.Text),
    sa.Column("key_set", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("header_names", sa.JSON, nullable=False),
    sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("builtin_tools", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("embedding_model", sa.String(200)),
    sa.Column("background_model", sa.String(200)),
    sa.Column("test_result", sa.JSON),
    sa.Column("tested_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
)

table(
    "web_access",
    sa.Column("access_id", sa.Integer, primary_key=True),
    sa.Column("provider", Key(20), nullable=False),
    sa.Column("address", sa.String(500), nullable=False),
    sa.Column("secrets", sa.Text),
    sa.Column("key_set", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
)

table(
    "model_offers",
    sa.Column("offer_id", sa.Integer, primary_key=True),
    belongs_to("connection_id", "model_connections.connection_id"),
    sa.Column("model", Key(200), nullable=False),
    sa.Column("label", sa.String(100), nullable=False),
    sa.Column("icon", sa.String(16)),
    sa.Column("audience", one_of("everyone", "admins", name="model_audience"), nullable=False),
    sa.Column("context_window", sa.Integer),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("input_price", sa.Float),
    sa.Column("output_price", sa.Float),
    sa.Column("is_default", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("fallback_rank", sa.Integer),
    sa.UniqueConstraint("connection_id", "model", name="uq_model_offers_model"),
)

table(
    "prompt_versions",
    sa.Column("version_id", sa.Integer, primary_key=True),
    sa.Column("name", Key(100), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("prompt_text", sa.Text, nullable=False),
    sa.Column("origin", one_of("default", "admin", name="prompt_origin"), nullable=False),
    sa.Column("note", sa.String(500)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("created_by", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.UniqueConstraint("name", "version"),
    sa.Index("ix_prompt_versions_created_by", "created_by"),
)

table(
    "saved_prompts",
    sa.Column("saved_prompt_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id", ondelete="CASCADE")),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("description", sa.String(255), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_saved_prompts_listing", "user_id", "name", "saved_prompt_id"),
    sa.Index("ix_saved_prompts_space_id", "space_id"),
)

table(
    "tool_servers",
    sa.Column("server_id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE")),
    sa.Column("name", sa.String(60), nullable=False),
    sa.Column("url", sa.String(500), nullable=False),
    sa.Column("secrets", sa.Text),
    sa.Column("key_set", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("age", sa.String(20)),
    sa.Column("tools", sa.JSON, nullable=False),
    sa.Column("error", sa.String(500)),
    sa.Column("tested_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_tool_servers_user_id", "user_id"),
)

table(
    "model_offer_groups",
    belongs_to("offer_id", "model_offers.offer_id"),
    belongs_to("group_id", "user_groups.group_id"),
    sa.PrimaryKeyConstraint("offer_id", "group_id", name="pk_model_offer_groups"),
    sa.Index("ix_model_offer_groups_group_id", "group_id"),
)

table(
    "prompt_activations",
    sa.Column("activation_id", sa.Integer, primary_key=True),
    sa.Column("name", Key(100), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("activated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("activated_by", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.ForeignKeyConstraint(
        ["name", "version"], ["prompt_versions.name", "prompt_versions.version"], name="fk_prompt_activations_version"
    ),
    sa.Index("ix_prompt_activations_activated_by", "activated_by"),
)

table(
    "prompts",
    sa.Column("name", Key(100), primary_key=True),
    sa.Column("active_version", sa.Integer, nullable=False),
    sa.Column("activated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("activated_by", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.ForeignKeyConstraint(
        ["name", "active_version"],
        ["prompt_versions.name", "prompt_versions.version"],
        name="fk_prompts_active_version",
    ),
    sa.Index("ix_prompts_activated_by", "activated_by"),
)

table(
    "push_subscriptions",
    sa.Column("subscription_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("session_id", "user_sessions.session_id"),
    sa.Column("endpoint", sa.Text, nullable=False),
    sa.Column("digest", Key(64), nullable=False),
    sa.Column("p256dh", Key(100), nullable=False),
    sa.Column("auth", Key(40), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("digest"),
    sa.Index("ix_push_subscriptions_session_id", "session_id"),
    sa.Index("ix_push_subscriptions_user_id", "user_id"),
)

table(
    "tool_grants",
    sa.Column("grant_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("server_id", "tool_servers.server_id"),
    sa.Column("tool", Key(128), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("user_id", "server_id", "tool", name="uq_tool_grants_tool"),
    sa.Index("ix_tool_grants_server_id", "server_id"),
)

table(
    "webhooks",
    sa.Column("webhook_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("token_id", sa.Integer, sa.ForeignKey("api_tokens.token_id", ondelete="CASCADE")),
    sa.Column("url", sa.String(1000), nullable=False),
    sa.Column("kinds", Key(500), nullable=False),
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("with_content", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("disabled_reason", sa.String(300)),
    sa.Column("failing_since", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_webhooks_token_id", "token_id"),
    sa.Index("ix_webhooks_user_id", "user_id"),
)

table(
    "webhook_deliveries",
    sa.Column("delivery_id", sa.Integer, primary_key=True),
    belongs_to("webhook_id", "webhooks.webhook_id"),
    sa.Column("event_id", Key(40), nullable=False),
    sa.Column("kind", Key(40), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column(
        "status", one_of("waiting", "delivered", "failed", "skipped", name="webhook_delivery_status"), nullable=False
    ),
    sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("answer", sa.String(200)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("due_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_webhook_deliveries_created_at", "created_at"),
    sa.Index("ix_webhook_deliveries_due", "status", "due_at"),
    sa.Index("ix_webhook_deliveries_webhook", "webhook_id", "delivery_id"),
)
