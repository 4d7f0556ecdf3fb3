"""A passkey in software: what a browser and a device would make of the server's options."""

import hashlib
import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authenticator:
    """One key pair for one account of one site; its switches let it misbehave."""

    def __init__(self, origin: str = "http://localhost") -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(32)
        self.origin = origin
        self.handle = b""
        self.counter = 0
        self.flags = PRESENT | VERIFIED

    def make(self, options: dict[str, Any]) -> str:
        """The answer to the options for a new passkey, as JSON."""
        self.handle = unb64(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + cbor2.dumps(public)
        data = self._data(options["rp"]["id"], ATTESTED) + attested
        made = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"])
        return self._json(clientDataJSON=client, attestationObject=made)

    def sign(self, options: dict[str, Any]) -> str:
        """The answer to the options for signing in, as JSON."""
        self.counter += 1
        data, client = self._data(options["rpId"]), self._client("webauthn.get", options["challenge"])
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._json(clientDataJSON=client, authenticatorData=data, signature=signature, userHandle=self.handle)

    def _data(self, domain: str, more: int = 0) -> bytes:
        return hashlib.sha256(domain.encode()).digest() + bytes([self.flags | more]) + self.counter.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _json(self, **response: bytes) -> str:
        plain = {name: b64(value) for name, value in response.items()}
        return json.dumps({"id": b64(self.id), "rawId": b64(self.id), "type": "public-key", "response": plain})
