"""Users and their groups, their API tokens, and the settings of the site."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base, now
from webapp.db.columns import Key, Timestamp, belongs_to, refers_to, set_at


class User(Base):
    """A person. Raising `auth_version` ends their sessions; `email_verified_at`: since when the address is proved."""

    __tablename__ = "users"

    user_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    email: Mapped[str] = mapped_column(Key(254), unique=True)
    name: Mapped[str] = mapped_column(String(200), default="", server_default="")
    password_hash: Mapped[str] = mapped_column(String(255))
    is_admin: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    is_active: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    auth_version: Mapped[int] = mapped_column(default=1, server_default=text("1"))
    must_change_password: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    has_webhooks: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    settings: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    created_at: Mapped[datetime] = set_at()
    last_seen_at: Mapped[datetime | None] = mapped_column(Timestamp)
    email_verified_at: Mapped[datetime | None] = mapped_column(Timestamp)


class UserGroup(Base):
    """People under one name, kept by admins: they can be given models and limits. Not a space: they share nothing."""

    __tablename__ = "user_groups"

    group_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(Key(100), unique=True)
    created_at: Mapped[datetime] = set_at()


class UserGroupMember(Base):
    """A member of a group. `by_provider`: the OpenID provider added them, and can remove them."""

    __tablename__ = "user_group_members"

    group_id: Mapped[int] = belongs_to("user_groups.group_id", primary_key=True)
    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True, index=True)
    by_provider: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))


class AccountMail(Base):
    """An e-mail about an account: requested, sent, its link used; `language` is empty for English."""

    __tablename__ = "account_mails"
    __table_args__ = (Index("ix_account_mails_email_kind", "email", "kind"),)

    mail_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    kind: Mapped[str] = mapped_column(Key(20))
    email: Mapped[str] = mapped_column(Key(254))
    language: Mapped[str] = mapped_column(Key(8), default="", server_default="")
    user_id: Mapped[int | None] = belongs_to("users.user_id", index=True)
    auth_version: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    invited_by: Mapped[int | None] = refers_to("users.user_id", index=True)
    is_refused: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    created_at: Mapped[datetime] = set_at(index=True)
    sent_at: Mapped[datetime | None] = mapped_column(Timestamp)
    used_at: Mapped[datetime | None] = mapped_column(Timestamp)


class UserSession(Base):
    """A signed-in browser, by the SHA-256 of its cookie's secret; `proved_at`: when the password was last given."""

    __tablename__ = "user_sessions"

    session_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    secret_hash: Mapped[str] = mapped_column(Key(64), unique=True)
    auth_version: Mapped[int]
    user_agent: Mapped[str] = mapped_column(String(300), default="", server_default="")
    address: Mapped[str] = mapped_column(String(64), default="", server_default="")
    created_at: Mapped[datetime] = set_at()
    last_seen_at: Mapped[datetime] = set_at()
    proved_at: Mapped[datetime] = set_at()
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)


class SecondFactor(Base):
    """The second step of signing in, on since `confirmed_at`; the code of `last_step` is not accepted again."""

    __tablename__ = "user_second_factors"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    secret: Mapped[str] = mapped_column(Key(64))
    last_step: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    recovery_hashes: Mapped[list[str]] = mapped_column(JSON, default=list)
    confirmed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = set_at()


class UserIdentity(Base):
    """An account at an OpenID provider that signs a user in here."""

    __tablename__ = "user_identities"
    __table_args__ = (UniqueConstraint("issuer", "subject", name="uq_user_identities_issuer_subject"),)

    identity_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    issuer: Mapped[str] = mapped_column(Key(255))
    subject: Mapped[str] = mapped_column(Key(255))
    created_at: Mapped[datetime] = set_at()


class Passkey(Base):
    """A key on a user's device that signs them in. `credential_hash` is the SHA-256 of the id that the device gave it;
    `sign_count` that of its last use, where the device counts."""

    __tablename__ = "user_passkeys"

    passkey_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    name: Mapped[str] = mapped_column(String(100))
    credential_hash: Mapped[str] = mapped_column(Key(64), unique=True)
    credential_id: Mapped[bytes] = mapped_column(LargeBinary)
    public_key: Mapped[bytes] = mapped_column(LargeBinary)
    sign_count: Mapped[int] = mapped_column(BigInteger, default=0, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()
    last_used_at: Mapped[datetime | None] = mapped_column(Timestamp)


class ApiToken(Base):
    """A bearer token, by the SHA-256 of its secret; `prefix` lets its owner recognise it.

    None means every scope, and every space for MCP (0: what is in none). One that `is_delegated` belongs to a program
    its owner authorised (webapp/oauth), and is renewed in place.
    """

    __tablename__ = "api_tokens"

    token_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    name: Mapped[str] = mapped_column(String(100))
    token_hash: Mapped[str] = mapped_column(Key(64), unique=True)
    prefix: Mapped[str] = mapped_column(Key(16))
    is_service: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    scopes: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    space_ids: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    is_delegated: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp)
    last_used_at: Mapped[datetime | None] = mapped_column(Timestamp)
    last_used_address: Mapped[str | None] = mapped_column(String(64))
    revoked_at: Mapped[datetime | None] = mapped_column(Timestamp)


class AccountDeletion(Base):
    """A past or pending deletion of an account, without its data; a secret (here: SHA-256) shows the `report`."""

    __tablename__ = "account_deletions"

    deletion_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = mapped_column(index=True)  # no foreign key: it stays when the user goes
    secret_hash: Mapped[str] = mapped_column(Key(64), unique=True)
    due_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    begun_at: Mapped[datetime | None] = mapped_column(Timestamp)
    done_at: Mapped[datetime | None] = mapped_column(Timestamp)
    report: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    created_at: Mapped[datetime] = set_at()


class SiteSetting(Base):
    """A setting an admin changes while the site runs, such as `registration_open`."""

    __tablename__ = "site_settings"

    key: Mapped[str] = mapped_column(Key(64), primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)
    updated_at: Mapped[datetime] = set_at(onupdate=now)


class IdempotencyKey(Base):
    """The first answer to a POST that carried an Idempotency-Key, kept encrypted for a day: it may hold secrets."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    key: Mapped[str] = mapped_column(Key(200), primary_key=True)
    request_hash: Mapped[str] = mapped_column(Key(64))
    status: Mapped[int]
    body: Mapped[Any] = mapped_column(JSON)
    created_at: Mapped[datetime] = set_at(index=True)
