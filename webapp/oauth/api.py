"""The endpoints for programs: metadata, registration, tokens and their revocation."""

from collections.abc import Sequence
from typing import Any

from flask import Flask, Response, request
from pydantic import ValidationError

from webapp.accounts.access_kinds import Kind, add_kind
from webapp.accounts.auth import cookieless, public
from webapp.db.base import db
from webapp.extensions import limiter
from webapp.http import problems
from webapp.http.views import PROGRAMS, PageBlueprint, ViewResult, absolute_url, commit
from webapp.i18n.marks import N_
from webapp.oauth import clients, registry, service
from webapp.oauth.clients import Metadata

blueprint = PageBlueprint("oauth", __name__)
METADATA = "/.well-known/oauth-authorization-server"


def server() -> Any:
    """Return the authorization server, loaded when it is first needed: most processes never need it."""
    from webapp.oauth import server as module  # noqa: PLC0415

    return module


@blueprint.get(METADATA)
@blueprint.get(f"{METADATA}/mcp")
@blueprint.get("/.well-known/openid-configuration")
@public
def metadata() -> ViewResult:
    """Return what this authorization server can do (RFC 8414)."""
    issuer = absolute_url()
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/oauth/authorize",
        "token_endpoint": f"{issuer}/oauth/token",
        "registration_endpoint": f"{issuer}/oauth/register",
        "revocation_endpoint": f"{issuer}/oauth/revoke",
        "scopes_supported": list(service.GRANTABLE),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(clients.GRANT_TYPES),
        "token_endpoint_auth_methods_supported": list(clients.AUTH_METHODS),
        "revocation_endpoint_auth_methods_supported": list(clients.AUTH_METHODS),
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
        "service_documentation": f"{issuer}/settings/programs",
    }


@blueprint.post("/oauth/register")
@public
@cookieless
@limiter.limit("20 per hour; 5 per minute")
def register() -> ViewResult:
    """Register a program (RFC 7591)."""
    try:
        program = Metadata.model_validate(request.get_json(silent=True) or {})
    except ValidationError as error:
        problem = problems.field_errors(error)[0]
        place = ".".join(problem["loc"]) or "body"
        code = "invalid_redirect_uri" if place.startswith("redirect_uris") else "invalid_client_metadata"
        return {"error": code, "error_description": f"{place}: {problem['msg']}"}, 400
    row, secret = registry.register(program)
    fields: dict[str, Any] = {"client_id_issued_at": int(row.created_at.timestamp())}
    if secret:
        fields |= {"client_secret": secret, "client_secret_expires_at": 0}
    return commit(clients.answer(row.client_id, program, **fields)), 201


@blueprint.post("/oauth/token")
@blueprint.post("/token")  # for clients that kept their tokens over a restart, but not the discovered metadata
@public
@cookieless
@limiter.limit("60 per minute")
def token() -> Response:
    """Issue tokens for a code or a refresh token."""
    return _commit_answer(server().token())


@blueprint.post("/oauth/revoke")
@public
@cookieless
@limiter.limit("60 per minute")
def revoke() -> Response:
    """Revoke a program's token (RFC 7009)."""
    return _commit_answer(server().revoke())


def _commit_answer(answer: Response) -> Response:
    db.session.commit()  # after a refusal, too: the grant of a code or token that was used twice has ended
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _error(status: int, message: str, _errors: Sequence[dict[str, Any]] | None) -> tuple[dict[str, Any], int]:
    names = {429: "temporarily_unavailable", 503: "temporarily_unavailable"}
    name = names.get(status, "server_error" if status >= 500 else "invalid_request")
    return {"error": name, "error_description": message}, status


def init_oauth(app: Flask) -> None:
    """Report errors under these URLs as OAuth prescribes, and register programs as a kind of access to accounts."""
    for path in PROGRAMS:
        problems.set_error_format(app, path, _error)
    add_kind("programs", Kind(N_("Other programs"), _program_names, service.disconnect_all))


def _program_names(user_id: int) -> list[str]:
    return [client.name for _grant, client, _token in service.list_grants(user_id)]
