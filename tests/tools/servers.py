"""Servers of others, as tools meet them: an HTTP server on this machine whose answers a test writes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.support.serving import Handler, run_server


@dataclass
class Asked:
    """A request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


@dataclass
class Site:
    """Where it is, what it was asked, and what it answers: a function of the request that gives status, headers and
    body, the last of them in one piece or several."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    answer: Callable[[Asked], tuple[int, dict[str, str], Any]] = lambda _asked: (404, {}, b"")
    gate: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def says(self, body: Any, kind: str = "text/html; charset=utf-8", status: int = 200, **headers: str) -> None:
        """Answer everything with this; what is neither text nor bytes goes as JSON."""
        self.answer = lambda _asked: (status, {"Content-Type": kind, **headers}, body)


@contextmanager
def serve() -> Iterator[Site]:
    """A site until the block ends."""
    site = Site()

    class Answering(Handler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(length))
            site.asked.append(asked)
            status, more, body = site.answer(asked)
            if isinstance(body, str):
                body = body.encode()
            elif isinstance(body, dict | list):
                body, more = json.dumps(body).encode(), {**more, "Content-Type": "application/json"}
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("Connection", "close")
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                for piece in (body,) if isinstance(body, bytes) else body:
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                pass  # the other side has heard enough
            self.close_connection = True

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815

    with run_server(ThreadingHTTPServer(("127.0.0.1", 0), Answering)) as server:
        site.port = server.server_address[1]
        try:
            yield site
        finally:
            site.gate.set()
