"""The server beside the product while no model is connected: the screen tour.

Run it with `python -m webapp.tour.server --port N`. It answers as OpenAI's API does, as far as the product asks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import time
from contextlib import suppress
from typing import Any

from aiohttp import web

from webapp.i18n import SOURCE
from webapp.tour import answers

MAX_BODY = 32 * 1024 * 1024
FIRST_DELAY = 0.25  # seconds: long enough to see that something is coming
PIECES_PER_SECOND = 45.0  # a pace to read along with
DONE = b"data: [DONE]\n\n"
_PIECE = re.compile(r"\s*\S{1,5}|\s+")
NO_MODEL = {"error": {"message": "No language model is connected.", "type": "no_model", "code": "no_model"}}


class TourServer:
    """One server, and its pace."""

    def __init__(self, *, first_delay: float = FIRST_DELAY, pieces_per_second: float = PIECES_PER_SECOND) -> None:
        self._first_delay, self._pause = first_delay, 1 / pieces_per_second

    def app(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _models(self, _request: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "created": 0} for name in (answers.MODEL,)]
        return web.json_response({"object": "list", "data": data})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
            raise _bad_request("'messages' must be a list of messages.")
        wanted = body.get("response_format")
        if body.get("stream") and not wanted:
            told = body.get("metadata") or {}
            said = answers.reply_to(messages, told.get("language", SOURCE), is_admin="is_admin" in told)
            return await self._stream(request, said)
        name = wanted.get("json_schema", {}).get("name") if isinstance(wanted, dict) else ""
        statements = answers.statements_in(messages) if name == answers.READING else None
        if statements is None:
            return web.json_response(NO_MODEL, status=503)
        message = {"role": "assistant", "content": json.dumps({"statements": statements})}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({**_head("chat.completion"), "choices": [choice]})

    async def _stream(self, request: web.Request, said: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        await asyncio.sleep(self._first_delay)
        for piece in _PIECE.findall(said):
            await response.write(_event({"content": piece}))
            await asyncio.sleep(self._pause)
        await response.write(_event({}, "stop") + DONE)
        return response


def _head(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{time.time_ns()}", "object": kind, "created": int(time.time()), "model": answers.MODEL}


def _event(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({**_head('chat.completion.chunk'), 'choices': [choice]})}\n\n".encode()


async def _body(request: web.Request) -> dict[str, Any]:
    with suppress(ValueError):
        if isinstance(body := json.loads(await request.read()), dict):
            return body
    raise _bad_request("The body must be a JSON object.")


def _bad_request(message: str) -> web.HTTPBadRequest:
    text = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})
    return web.HTTPBadRequest(text=text, content_type="application/json")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser("screen-tour", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, required=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    # A reader that leaves ends the stream, as with real servers.
    port = parser.parse_args().port
    web.run_app(TourServer().app(), host="127.0.0.1", port=port, access_log=None, print=None, handler_cancellation=True)


if __name__ == "__main__":
    main()
