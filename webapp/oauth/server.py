"""The authorization server: Authlib's checks of the protocol on our tables; loaded when it is first needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError, OAuth2Error
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Response, g

from webapp.db.encryption import digest_of
from webapp.errors import Conflict
from webapp.http.views import absolute_url
from webapp.oauth import clients, registry, service
from webapp.oauth.models import OAuthClient, OAuthCode, OAuthGrant, OAuthRefreshToken
from webapp.oauth.service import IssuedTokens

InvalidTarget = type("InvalidTarget", (OAuth2Error,), {"error": "invalid_target"})


class Client:
    """A program, as Authlib sees it."""

    def __init__(self, row: OAuthClient) -> None:
        self.row = row
        self.client_id = row.client_id

    def get_client_id(self) -> str:
        return self.row.client_id

    def get_default_redirect_uri(self) -> str | None:
        """None: a request has to name its redirect URL (OAuth 2.1)."""
        return None

    def get_allowed_scope(self, scope: str | None) -> str:
        """Return the scopes it may ask for, without unknown ones; the person decides."""
        return " ".join(service.scopes_in(scope))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Return whether the URL is one it registered."""
        return clients.is_registered(redirect_uri, self.row.redirect_uris)

    def check_client_secret(self, client_secret: str) -> bool:
        return self.row.secret_hash is not None and digest_of(client_secret) == self.row.secret_hash

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        """Return whether this is the authentication method it registered."""
        return method == self.row.auth_method

    def check_response_type(self, response_type: str) -> bool:
        """Return whether the program asks for a code."""
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        """Return whether the grant is a code or a refresh token."""
        return grant_type in clients.GRANT_TYPES


class _Code:
    """A code, as Authlib sees it."""

    code_challenge_method = "S256"

    def __init__(self, row: OAuthCode) -> None:
        self.row = row
        self.code_challenge = row.challenge

    def get_redirect_uri(self) -> str:
        return self.row.redirect_uri

    def get_scope(self) -> str:
        return self.row.scope


class _StoredGrant:
    """A refresh token or a grant, as Authlib sees it."""

    def __init__(self, grant: OAuthGrant, token: OAuthRefreshToken | None = None) -> None:
        self.grant = grant
        self.token = token

    def check_client(self, client: Client) -> bool:
        return self.grant.client_number == client.row.client_number

    def get_scope(self) -> str:
        return self.grant.scope


class _CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]  # Authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = list(clients.AUTH_METHODS)

    def validate_authorization_request(self) -> str:
        """Check as Authlib does; also require a challenge (OAuth 2.1), and no resource but ours (RFC 8707)."""
        redirect_uri: str = super().validate_authorization_request()
        data = self.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("A code_challenge with the method S256 is needed.", redirect_uri=redirect_uri)
        _check_resource(self.request.payload.datalist, redirect_uri)
        return redirect_uri

    def create_authorization_response(self, redirect_uri: str, grant_user: Any) -> tuple[int, str, list[Any]]:
        g.oauth_redirect = redirect_uri
        answer: tuple[int, str, list[Any]] = super().create_authorization_response(redirect_uri, grant_user)
        return answer

    def generate_authorization_code(self) -> str:
        """Return a code from the service, which stores it."""
        consent: Consent = self.request.user
        return service.issue_code(
            consent.user_id,
            self.request.client.row,
            redirect_uri=self.request.payload.redirect_uri,
            challenge=self.request.payload.data["code_challenge"],
            scope=consent.scope,
            space_ids=consent.space_ids,
        )

    def save_authorization_code(self, code: str, request: Any) -> None:
        """Do nothing: it is stored already."""

    def query_authorization_code(self, code: str, client: Client) -> _Code | None:
        _check_resource(self.request.payload.datalist)
        row = service.redeem_code(code, client.row)
        return _Code(row) if row else None

    def authenticate_user(self, authorization_code: _Code) -> int:
        return authorization_code.row.user_id

    def generate_token(self, *_: Any, **__: Any) -> dict[str, Any]:
        try:
            tokens = service.begin_grant(self.request.authorization_code.row, self.request.client.row)
        except Conflict as error:
            raise InvalidGrantError(error.detail) from None
        return _as_answer(tokens)

    def save_token(self, token: Mapping[str, Any]) -> None:
        """Do nothing: it is stored already."""

    def delete_authorization_code(self, authorization_code: _Code) -> None:
        """Keep the code, so that a second use is noticed."""


class _RefreshGrant(RefreshTokenGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = list(clients.AUTH_METHODS)
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> _StoredGrant | None:
        _check_resource(self.request.payload.datalist)
        pair = service.find_refresh(refresh_token)
        return _StoredGrant(pair[1], pair[0]) if pair else None

    def authenticate_user(self, refresh_token: _StoredGrant) -> int:
        return refresh_token.grant.user_id

    def issue_token(self, user: int, refresh_token: _StoredGrant) -> dict[str, Any]:
        assert refresh_token.token is not None
        return _as_answer(service.renew(refresh_token.token, refresh_token.grant))

    def save_token(self, token: Mapping[str, Any]) -> None:
        """Do nothing: it is stored already."""

    def revoke_old_credential(self, refresh_token: _StoredGrant) -> None:
        """Do nothing: the old token was marked as used when the new one was issued."""


class _Revocation(RevocationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS = list(clients.AUTH_METHODS)

    def query_token(self, token_string: str, token_type_hint: str | None) -> _StoredGrant | None:
        grant = service.find_grant(token_string, self.request_client)
        return _StoredGrant(grant) if grant else None

    def authenticate_token(self, request: Any, client: Client) -> Any:
        self.request_client = client.row
        return super().authenticate_token(request, client)

    def revoke_token(self, token: _StoredGrant, request: Any) -> None:
        service.end(token.grant)


class _Issuer(IssuerParameter):  # type: ignore[misc]
    def get_issuer(self) -> str:
        return absolute_url()


@dataclass(frozen=True, slots=True)
class Consent:
    """A person's decision on the consent page."""

    user_id: int
    scope: str
    space_ids: frozenset[int] | None


def consent() -> tuple[OAuthClient, str, str | None]:
    """Return the program of an authorization request, its redirect URL, and the scope. Raises OAuth2Error."""
    grant = _server().get_consent_grant()
    return grant.client.row, grant.redirect_uri, grant.request.payload.scope


def authorize(decision: Consent | None) -> Response:
    """Redirect a person to the program, with a code or with their refusal (None)."""
    provider = _server()
    answer: Response = provider.create_authorization_response(grant_user=decision, grant=provider.get_consent_grant())
    return answer


def refusal_response(error: Any) -> Response:
    """Return the response to a request that cannot be granted: a redirect to the program, if its URL is known."""
    provider = _server()
    answer: Response = provider.handle_response(*error(None))
    if answer.location:
        _Issuer().add_issuer_parameter(provider, answer)
    return answer


def token() -> Response:
    """Return the response of the token endpoint."""
    answer: Response = _server().create_token_response()
    return answer


def revoke() -> Response:
    """Return the response of the revocation endpoint."""
    answer: Response = _server().create_endpoint_response(_Revocation.ENDPOINT_NAME)
    return answer


def _server() -> Any:
    provider = AuthorizationServer(query_client=_client, save_token=lambda *_: None)
    provider.register_grant(_CodeGrant, [CodeChallenge(required=True)])
    provider.register_grant(_RefreshGrant)
    provider.register_endpoint(_Revocation)
    provider.register_extension(_Issuer())
    return provider


def _client(client_id: str) -> Client | None:
    row = registry.find_client(client_id)
    return Client(row) if row else None


def _as_answer(tokens: IssuedTokens) -> dict[str, Any]:
    return {
        "token_type": "Bearer",
        "access_token": tokens.access,
        "expires_in": service.ACCESS_SECONDS,
        "refresh_token": tokens.refresh,
        "scope": tokens.scope,
    }


def _check_resource(parameters: Mapping[str, list[str]], redirect_uri: str | None = None) -> None:
    ours = (absolute_url("/mcp"), absolute_url())  # what tokens are for, and this server itself
    if any(url.rstrip("/") not in ours for url in parameters.get("resource", [])):
        raise InvalidTarget("There is no such resource here.", redirect_uri=redirect_uri)
