"""Programs, what people let them do, and the codes and refresh tokens in between; secrets only as hashes."""

from datetime import datetime

from sqlalchemy import JSON, String
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, set_at


class OAuthClient(Base):
    """A program: it registered itself, or is described by the document at the URL that is its id (`fetched_at`)."""

    __tablename__ = "oauth_clients"

    client_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    client_id: Mapped[str] = mapped_column(Key(255), unique=True)
    name: Mapped[str] = mapped_column(String(100))
    redirect_uris: Mapped[list[str]] = mapped_column(JSON)
    auth_method: Mapped[str] = mapped_column(Key(30), default="none")
    secret_hash: Mapped[str | None] = mapped_column(Key(64))
    created_at: Mapped[datetime] = set_at(index=True)
    fetched_at: Mapped[datetime | None] = mapped_column(Timestamp)


class OAuthGrant(Base):
    """A person's consent to a program; `scope` has spaces. Its access token in `api_tokens` is renewed in place."""

    __tablename__ = "oauth_grants"

    grant_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    client_number: Mapped[int] = belongs_to("oauth_clients.client_number", index=True)
    token_id: Mapped[int] = belongs_to("api_tokens.token_id", index=True)
    scope: Mapped[str] = mapped_column(Key(100))
    created_at: Mapped[datetime] = set_at()
    refreshed_at: Mapped[datetime] = set_at()
    expires_at: Mapped[datetime] = set_at(index=True)


class OAuthCode(Base):
    """A code that a program exchanges once, for `grant_id`; if it is used again, that grant ends."""

    __tablename__ = "oauth_codes"

    code_hash: Mapped[str] = mapped_column(Key(64), primary_key=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    client_number: Mapped[int] = belongs_to("oauth_clients.client_number", index=True)
    redirect_uri: Mapped[str] = mapped_column(String(1_000))
    challenge: Mapped[str] = mapped_column(Key(128))
    scope: Mapped[str] = mapped_column(Key(100))
    space_ids: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    expires_at: Mapped[datetime] = set_at(index=True)
    grant_id: Mapped[int | None] = belongs_to("oauth_grants.grant_id", index=True)


class OAuthRefreshToken(Base):
    """A refresh token of a grant: the valid one, and the used ones, which reveal theft when they are used again."""

    __tablename__ = "oauth_refresh_tokens"

    token_hash: Mapped[str] = mapped_column(Key(64), primary_key=True)
    grant_id: Mapped[int] = belongs_to("oauth_grants.grant_id", index=True)
    created_at: Mapped[datetime] = set_at()
    used_at: Mapped[datetime | None] = mapped_column(Timestamp)
