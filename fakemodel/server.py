"""The fake model's HTTP server: routes, embeddings, the script endpoints and the command line."""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import logging
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from aiohttp import web

from .chat import Refusal, answer_for, read_request, refuse, send_stream, send_whole
from .pace import Pacer
from .providers import NO_QUIRKS, PROVIDERS, Quirks
from .script import Rule, Script
from .wire import CHAT_MODEL, EMBEDDING_MODEL, count_tokens, error

if TYPE_CHECKING:
    from webapp.llm.encoders import LocalEmbedder

log = logging.getLogger("fake-model")

MAX_BODY = 32 * 1024 * 1024
MAX_INPUTS = 2048
ACCEPTING = 10  # turns of the event loop within which asyncio hands over a connection it has accepted


class FakeServer:
    """The state of one server: the embedding model, the pacer and, if scripted, the script."""

    def __init__(
        self, script: Script | None, quirks: Quirks = NO_QUIRKS, *, remembers: int = 0, slots: int = sys.maxsize
    ) -> None:
        self.script, self.quirks = script, quirks
        self._slots = asyncio.Semaphore(slots)
        self._pacer: Pacer | None = None
        self._embedder: LocalEmbedder | None = None
        self._executor = ThreadPoolExecutor(1, "embeddings")
        if remembers:  # so many texts with their vectors: making one takes 10 to 55 ms of CPU
            self._embed = lru_cache(remembers)(self._embed)  # type: ignore[method-assign]

    def app(self) -> web.Application:
        """Return the aiohttp application."""
        app = web.Application(client_max_size=MAX_BODY)
        app.cleanup_ctx.append(self._lifetime)
        app.router.add_get("/healthz", self._health)
        for prefix in ("", "/v1"):
            app.router.add_get(f"{prefix}/models", self._models)
            app.router.add_post(f"{prefix}/chat/completions", self._chat)
            app.router.add_post(f"{prefix}/embeddings", self._embeddings)
        if self.script is not None:
            app.router.add_post("/_script", self._script_add)
            app.router.add_delete("/_script", self._script_reset)
            app.router.add_get("/_calls", self._script_calls)
        return app

    async def _lifetime(self, app: web.Application) -> AsyncIterator[None]:
        self._pacer = Pacer()
        yield
        self._executor.shutdown(wait=True)

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "scripted": self.script is not None})

    async def _models(self, request: web.Request) -> web.Response:
        data = [{"id": m, "object": "model", "created": 0, "owned_by": "nobody"} for m in (CHAT_MODEL, EMBEDDING_MODEL)]
        return web.json_response({"object": "list", "data": data})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        assert self._pacer is not None
        call: dict[str, Any] = {}
        try:
            body = read_request(await _json(request), self.script)
            rule = self.script.take("chat", body) if self.script else None
            call = self.script.record("chat", body) if self.script else {}
            if request.transport is not None:
                call["connection"] = request.transport.get_extra_info("peername")[1]
            refuse(self.quirks.fault, body)
            if rule is not None:
                refuse(rule.fault, body)
            answer = answer_for(body, rule, self.quirks)
            async with self._slots:
                if body.get("stream"):
                    response = await send_stream(request, body, answer, rule, self._pacer, call)
                else:
                    response = await send_whole(body, answer, rule)
        except Refusal as refusal:
            call.update(status=refusal.status, outcome="refused", ended=time.time())
            return refusal.response()
        except (asyncio.CancelledError, ConnectionError):
            call.update(outcome="disconnected", ended=time.time())
            raise
        gone = request.transport is None or request.transport.is_closing()
        call.update(outcome="disconnected" if gone else "complete", ended=time.time())
        return response

    async def _embeddings(self, request: web.Request) -> web.Response:
        call: dict[str, Any] = {}
        try:
            body = await _json(request)
            texts = _inputs(body)
            rule = self.script.take("embeddings", body) if self.script else None
            call = self.script.record("embeddings", body) if self.script else {}
            if rule is not None:
                await asyncio.sleep(rule.first_delay)
                refuse(rule.fault, body)
                if rule.structured is not None:
                    return web.json_response(rule.structured)
            if self.script is None and body.get("model") != EMBEDDING_MODEL:
                text = f"The model does not exist; this server has '{EMBEDDING_MODEL}'."
                raise Refusal(404, error(text, code="model_not_found", param="model"))
        except Refusal as refusal:
            call.update(status=refusal.status, outcome="refused", ended=time.time())
            return refusal.response()
        loop = asyncio.get_running_loop()
        # One at a time, or a query would wait for eight pages of somebody's document. On one core, eight together take
        # eight times as long: 9 instead of 10 ms each if they are short, 60 instead of 55 if they are long.
        rows = [await loop.run_in_executor(self._executor, self._embed, text) for text in texts]
        encoded = body.get("encoding_format") == "base64"
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode() if encoded else row.tolist(),
            }
            for index, row in enumerate(rows)
        ]
        tokens = sum(map(count_tokens, texts))
        counts = {"prompt_tokens": tokens, "total_tokens": tokens}
        call.update(outcome="complete", ended=time.time())
        return web.json_response({"object": "list", "data": data, "model": EMBEDDING_MODEL, "usage": counts})

    def _embed(self, text: str) -> Any:
        if self._embedder is None:
            # Here and not above: a server used only for chat never loads the model's libraries.
            from webapp.llm.encoders import LocalEmbedder  # noqa: PLC0415

            self._embedder = LocalEmbedder()
        return self._embedder.embed_query(text)

    async def _script_add(self, request: web.Request) -> web.Response:
        assert self.script is not None
        try:
            data = await _json(request)
            rules = [Rule.parse(item) for item in (data if isinstance(data, list) else [data])]
        except Refusal as refusal:
            return refusal.response()
        except (TypeError, AttributeError, re.error) as problem:
            return web.json_response(error(f"not a rule: {problem}"), status=400)
        for rule in rules:
            self.script.add(rule)
        return web.json_response({"added": len(rules)}, status=201)

    async def _script_reset(self, request: web.Request) -> web.Response:
        assert self.script is not None
        self.script.reset()
        return web.Response(status=204)

    async def _script_calls(self, request: web.Request) -> web.Response:
        assert self.script is not None
        return web.json_response({"calls": self.script.calls()})


@contextlib.asynccontextmanager
async def serving(server: FakeServer, host: str, port: int) -> AsyncIterator[int]:
    """Serve until the block ends, and close every connection then; yields the port, which is chosen if 0 is given."""
    # A client that disconnects must end the stream, as with real servers: aiohttp does not do so on its own.
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
    await runner.setup()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=4096)
    listener.setblocking(False)
    await web.SockSite(runner, listener, backlog=4096).start()
    try:
        yield listener.getsockname()[1]
    finally:
        # asyncio never closes a connection that it has accepted, but not yet handed over, when its server is closed.
        asyncio.get_running_loop().remove_reader(listener)
        for _ in range(ACCEPTING):
            await asyncio.sleep(0)
        await runner.cleanup()


def main(argv: list[str] | None = None) -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser("fake-model", description="A scripted model server, OpenAI-compatible.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--scripted", action="store_true", help="for tests: replies and faults are set through /_script"
    )
    parser.add_argument("--provider", choices=PROVIDERS, help="imitate what providers of one kind refuse and send")
    parser.add_argument("--slots", type=int, default=sys.maxsize, help="how many answers are written at a time")
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    quirks = PROVIDERS.get(options.provider, NO_QUIRKS)
    server = FakeServer(Script() if options.scripted else None, quirks, slots=options.slots)
    asyncio.run(_serve(server, options.host, options.port))


async def _serve(server: FakeServer, host: str, port: int) -> None:
    async with serving(server, host, port) as bound:
        log.info("fake model on http://%s:%d/v1", host, bound)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop.set)
        await stop.wait()


async def _json(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except ValueError:
        raise Refusal(400, error("The body is not valid JSON.")) from None


def _inputs(body: Any) -> list[str]:
    given = body.get("input") if isinstance(body, dict) else None
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise Refusal(400, error("'input' must be a text or a list of texts that are not empty.", param="input"))
    if len(texts) > MAX_INPUTS:
        raise Refusal(400, error(f"'input' may hold at most {MAX_INPUTS} texts.", param="input"))
    return texts
