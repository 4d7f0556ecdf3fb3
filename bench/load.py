"""The load generator: one asyncio loop reads streams over plain sockets, so that it costs less than its subject."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from testkit.memory_rows import sentence, vocabulary

_STAMP = re.compile(rb"(\d+):(\d+) ")
_WORDS = re.compile(rb'"content":\s*"[^"]')
_maker, _words = random.Random(11), vocabulary()


@dataclass
class Stream:
    """The delivery of one stream; times in milliseconds."""

    first_token: float | None = None
    latencies: list[float] = field(default_factory=list)
    received: int = 0
    disordered: int = 0
    finished: bool = False
    failure: str = ""


def chat_request(url: str, *tokens: str) -> Callable[[int], bytes]:
    """Return the request that starts a turn and streams it, each from the next person in turn.

    The question is new each time, so it has to be embedded.
    """
    return lambda number: _post(url, "/api/chat/stream", {"message": question(number)}, tokens[number % len(tokens)])


def model_request(url: str, model: str, key: str = "bench") -> Callable[[int], bytes]:
    """Return the same question put to a model server directly."""
    path = urlsplit(url).path + "/chat/completions"

    def make(number: int) -> bytes:
        messages = [{"role": "user", "content": question(number)}]
        return _post(url, path, {"model": model, "stream": True, "messages": messages}, key)

    return make


def question(number: int) -> str:
    """A question that nobody has asked before, of words that memories have, too: those alike find only each other."""
    return f"{sentence(_maker, _words, 8)} {number}?"


def _post(url: str, path: str, body: dict[str, Any], token: str) -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + data


async def run(
    url: str, request: Callable[[int], bytes], streams: int, *, spread: float, limit: float, tokens: int
) -> list[Stream]:
    """Start streams evenly over `spread` seconds and read each to its end, for at most `limit` seconds.

    The end of a stream is `tokens` of them, each with the stamp of the scripted model, or [DONE] if it is 0.
    """
    address = urlsplit(url)

    async def one(number: int) -> Stream:
        await asyncio.sleep(spread * number / streams)
        stream = Stream()
        try:
            async with asyncio.timeout(limit):
                await _read(address.hostname, address.port, request(number), stream, tokens)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            stream.failure = stream.failure or type(error).__name__
        return stream

    return list(await asyncio.gather(*(one(number) for number in range(streams))))


def first_token(url: str, request: Callable[[int], bytes]) -> float:
    """Make one request alone, whose answer has three tokens; return the milliseconds to the first, 10,000 for none."""
    (stream,) = asyncio.run(run(url, request, 1, spread=0, limit=30, tokens=3))
    return 10_000.0 if stream.first_token is None else stream.first_token


async def _read(host: str | None, port: int | None, request: bytes, stream: Stream, tokens: int) -> None:
    started = time.monotonic_ns()
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(request)
        status = await reader.readline()
        if b" 200 " not in status:
            stream.failure = status.decode(errors="replace").strip() or "no answer"
            return
        await reader.readuntil(b"\r\n\r\n")
        rest = b""
        expected = 0
        while chunk := await reader.read(65_536):
            arrived, wall = time.monotonic_ns(), time.time_ns()
            data = rest + chunk
            if not tokens:
                if stream.first_token is None and _WORDS.search(data):
                    stream.first_token = (arrived - started) / 1e6
                stream.finished = b"[DONE]" in data
                if stream.finished:
                    return
                rest = data[-200:]
                continue
            end = 0
            for found in _STAMP.finditer(data):
                end = found.end()
                if stream.first_token is None:
                    stream.first_token = (arrived - started) / 1e6
                if int(found[1]) == expected:
                    stream.latencies.append((wall - int(found[2])) / 1e6)
                    expected += 1
                    stream.received += 1
                elif stream.received < tokens:
                    stream.disordered += 1
            rest = data[end:][-200:]
            if stream.received >= tokens:
                stream.finished = True
                return
    finally:
        writer.close()
