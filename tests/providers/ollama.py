"""Ollama's API, imitated on a port: its list, its version, replies in pieces, and models being fetched."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from tests.support.serving import Handler, run_server

SIZE = 1_000_000


@dataclass
class Ollama:
    """What it has and does. A model is fetched in ten steps; before step `breaks_at` the connection is cut, before step
    `waits_at` it waits for `go`; `kept` is what an earlier try has fetched. `asked` are the requests to chat."""

    address: str = ""
    models: list[str] = field(default_factory=list)
    library: list[str] = field(default_factory=lambda: ["qwen3:0.6b"])
    breaks_at: int | None = None
    waits_at: int | None = None
    go: threading.Event = field(default_factory=threading.Event)
    error: str = ""
    kept: int = 0
    streams: bool = True
    greets: bytes = b""  # sent before a reply that is streamed
    refuses_key: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        """Where the protocol of all servers is spoken."""
        return f"{self.address}/v1"

    def pull(self, model: str) -> Iterator[dict[str, Any]]:
        """The lines of a model being fetched."""
        yield {"status": "pulling manifest"}
        if self.error:
            yield {"error": self.error}
            return
        if model not in self.library:
            yield {"error": "pull model manifest: file does not exist"}
            return
        for step in range(self.kept, 11):
            if step == self.breaks_at:
                self.breaks_at = None
                raise ConnectionAbortedError
            if step == self.waits_at:
                self.go.wait(30)
            self.kept = step
            yield {"status": "pulling aa", "digest": "sha256:aa", "total": SIZE, "completed": SIZE * step // 10}
        self.models.append(model)
        yield {"status": "success"}


@contextmanager
def ollama(port: int = 0, **state: Any) -> Iterator[Ollama]:
    """Imitate it until the block ends."""
    imitated = Ollama(**state)

    class Answering(Handler):
        protocol_version = "HTTP/1.0"

        def _send(self, body: Any, status: int = 200) -> None:
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def do_GET(self) -> None:
            if imitated.refuses_key and self.path == "/v1/models":
                self._send({"error": {"message": "Incorrect API key", "code": "invalid_api_key"}}, 401)
            elif self.path == "/v1/models":
                rows = [{"id": name, "object": "model", "created": 1} for name in imitated.models]
                self._send({"object": "list", "data": rows or None})  # as Ollama lists nothing
            elif self.path == "/api/version":
                self._send({"version": "0.12.0"})
            elif self.path == "/api/ps":
                self._send({"models": [{"name": name, "context_length": 4_096} for name in imitated.models[:1]]})
            else:
                self._send({}, 404)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/api/pull":
                self.send_response(200)
                self.end_headers()
                with suppress(ConnectionError):  # cut, or nobody listens any more
                    for line in imitated.pull(asked["model"]):
                        self.wfile.write(json.dumps(line).encode() + b"\n")
                        self.wfile.flush()
                return
            if self.path != "/v1/chat/completions":
                self._send({"error": {"message": "not here"}}, 404)
                return
            imitated.asked.append(asked)
            if asked.get("stream") and not imitated.streams:
                self._send({"error": {"message": "no streaming here"}}, 400)
            elif asked.get("stream"):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(imitated.greets)
                for word in ("one", " two", None):
                    delta = {"content": word} if word else {}
                    choice = {"index": 0, "delta": delta, "finish_reason": None if word else "stop"}
                    piece = {"id": "x", "object": "chat.completion.chunk", "created": 1, "choices": [choice]}
                    self.wfile.write(b"data: " + json.dumps(piece | {"model": asked["model"]}).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")
            else:
                message = {"role": "assistant", "content": "Hi."}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                self._send({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})

    with run_server(ThreadingHTTPServer(("127.0.0.1", port), Answering)) as server:
        imitated.address = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield imitated
        finally:
            imitated.go.set()
