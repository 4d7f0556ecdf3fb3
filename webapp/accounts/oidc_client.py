"""Authlib's client, for what providers do that it does not know. Loaded only where a provider is configured."""

from typing import Any

from authlib.integrations.flask_client import FlaskOAuth2App
from joserfc import jwt
from joserfc.errors import BadSignatureError, UnsupportedAlgorithmError
from joserfc.jwk import KeySet, OctKey
from joserfc.jws import JWSRegistry

_BASIC, _POST = "client_secret_basic", "client_secret_post"


class OidcClient(FlaskOAuth2App):  # type: ignore[misc]
    """A client of a provider that may want the secret in the form, sign with it, sign its userinfo, or change keys."""

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
