"""JSON over plain HTTP, for an eleventh of the Python calls that a request through OpenAI's SDK takes."""

import json
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from http.client import HTTPConnection
from select import POLLIN, poll
from socket import socket
from typing import Any
from urllib.parse import urlsplit

from .errors import MalformedOutput, ModelSilent, ModelUnavailable, Refusal

MAX_BYTES = 64 * 1024 * 1024
"""The longest answer in one piece, unpacked."""
ERROR_BYTES = 16_384
"""What is read of an error: the SDK would read it to its end."""


class PlainClient:
    """Posts JSON to a server below an http: URL, with these headers; thread-safe."""

    def __init__(self, base_url: str, headers: Mapping[str, str], connect_timeout: float) -> None:
        fixed = {"content-type": "application/json", "user-agent": "Commonplace"}
        self._headers = {name: value.encode() for name, value in {**fixed, **headers}.items()}
        self._server, self._connect_timeout = urlsplit(base_url), connect_timeout
        self._idle: deque[HTTPConnection] = deque()
        self._is_closed = False

    def post(self, path: str, body: dict[str, Any], read: float) -> bytes:
        """Return the answer, each part of which may take `read` seconds; raises Refusal, ModelError, and what
        `http.client` does."""
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        connection = self._connection()
        try:
            connection.sock.settimeout(read)
            connection.request("POST", self._server.path + path, data, self._headers)
            with closing(connection.getresponse()) as response:
                if response.status >= 300:  # noqa: PLR2004
                    raise Refusal(response, response.read(ERROR_BYTES).decode("utf-8", "replace"))
                answer = read_body(iter(response.read1, b""), read)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        if self._is_closed:
            self.close()
        return answer

    def _connection(self) -> HTTPConnection:
        """Return an open connection: an idle one that the server has not closed, or a new one."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.sock is not None and not _has_news(connection.sock):
                    return connection
                connection.close()
        connection = HTTPConnection(self._server.hostname or "", self._server.port, timeout=self._connect_timeout)
        try:
            connection.connect()
        except TimeoutError:
            raise ModelUnavailable from None
        return connection

    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


def _has_news(connection: socket) -> bool:
    """Return whether there is something to read, such as the end, on a connection over which nothing was asked."""
    watch = poll()
    watch.register(connection, POLLIN)
    return bool(watch.poll(0))


def read_body(chunks: Iterable[bytes], seconds: float) -> bytes:
    """Return what follows the headers, unless it takes too long, piece by piece, or never ends. Raises ModelError."""
    deadline, body = time.monotonic() + seconds, bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > MAX_BYTES:
            raise MalformedOutput("The model server sent more than an answer can be.", retryable=False)
        if time.monotonic() > deadline:
            raise ModelSilent
    return bytes(body)
