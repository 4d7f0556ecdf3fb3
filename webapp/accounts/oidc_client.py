"""Authlib's client, for what providers do that it does not know. Loaded only where a provider is configured."""

import io
from typing import Any, cast

import requests
from authlib.integrations.flask_client import FlaskOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from joserfc import jwt
from joserfc.errors import BadSignatureError, UnsupportedAlgorithmError
from joserfc.jwk import JWKRegistry, KeySet, OctKey
from joserfc.jws import JWSRegistry
from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import select_proxy

from webapp.network import http_client
from webapp.network.outbound import RequestFailed, RequestRefused

SECONDS = 10.0
MAX_BYTES = 1_000_000
"""The most bytes of an answer; a long list of groups is some 20 kB."""
_BASIC, _POST = "client_secret_basic", "client_secret_post"


class _Transport(HTTPAdapter):
    """Asks by our client, whose limits hold for the whole of an answer, or by Requests' through a proxy."""

    def send(self, prepared: PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]
        """Return the answer. Raises requests.ConnectionError."""
        url, body = prepared.url or "", cast("str | bytes | None", prepared.body)
        if select_proxy(url, options.get("proxies")):
            return super().send(prepared, **options)
        headers: dict[str, Any] = {name.title(): value for name, value in prepared.headers.items()}
        try:
            answer = http_client.request(
                prepared.method or "GET",
                url,
                body=body.encode() if isinstance(body, str) else body,
                headers=headers | {"Accept-Encoding": "identity"},
                seconds=SECONDS,
                max_bytes=MAX_BYTES,
                allowed=None,
            )
        except (RequestFailed, RequestRefused) as error:
            raise requests.ConnectionError(str(error), request=prepared) from error
        response = requests.Response()
        response.status_code, response.raw, response.encoding = answer.status, io.BytesIO(answer.body), "utf-8"
        response.headers = CaseInsensitiveDict(answer.headers)
        response.url, response.request = url, prepared
        return response


class _Session(OAuth2Session):  # type: ignore[misc]
    """Requests' session, with our transport."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, default_timeout=SECONDS, **more)
        self.max_redirects = 3
        for scheme in ("https://", "http://"):
            self.mount(scheme, _Transport())


def _is_key(key: Any) -> bool:
    try:
        JWKRegistry.import_key(key)
    except Exception:  # KeyError, and those of two libraries
        return False
    return True


class OidcClient(FlaskOAuth2App):  # type: ignore[misc]
    """A client of a provider that may want the secret in the form, sign with it, sign its userinfo, or change keys."""

    client_cls = _Session

    def load_server_metadata(self) -> dict[str, Any]:
        """Return the provider's description of itself, with what is to be done about it."""
        metadata: dict[str, Any] = super().load_server_metadata()
        methods = metadata.get("token_endpoint_auth_methods_supported") or [_BASIC]
        if self.client_secret and _BASIC not in methods and _POST in methods:
            metadata["token_endpoint_auth_method"] = _POST
        algorithms = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        if self.client_secret and all(str(algorithm).startswith("HS") for algorithm in algorithms):
            metadata["jwks"] = {"keys": [OctKey.import_key(self.client_secret).as_dict()]}
        return metadata

    def parse_id_token(self, token: Any, nonce: str, **more: Any) -> Any:
        """Return the claims of an ID token, checked."""
        try:
            return super().parse_id_token(token, nonce, **more)
        except (BadSignatureError, UnsupportedAlgorithmError):  # it may sign with another key or algorithm now
            for name in ("_loaded_at", "jwks"):
                self.server_metadata.pop(name, None)
            return super().parse_id_token(token, nonce, **more)

    def fetch_jwk_set(self, force: bool = False) -> Any:
        """Return the provider's keys, without those that are not known here (of brainpool curves, for example)."""
        return {"keys": list(filter(_is_key, super().fetch_jwk_set(force)["keys"]))}

    def userinfo(self, **more: Any) -> Any:
        """Return the claims of the userinfo endpoint."""
        metadata = self.load_server_metadata()
        response = self.get(metadata["userinfo_endpoint"], **more)
        response.raise_for_status()
        if "jwt" not in response.headers.get("Content-Type", ""):
            return response.json()
        algorithms = metadata.get("userinfo_signing_alg_values_supported")
        registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
        return jwt.decode(response.text.strip(), KeySet.import_key_set(self.fetch_jwk_set()), registry=registry).claims
