"""Programs: they register themselves, or are described by the document at the URL that is their id."""

import json
import secrets
from datetime import timedelta

from pydantic import ValidationError
from sqlalchemy import func, select

from webapp.db.base import add_row, db, now
from webapp.db.encryption import digest_of
from webapp.errors import Invalid, TooMany
from webapp.extensions import app_settings
from webapp.http.problems import field_errors
from webapp.i18n.marks import say
from webapp.network import http_client, outbound
from webapp.oauth import clients
from webapp.oauth.clients import Metadata
from webapp.oauth.models import OAuthClient

DOCUMENT_FRESH = timedelta(hours=1)
DOCUMENT_BYTES, DOCUMENT_SECONDS = 32_768, 5.0
MAX_CLIENTS = 10_000


def register(metadata: Metadata) -> tuple[OAuthClient, str]:
    """Register a program; returns it and, if it wants one, its secret. Raises TooMany for too many programs."""
    if (db.session.scalar(select(func.count()).select_from(OAuthClient)) or 0) >= MAX_CLIENTS:
        raise TooMany("Too many programs have registered lately.", retry_after=3_600)
    secret = "" if metadata.token_endpoint_auth_method == "none" else secrets.token_urlsafe(32)  # noqa: S105
    row = OAuthClient(
        client_id=secrets.token_urlsafe(16),
        name=metadata.name,
        redirect_uris=metadata.redirect_uris,
        auth_method=metadata.token_endpoint_auth_method,
        secret_hash=digest_of(secret) if secret else None,
    )
    add_row(row)
    return row, secret


def find_client(client_id: str) -> OAuthClient | None:
    """Return a program that is already known; None for any other."""
    return db.session.scalar(select(OAuthClient).where(OAuthClient.client_id == client_id[:300]))


def find_or_fetch_client(client_id: str) -> OAuthClient | None:
    """Return a program; one whose id is a URL is fetched there at times. Raises Invalid; may end the transaction."""
    row = find_client(client_id)
    if not clients.is_document_id(client_id):
        return row
    if row is not None and row.fetched_at is not None and row.fetched_at > now() - DOCUMENT_FRESH:
        return row
    db.session.rollback()  # no connection is held while the program's own server is called
    metadata = _document(client_id)
    row = find_client(client_id)
    if row is None:
        row = OAuthClient(client_id=client_id)
        db.session.add(row)
    row.name, row.redirect_uris, row.auth_method, row.fetched_at = metadata.name, metadata.redirect_uris, "none", now()
    db.session.flush()
    return row


def _document(client_id: str) -> Metadata:
    try:
        answer = http_client.request(
            "GET",
            client_id,
            headers={"Accept": "application/json"},
            seconds=DOCUMENT_SECONDS,
            max_bytes=DOCUMENT_BYTES,
            allowed=app_settings().outbound_allowed,
        )
    except (outbound.RequestRefused, outbound.RequestFailed) as error:
        raise Invalid.field(
            "client_id", "The program's description cannot be read. %(reason)s", reason=error.reason
        ) from None
    if answer.status != 200:
        raise Invalid.field(
            "client_id", "The program's description cannot be read: it answers %(status)s.", status=answer.status
        )
    try:
        document = json.loads(answer.body)
        if not isinstance(document, dict) or document.get("client_id") != client_id:
            raise Invalid.field("client_id", "The program's description belongs to another program.")
        return Metadata.model_validate(document | {"token_endpoint_auth_method": "none"})
    except ValidationError as error:
        problem = field_errors(error)[0]
        why = f"{'.'.join(problem['loc'])} {problem['msg']}"
        metadata = say("The program's description cannot be used: %(reason)s.", reason=why)
        raise Invalid.field("client_id", metadata) from None
    except (ValueError, RecursionError):
        raise Invalid.field("client_id", "The program's description is not JSON.") from None
