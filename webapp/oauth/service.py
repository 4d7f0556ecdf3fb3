"""Consent of people to programs: consent, codes, rotating tokens, and ending it all."""

import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update

from webapp.accounts import tokens
from webapp.accounts.models import ApiToken, User
from webapp.accounts.schemas import NewToken
from webapp.accounts.scopes import SCOPE_LABELS, Scope
from webapp.audit.actions import Action
from webapp.audit.service import Actor, record
from webapp.db.base import add_row, db, get_or_raise, now, own_row, rows_changed
from webapp.db.encryption import digest_of
from webapp.errors import Conflict, require
from webapp.oauth.models import OAuthClient, OAuthCode, OAuthGrant, OAuthRefreshToken

ACCESS: tuple[Scope, ...] = ("mcp_read", "mcp", "mcp_write")
"""What a program can be granted of memory, from least to most; exactly one of these is."""
SCHEDULES: Scope = "mcp_schedules"
GRANTABLE = (*ACCESS, SCHEDULES)
ACCESS_SECONDS = 3_600
CODE_SECONDS = 300
IDLE = timedelta(days=90)
"""How long a grant lasts without being used."""
MAX_GRANTS = 50
UNUSED_CLIENT = timedelta(days=1)
REFRESH_PREFIX = "cmpr_"


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """A pair of tokens in plain text, only available now."""

    access: str
    refresh: str
    scope: str


def widest_scope(scope: str | None) -> Scope:
    """Return the most that a program asks for; if it does not say, to read and propose."""
    scopes = [access for access in ACCESS if access in (scope or "").split()]
    return scopes[-1] if scopes else "mcp"


def scopes_in(scope: str | None) -> list[Scope]:
    """Return the scopes that a program can be granted among those in a text, which OAuth separates by spaces."""
    return [name for name in GRANTABLE if name in (scope or "").split()]


def _as_clause(scopes: Iterable[Scope]) -> str:
    return ", ".join(SCOPE_LABELS[name][:1].lower() + SCOPE_LABELS[name][1:] for name in scopes)


def issue_code(
    user_id: int,
    client: OAuthClient,
    *,
    redirect_uri: str,
    challenge: str,
    scope: str,
    space_ids: Collection[int] | None,
) -> str:
    """Make a code for what a person consented to: this program can exchange it once, within minutes."""
    code = secrets.token_urlsafe(32)
    db.session.add(
        OAuthCode(
            code_hash=digest_of(code),
            user_id=user_id,
            client_number=client.client_number,
            redirect_uri=redirect_uri,
            challenge=challenge,
            scope=scope,
            space_ids=sorted(space_ids) if space_ids is not None else None,
            expires_at=now() + timedelta(seconds=CODE_SECONDS),
        )
    )
    db.session.flush()
    return code


def redeem_code(code: str, client: OAuthClient) -> OAuthCode | None:
    """Return the valid code, locked; a second use, which only a thief makes, ends the grant."""
    row = db.session.scalar(select(OAuthCode).where(OAuthCode.code_hash == digest_of(code)).with_for_update())
    if row is None or row.client_number != client.client_number:
        return None
    if row.grant_id is not None:
        end(db.session.get(OAuthGrant, row.grant_id), "a code was used twice")
        return None
    is_in_use = db.session.scalar(select(User.is_active).where(User.user_id == row.user_id))
    return row if row.expires_at > now() and is_in_use else None


def begin_grant(code: OAuthCode, client: OAuthClient) -> IssuedTokens:
    """Issue tokens for a code; earlier grants, maybe of other devices, stay. Raises Conflict for too many grants."""
    if len(list_grants(code.user_id)) >= MAX_GRANTS:
        raise Conflict(f"There are already {MAX_GRANTS} connected programs.")
    fields = NewToken(name=client.name[:100], expires_in_days=None, scopes=scopes_in(code.scope))
    token, access = tokens.create_delegated(
        code.user_id, fields, space_ids=code.space_ids, expires_at=now() + timedelta(seconds=ACCESS_SECONDS)
    )
    grant = OAuthGrant(
        user_id=code.user_id,
        client_number=client.client_number,
        token_id=token.token_id,
        scope=code.scope,
        expires_at=now() + IDLE,
    )
    add_row(grant)
    code.grant_id = grant.grant_id
    by = Actor("person", code.user_id)
    record(code.user_id, Action.PROGRAM_CONNECTED, f"{client.name}: {_as_clause(scopes_in(code.scope))}", actor=by)
    return IssuedTokens(access, _new_refresh(grant), grant.scope)


def find_refresh(secret: str) -> tuple[OAuthRefreshToken, OAuthGrant] | None:
    """Return a valid refresh token and its grant, locked; one that was used before ends its grant."""
    token = db.session.scalar(
        select(OAuthRefreshToken).where(OAuthRefreshToken.token_hash == digest_of(secret)).with_for_update()
    )
    grant = db.session.get(OAuthGrant, token.grant_id, with_for_update=True) if token else None
    if token is None or grant is None:
        return None
    if token.used_at is not None:
        end(grant, "a token was used twice")
        return None
    usable = (
        select(ApiToken.token_id)
        .join(User, User.user_id == ApiToken.user_id)
        .where(ApiToken.token_id == grant.token_id, ApiToken.revoked_at.is_(None), User.is_active)
    )
    return (token, grant) if grant.expires_at > now() and db.session.scalar(usable) else None


def renew(token: OAuthRefreshToken, grant: OAuthGrant) -> IssuedTokens:
    """Issue new tokens for a grant; the previous access token and refresh token stop working."""
    token.used_at = grant.refreshed_at = now()
    grant.expires_at = now() + IDLE
    access = tokens.renew_delegated(grant.token_id, now() + timedelta(seconds=ACCESS_SECONDS))
    return IssuedTokens(access, _new_refresh(grant), grant.scope)


def find_grant(secret: str, client: OAuthClient) -> OAuthGrant | None:
    """Return the program's grant to which an access or refresh token belongs."""
    of_refresh = select(OAuthRefreshToken.grant_id).where(OAuthRefreshToken.token_hash == digest_of(secret))
    of_access = select(ApiToken.token_id).where(ApiToken.token_hash == digest_of(secret))
    return db.session.scalar(
        select(OAuthGrant).where(
            OAuthGrant.client_number == client.client_number,
            OAuthGrant.grant_id.in_(of_refresh) | OAuthGrant.token_id.in_(of_access),
        )
    )


def list_grants(user_id: int) -> Sequence[tuple[OAuthGrant, OAuthClient, ApiToken]]:
    """Return a person's connected programs, the most recently refreshed first."""
    statement = (
        select(OAuthGrant, OAuthClient, ApiToken)
        .join(OAuthClient, OAuthClient.client_number == OAuthGrant.client_number)
        .join(ApiToken, ApiToken.token_id == OAuthGrant.token_id)
        .where(OAuthGrant.user_id == user_id, OAuthGrant.expires_at > now(), ApiToken.revoked_at.is_(None))
        .order_by(OAuthGrant.refreshed_at.desc(), OAuthGrant.grant_id.desc())
    )
    return [(row[0], row[1], row[2]) for row in db.session.execute(statement)]


def disconnect(user_id: int, grant_id: int) -> None:
    """End a person's grant at once. Raises NotFound."""
    end(_grant_of(user_id, grant_id))


def _grant_of(user_id: int, grant_id: int) -> OAuthGrant:
    return require(own_row(OAuthGrant, user_id, grant_id, lock=True), "There is no such program.")


def trust(user_id: int, grant_id: int, may_write: bool) -> None:
    """Let a program write to memory on its own, or only propose. Raises NotFound, Conflict if it only reads."""
    grant = _grant_of(user_id, grant_id)
    granted = scopes_in(grant.scope)
    if "mcp_read" in granted:
        raise Conflict("This program only reads.")
    scopes: list[Scope] = ["mcp_write" if may_write else "mcp", *(name for name in granted if name not in ACCESS)]
    grant.scope = " ".join(scopes)
    get_or_raise(ApiToken, grant.token_id).scopes = list(scopes)
    name = get_or_raise(OAuthClient, grant.client_number).name
    record(user_id, Action.PROGRAM_CONNECTED, f"{name}: {_as_clause(scopes)}", actor=Actor("person", user_id))


def disconnect_all(user_id: int) -> None:
    """End all of a person's grants, and the codes that would begin another."""
    db.session.execute(delete(OAuthCode).where(OAuthCode.user_id == user_id))
    for grant, _client, _token in list_grants(user_id):
        end(grant)


def purge(at: datetime) -> None:
    """Delete expired codes, grants that have not been used for long or whose token was revoked, and programs that are
    more than a day old and have neither a grant nor a code."""
    db.session.execute(delete(OAuthCode).where(OAuthCode.expires_at < at - timedelta(days=1)))
    ended = (
        select(OAuthGrant)
        .join(ApiToken, ApiToken.token_id == OAuthGrant.token_id)
        .where((OAuthGrant.expires_at < at) | ApiToken.revoked_at.is_not(None))
        .limit(200)
    )
    for grant in db.session.scalars(ended).all():
        _close(grant)
    db.session.execute(
        delete(OAuthClient).where(
            OAuthClient.created_at < at - UNUSED_CLIENT,
            OAuthClient.client_number.not_in(select(OAuthGrant.client_number)),
            OAuthClient.client_number.not_in(select(OAuthCode.client_number)),
        )
    )


def end(grant: OAuthGrant | None, why: str = "") -> None:
    """End a grant and both of its tokens now."""
    if grant is None:
        return
    name = db.session.scalar(select(OAuthClient.name).where(OAuthClient.client_number == grant.client_number)) or ""
    record(grant.user_id, Action.PROGRAM_DISCONNECTED, f"{name}: {why}" if why else name)
    _close(grant)


def _close(grant: OAuthGrant) -> None:
    revoked = update(ApiToken).where(ApiToken.token_id == grant.token_id, ApiToken.revoked_at.is_(None))
    rows_changed(revoked.values(revoked_at=now()))
    db.session.execute(delete(OAuthGrant).where(OAuthGrant.grant_id == grant.grant_id))


def _new_refresh(grant: OAuthGrant) -> str:
    secret = REFRESH_PREFIX + secrets.token_urlsafe(32)
    add_row(OAuthRefreshToken(token_hash=digest_of(secret), grant_id=grant.grant_id))
    return secret
