"""A client of the API that believes only what it is told: a minimum of HTTP and of server-sent events."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

AWAY = (OSError, http.client.HTTPException, socket.timeout)
"""How a server under a fault may fail to answer at all."""


@dataclass(frozen=True)
class Answer:
    """A status, and the JSON body if there is one."""

    status: int
    body: Any


@dataclass(frozen=True)
class Client:
    """One person's connection to one address."""

    url: str
    token: str
    patience: float = 60.0

    def call(self, method: str, path: str, body: object = None, key: str = "") -> Answer:
        """One request. Raises what is in AWAY."""
        connection = self._connect()
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, self._headers(key))
            response = connection.getresponse()
            data = response.read()
            return Answer(response.status, _parse(data))
        finally:
            connection.close()

    def stream(self, path: str, body: object, key: str) -> Iterator[tuple[str, Any]]:
        """The events of a turn as (name, data); the first is ("status", number). Raises what is in AWAY."""
        connection = self._connect()
        try:
            connection.request("POST", path, json.dumps(body), self._headers(key))
            response = connection.getresponse()
            yield "status", response.status
            if response.status != 200:
                return
            name, data = "message", ""
            while line := response.readline():
                text = line.decode().rstrip("\n")
                if not text:
                    if data:
                        yield name, json.loads(data)
                    name, data = "message", ""
                elif text.startswith("event: "):
                    name = text[7:]
                elif text.startswith("data: "):
                    data += text[6:]
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        return http.client.HTTPConnection(address.hostname or "", address.port, timeout=self.patience)

    def _headers(self, key: str) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return headers | ({"Idempotency-Key": key} if key else {})


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode(errors="replace")
