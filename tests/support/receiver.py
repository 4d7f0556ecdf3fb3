"""A server that is sent things, and answers as a test says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import Any

from flask import Flask

from tests.support.serving import Handler, run_server
from webapp.config import Settings
from webapp.extensions import app_settings


class Receiver(HTTPServer):
    """An address that is told things, and answers as the test says."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        receiver = self

        class Receiving(Handler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.status)
                self.end_headers()
                self.wfile.write(b"Thank you. " * 10_000)

        super().__init__(("127.0.0.1", 0), Receiving)
        self.url = f"http://127.0.0.1:{self.server_port}/hook"

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
