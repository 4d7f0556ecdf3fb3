"""The server beside the product while no model is connected: the screen tour.

Run it with `python -m webapp.tour.server --port N`. It answers as OpenAI's API does, as far as the product asks.
"""

import argparse
import json
import re
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from webapp.i18n import SOURCE
from webapp.tour import answers

MAX_BODY = 32 * 1024 * 1024
FIRST_DELAY = 0.25  # seconds: long enough to see that something is coming
PIECES_PER_SECOND = 45.0  # a pace to read along with
_PIECE = re.compile(r"\s*\S{1,5}|\s+")
NO_MODEL = {"error": {"message": "No language model is connected.", "type": "no_model", "code": "no_model"}}


class BadRequest(Exception):
    """The request is none that OpenAI's API takes."""


class TourServer(ThreadingHTTPServer):
    """One server, and its pace; a thread for each connection, which a reader that leaves ends."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, port: int, *, first_delay: float = FIRST_DELAY, pieces_per_second: float = PIECES_PER_SECOND
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.first_delay, self.pause = first_delay, 1 / pieces_per_second


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TourServer

    def do_GET(self) -> None:  # noqa: N802 - the library's name
        """Answer with the list of models."""
        if self.path != "/v1/models":
            return self._json({"error": {"message": "There is nothing here."}}, 404)
        return self._json({"object": "list", "data": [{"id": answers.MODEL, "object": "model", "created": 0}]})

    def do_POST(self) -> None:  # noqa: N802
        """Answer a request for a completion."""
        try:
            messages, body = self._messages()
        except BadRequest as error:
            return self._json({"error": {"message": str(error), "type": "invalid_request_error"}}, 400)
        response_format = body.get("response_format")
        if body.get("stream") and not response_format:
            metadata = body.get("metadata") or {}
            reply = answers.reply_to(messages, metadata.get("language", SOURCE), is_admin="is_admin" in metadata)
            return self._stream(reply)
        name = response_format.get("json_schema", {}).get("name") if isinstance(response_format, dict) else ""
        statements = answers.statements_in(messages) if name == answers.READING else None
        if statements is None:
            return self._json(NO_MODEL, 503)
        message = {"role": "assistant", "content": json.dumps({"statements": statements})}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return self._json({**_head("chat.completion"), "choices": [choice]})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the product logs its own requests."""

    def _messages(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > MAX_BODY:
            self.close_connection = True
            raise BadRequest("A body with a length is expected.")
        try:
            body = json.loads(self.rfile.read(int(size)))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise BadRequest("The body must be a JSON object.")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
            raise BadRequest("'messages' must be a list of messages.")
        return messages, body

    def _json(self, body: dict[str, Any], status: int = 200) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, reply: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            time.sleep(self.server.first_delay)
            for piece in _PIECE.findall(reply):
                self.wfile.write(_event({"content": piece}))
                time.sleep(self.server.pause)
            self.wfile.write(_event({}, "stop") + b"data: [DONE]\n\n")
        except ConnectionError:
            self.close_connection = True


def _head(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{time.time_ns()}", "object": kind, "created": int(time.time()), "model": answers.MODEL}


def _event(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({**_head('chat.completion.chunk'), 'choices': [choice]})}\n\n".encode()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser("screen-tour", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with TourServer(parser.parse_args().port) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
