"""Accounts, what they sign in with, what they used, and the programs they let in."""

import sqlalchemy as sa

from migrations.columns import Key, Timestamp, current_timestamp, one_of
from migrations.tables.first import belongs_to, table

table(
    "account_deletions",
    sa.Column("deletion_id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("secret_hash", Key(64), nullable=False),
    sa.Column("due_at", Timestamp, nullable=False),
    sa.Column("begun_at", Timestamp),
    sa.Column("done_at", Timestamp),
    sa.Column("report", sa.JSON),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("secret_hash"),
    sa.Index("ix_account_deletions_due_at", "due_at"),
    sa.Index("ix_account_deletions_user_id", "user_id"),
)

table(
    "oauth_clients",
    sa.Column("client_number", sa.Integer, primary_key=True),
    sa.Column("client_id", Key(255), nullable=False),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("redirect_uris", sa.JSON, nullable=False),
    sa.Column("auth_method", Key(30), nullable=False),
    sa.Column("secret_hash", Key(64)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("fetched_at", Timestamp),
    sa.UniqueConstraint("client_id"),
    sa.Index("ix_oauth_clients_created_at", "created_at"),
)

table(
    "site_settings",
    sa.Column("key", Key(64), primary_key=True),
    sa.Column("value", sa.JSON, nullable=False),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
)

table(
    "user_groups",
    sa.Column("group_id", sa.Integer, primary_key=True),
    sa.Column("name", Key(100), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("name"),
)

table(
    "users",
    sa.Column("user_id", sa.Integer, primary_key=True),
    sa.Column("email", Key(254), nullable=False),
    sa.Column("name", sa.String(200), nullable=False, server_default=""),
    sa.Column("password_hash", sa.String(255), nullable=False),
    sa.Column("is_admin", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("auth_version", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("must_change_password", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("has_webhooks", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("last_seen_at", Timestamp),
    sa.Column("email_verified_at", Timestamp),
    sa.UniqueConstraint("email"),
)

table(
    "account_mails",
    sa.Column("mail_id", sa.Integer, primary_key=True),
    sa.Column("kind", Key(20), nullable=False),
    sa.Column("email", Key(254), nullable=False),
    sa.Column("language", Key(8), nullable=False, server_default=""),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE")),
    sa.Column("auth_version", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("invited_by", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.Column("is_refused", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("sent_at", Timestamp),
    sa.Column("used_at", Timestamp),
    sa.Index("ix_account_mails_created_at", "created_at"),
    sa.Index("ix_account_mails_email_kind", "email", "kind"),
    sa.Index("ix_account_mails_invited_by", "invited_by"),
    sa.Index("ix_account_mails_user_id", "user_id"),
)

table(
    "api_tokens",
    sa.Column("token_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("token_hash", Key(64), nullable=False),
    sa.Column("prefix", Key(16), nullable=False),
    sa.Column("is_service", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("scopes", sa.JSON),
    sa.Column("space_ids", sa.JSON),
    sa.Column("is_delegated", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("expires_at", Timestamp),
    sa.Column("last_used_at", Timestamp),
    sa.Column("last_used_address", sa.String(64)),
    sa.Column("revoked_at", Timestamp),
    sa.UniqueConstraint("token_hash"),
    sa.Index("ix_api_tokens_user_id", "user_id"),
)

table(
    "audit_events",
    sa.Column("event_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("action", Key(50), nullable=False),
    sa.Column("actor_kind", Key(20), nullable=False),
    sa.Column("actor_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.Column("actor_name", sa.String(200), nullable=False, server_default=""),
    sa.Column("token_id", sa.Integer),
    sa.Column("what", sa.String(300), nullable=False, server_default=""),
    sa.Column("detail", sa.JSON),
    sa.Column("address", sa.String(64), nullable=False, server_default=""),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_audit_events_actor_id", "actor_id"),
    sa.Index("ix_audit_events_created_at", "created_at"),
    sa.Index("ix_audit_events_listing", "user_id", "event_id"),
)

table(
    "idempotency_keys",
    belongs_to("user_id", "users.user_id"),
    sa.Column("key", Key(200), nullable=False),
    sa.Column("request_hash", Key(64), nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.PrimaryKeyConstraint("user_id", "key", name="pk_idempotency_keys"),
    sa.Index("ix_idempotency_keys_created_at", "created_at"),
)

table(
    "quotas",
    sa.Column("quota_id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE")),
    sa.Column("group_id", sa.Integer, sa.ForeignKey("user_groups.group_id", ondelete="CASCADE")),
    sa.Column("period", one_of("day", "month", name="quota_period"), nullable=False),
    sa.Column("tokens", sa.Integer),
    sa.Column("dollars", sa.Float),
    sa.Index("ix_quotas_group_id", "group_id"),
    sa.Index("ix_quotas_user_id", "user_id"),
)

table(
    "user_group_members",
    belongs_to("group_id", "user_groups.group_id"),
    belongs_to("user_id", "users.user_id"),
    sa.Column("by_provider", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.PrimaryKeyConstraint("group_id", "user_id", name="pk_user_group_members"),
    sa.Index("ix_user_group_members_user_id", "user_id"),
)

table(
    "user_identities",
    sa.Column("identity_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("issuer", Key(255), nullable=False),
    sa.Column("subject", Key(255), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("issuer", "subject"),
    sa.Index("ix_user_identities_user_id", "user_id"),
)

table(
    "user_passkeys",
    sa.Column("passkey_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("credential_hash", Key(64), nullable=False),
    sa.Column("credential_id", sa.LargeBinary, nullable=False),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("sign_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("last_used_at", Timestamp),
    sa.UniqueConstraint("credential_hash"),
    sa.Index("ix_user_passkeys_user_id", "user_id"),
)

table(
    "user_second_factors",
    belongs_to("user_id", "users.user_id", is_key=True),
    sa.Column("secret", Key(64), nullable=False),
    sa.Column("last_step", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("recovery_hashes", sa.JSON, nullable=False),
    sa.Column("confirmed_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
)

table(
    "user_sessions",
    sa.Column("session_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("secret_hash", Key(64), nullable=False),
    sa.Column("auth_version", sa.Integer, nullable=False),
    sa.Column("user_agent", sa.String(300), nullable=False, server_default=""),
    sa.Column("address", sa.String(64), nullable=False, server_default=""),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("last_seen_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("proved_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("expires_at", Timestamp),
    sa.UniqueConstraint("secret_hash"),
    sa.Index("ix_user_sessions_expires_at", "expires_at"),
    sa.Index("ix_user_sessions_user_id", "user_id"),
)

table(
    "oauth_grants",
    sa.Column("grant_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("client_number", "oauth_clients.client_number"),
    belongs_to("token_id", "api_tokens.token_id"),
    sa.Column("scope", Key(100), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("refreshed_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("expires_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_oauth_grants_client_number", "client_number"),
    sa.Index("ix_oauth_grants_expires_at", "expires_at"),
    sa.Index("ix_oauth_grants_token_id", "token_id"),
    sa.Index("ix_oauth_grants_user_id", "user_id"),
)

table(
    "usage_records",
    sa.Column("usage_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("conversation_id", sa.Integer, sa.ForeignKey("conversations.conversation_id", ondelete="SET NULL")),
    sa.Column("message_id", sa.Integer),
    sa.Column("kind", Key(40), nullable=False),
    sa.Column("target", sa.String(220)),
    sa.Column("model", sa.String(200)),
    sa.Column("input_tokens", sa.Integer, nullable=False),
    sa.Column("cached_tokens", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("estimated_tokens", sa.Integer),
    sa.Column("characters", sa.Integer),
    sa.Column("output_tokens", sa.Integer, nullable=False),
    sa.Column("input_price", sa.Float),
    sa.Column("output_price", sa.Float),
    sa.Column("is_estimated", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_usage_records_conversation_id", "conversation_id"),
    sa.Index("ix_usage_records_time", "created_at", "kind", "user_id"),
    sa.Index("ix_usage_records_user", "user_id", "created_at"),
)

table(
    "oauth_codes",
    sa.Column("code_hash", Key(64), primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("client_number", "oauth_clients.client_number"),
    sa.Column("redirect_uri", sa.String(1000), nullable=False),
    sa.Column("challenge", Key(128), nullable=False),
    sa.Column("scope", Key(100), nullable=False),
    sa.Column("space_ids", sa.JSON),
    sa.Column("expires_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("grant_id", sa.Integer, sa.ForeignKey("oauth_grants.grant_id", ondelete="CASCADE")),
    sa.Index("ix_oauth_codes_client_number", "client_number"),
    sa.Index("ix_oauth_codes_expires_at", "expires_at"),
    sa.Index("ix_oauth_codes_grant_id", "grant_id"),
    sa.Index("ix_oauth_codes_user_id", "user_id"),
)

table(
    "oauth_refresh_tokens",
    sa.Column("token_hash", Key(64), primary_key=True),
    belongs_to("grant_id", "oauth_grants.grant_id"),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("used_at", Timestamp),
    sa.Index("ix_oauth_refresh_tokens_grant_id", "grant_id"),
)
