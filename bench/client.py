"""A client of the API that believes only what it is told: a minimum of HTTP and of server-sent events."""

from __future__ import annotations

import http.client
import json
import socket
import time
import uuid
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
        data = None if body is None else json.dumps(body).encode()
        return self._send(method, path, data, self._headers(key))

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The body of a good answer. Raises RuntimeError for any other, and what is in AWAY."""
        answer = self.call(method, path, body)
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.body}")
        return answer.body

    def wait(self, path: str, *statuses: str, seconds: float = 600.0) -> Any:
        """The body at a path once it has one of these statuses, or as it is after so many seconds."""
        end = time.monotonic() + seconds
        while (body := self.ask("GET", path))["status"] not in statuses and time.monotonic() < end:
            time.sleep(0.05)
        return body

    def upload(self, path: str, name: str, content: bytes) -> Answer:
        """Send a file as a form. Raises what is in AWAY."""
        mark = uuid.uuid4().hex
        head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
        return self._send("POST", path, body, self._headers("", f"multipart/form-data; boundary={mark}"))

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

    def _send(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Answer:
        connection = self._connect()
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return Answer(response.status, _parse(response.read()))
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        return http.client.HTTPConnection(address.hostname or "", address.port, timeout=self.patience)

    def _headers(self, key: str, kind: str = "application/json") -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        return headers | ({"Idempotency-Key": key} if key else {})


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode(errors="replace")
