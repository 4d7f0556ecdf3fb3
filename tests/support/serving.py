"""HTTP servers within a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import Any, TypeVar

Server = TypeVar("Server", bound=BaseServer)


class Handler(BaseHTTPRequestHandler):
    """One that writes no log."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def run_server(server: Server) -> Iterator[Server]:
    """Let a server answer until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
