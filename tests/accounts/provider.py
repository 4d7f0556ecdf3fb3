"""A small OpenID provider on loopback, its keys and signatures made by Authlib's libraries."""

import base64
import threading
import time
from typing import Any
from urllib.parse import urlencode

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from flask import Flask, jsonify, redirect, request
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from werkzeug.serving import make_server

CLIENT_ID, CLIENT_SECRET = "commonplace", "a secret between the two of them"


class Provider:
    """Signs in whoever `claims` describes, at once. `spoil` changes the claims of the next ID token."""

    def __init__(self) -> None:
        self.key: RSAKey | OctKey = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.offers: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.spoil: dict[str, Any] = {}
        self.userinfo_claims: dict[str, Any] = {}
        self.userinfo_asked = 0
        self.codes: dict[str, dict[str, str]] = {}
        app = Flask("provider")
        app.add_url_rule("/.well-known/openid-configuration", view_func=self.discovery)
        app.add_url_rule("/authorize", view_func=self.authorize)
        app.add_url_rule("/token", view_func=self.token, methods=["POST"])
        app.add_url_rule("/jwks", view_func=self.jwks)
        app.add_url_rule("/userinfo", view_func=self.userinfo)
        self._server = make_server("127.0.0.1", 0, app, threaded=True)
        self.issuer = f"http://127.0.0.1:{self._server.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def discovery(self) -> Any:
        """What it offers, and where."""
        return jsonify(
            issuer=self.issuer,
            authorization_endpoint=f"{self.issuer}/authorize",
            token_endpoint=f"{self.issuer}/token",
            jwks_uri=f"{self.issuer}/jwks",
            userinfo_endpoint=f"{self.issuer}/userinfo",
            response_types_supported=["code"],
            subject_types_supported=["public"],
            code_challenge_methods_supported=["S256"],
            **self.offers,
        )

    def userinfo(self) -> Any:
        """What it says of the person besides."""
        self.userinfo_asked += 1
        if "userinfo_signing_alg_values_supported" in self.offers:
            return jwt.encode({"alg": "RS256"}, self.userinfo_claims, self.key), {"Content-Type": "application/jwt"}
        return jsonify(self.userinfo_claims)

    def authorize(self) -> Any:
        """The person agrees at once."""
        asked = request.args
        assert asked["client_id"] == CLIENT_ID
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = {name: asked[name] for name in ("code_challenge", "nonce", "redirect_uri")}
        return redirect(asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"]}))

    def token(self) -> Any:
        """An ID token for a code, once, to whoever knows the client's secret and the verifier."""
        credentials = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        is_posted = "token_endpoint_auth_methods_supported" in self.offers
        kept = self.codes.pop(request.form["code"], None)
        if (
            kept is None
            or request.headers.get("Authorization") != (None if is_posted else f"Basic {credentials}")
            or request.form.get("client_secret") != (CLIENT_SECRET if is_posted else None)
            or create_s256_code_challenge(request.form["code_verifier"]) != kept["code_challenge"]
            or request.form["redirect_uri"] != kept["redirect_uri"]
        ):
            return jsonify(error="invalid_grant"), 400
        at = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": at, "exp": at + 60, "nonce": kept["nonce"]}
        head = {"alg": "HS256"} if isinstance(self.key, OctKey) else {"alg": "RS256", "kid": "one"}
        signed = jwt.encode(head, {**claims, **self.claims, **self.spoil}, self.key)
        return jsonify(access_token="opaque", token_type="Bearer", id_token=signed, expires_in=600)

    def jwks(self) -> Any:
        """The public key, after one of a curve that few know."""
        keys = [] if isinstance(self.key, OctKey) else [self.key.as_dict(private=False)]
        return jsonify(keys=[{"kty": "EC", "crv": "BP-256", "x": "AA", "y": "AA", "kid": "another"}, *keys])
