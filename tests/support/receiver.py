"""A server that is sent things, and answers as a test says."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from flask import Flask

from tests.support.serving import Handler, run_server
from webapp.config import Settings
from webapp.extensions import app_settings


class Answering(HTTPServer):
    """A server on loopback that answers as the test says, and keeps what it was asked."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        asked = self.asked

        class Answer(Handler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append((self.command, self.path, dict(self.headers), body))
                answer(self)

            do_GET = do_POST

        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Receiver(Answering):
    """An address that is told things, and answers with the status that the test says and a long body."""

    def __init__(self) -> None:
        self.status = 200
        super().__init__(self._answer)
        self.url += "/hook"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(self.status)
        handler.end_headers()
        handler.wfile.write(b"Thank you. " * 10_000)

    @property
    def got(self) -> list[tuple[dict[str, str], bytes]]:
        """Headers, by lower-case name, and body of everything that came."""
        return [({name.lower(): value for name, value in headers.items()}, body) for _, _, headers, body in self.asked]

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Kind and data of everything that came."""
        found = [json.loads(body) for _, body in self.got]
        return [(item["type"], item["data"]) for item in found]


@contextmanager
def run_receiver(app: Flask, settings: Settings) -> Iterator[Receiver]:
    """Run a receiver within this network, which a setting allows meanwhile."""
    app_settings.put(app, settings.model_copy(update={"outbound_allow": "127.0.0.1"}))
    try:
        with run_server(Receiver()) as server:
            yield server
    finally:
        app_settings.put(app, settings)
