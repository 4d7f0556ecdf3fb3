"""Requests to other servers on somebody's behalf: bounded in time and size and, unless told otherwise, never inside
this network (`webapp/network/http_client.py`)."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, urljoin, urlsplit

from webapp.network.http_client import open_response
from webapp.network.outbound import (
    LOCAL_ADDRESS,
    LOST,
    TIMEOUT,
    UNKNOWN,
    AllowedHosts,
    RequestFailed,
    RequestRefused,
    check_url,
)
from webapp.tools.toolset import ToolFailed

if TYPE_CHECKING:
    from httpx2 import Response

MASK = "[key]"
SHORTEST = 8
"""Shorter keys (in characters) are left in: masking them would hit ordinary words."""
_HEADERS = ("authorization", "x-subscription-token")


def keys_in(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets in a request's headers, in every form in which they may come back; the longest first."""
    sent = [value.removeprefix("Bearer ") for name, value in headers.items() if name.lower() in _HEADERS]
    forms = {
        form for key in sent if len(key) >= SHORTEST for form in (key, quote(key), quote(key, ""), quote_plus(key))
    }
    return tuple(sorted(forms, key=len, reverse=True))


def mask(value: Any, keys: tuple[str, ...]) -> Any:
    """Return a value read from JSON, with these keys masked. Raises RecursionError for one that is too deep."""
    if not keys:
        return value
    if isinstance(value, str):
        for key in keys:
            value = value.replace(key, MASK)
        return value
    if isinstance(value, list):
        return [mask(part, keys) for part in value]
    if isinstance(value, dict):
        return {mask(name, keys): mask(part, keys) for name, part in value.items()}
    return value


AGENT = "Commonplace/1.0 (reads pages for its user)"
SILENCE_SECONDS = 15.0
MAX_BYTES = 2 * 1024**2
MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """A request to make. `is_internal` allows addresses in this network, which an admin may name."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Any = field(default=None, repr=False)
    is_internal: bool = False
    redirects: int = 0


@dataclass(frozen=True, slots=True)
class RemoteResponse:
    """The head of a response, and its body in pieces, decompressed; reading beyond MAX_BYTES raises ToolFailed."""

    url: str
    status: int
    headers: Mapping[str, str]
    pieces: AsyncGenerator[bytes, None]

    @property
    def kind(self) -> str:
        """Return the response's media type."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def whole(self) -> bytes:
        """Return the whole body."""
        data = bytearray()
        async with aclosing(self.pieces) as pieces:
            async for piece in pieces:
                data += piece
        return bytes(data)


@asynccontextmanager
async def send_request(outbound: RemoteRequest) -> AsyncIterator[RemoteResponse]:
    """Yield the response to a request, after as many redirects as it allows. Raises ToolFailed with a sentence."""
    url, host = outbound.url, _name(outbound.url)
    if not all(value.isascii() for value in outbound.headers.values()):
        raise ToolFailed(f"The token or key for {host} has characters that cannot be sent.")
    headers = {"User-Agent": AGENT, "Accept-Encoding": "gzip", **outbound.headers}
    body = None
    if outbound.body is not None:
        headers = {"Content-Type": "application/json", **headers}
        body = json.dumps(outbound.body, ensure_ascii=False).encode()
    allowed = None if outbound.is_internal else AllowedHosts()
    try:
        for left in reversed(range(outbound.redirects + 1)):
            url, host = url.partition("#")[0], _name(url)
            check_url(url)
            async with open_response(outbound.method, url, headers, body, SILENCE_SECONDS, allowed) as response:
                target = response.headers.get("location", "")
                if outbound.redirects and response.status_code in _REDIRECTS and target:
                    if not left:
                        raise ToolFailed(f"{host} redirects too many times.")
                    url, is_same_server = follow(url, target)
                    if outbound.headers and not is_same_server:  # they may have a token
                        raise ToolFailed(f"{host} redirects to another URL.")
                    continue
                yield RemoteResponse(url, response.status_code, dict(response.headers), _decompress(response))
                return
    except RequestRefused as error:
        is_inside = error.reason == LOCAL_ADDRESS
        text = f"{host} is an address inside the network. Those are not opened." if is_inside else error.reason
        raise ToolFailed(str(text)) from None
    except RequestFailed as error:
        if error.reason == UNKNOWN:
            raise ToolFailed(f"{host} is not known.") from None
        if error.reason == TIMEOUT:
            raise ToolFailed(f"{host} did not answer in time.") from None
        if error.reason == LOST:
            raise ToolFailed(f"The connection to {host} broke off.") from None
        raise ToolFailed(f"{host} could not be reached.") from None


def follow(url: str, target: str) -> tuple[str, bool]:
    """Return where a server sends whoever asks at a URL, unchecked, and whether it is the same server."""
    with suppress(ValueError):
        target = urljoin(url, target)
        return target, urlsplit(target)[:2] == urlsplit(url)[:2]
    return target, False


async def json_of(outbound: RemoteRequest) -> Any:
    """Return the JSON of a response. Raises ToolFailed if it is an error or not JSON."""
    async with send_request(outbound) as response:
        if response.status >= 300:
            raise ToolFailed(f"{_name(outbound.url)} answered with an error ({response.status}).")
        data = await response.whole()
    try:
        return mask(await asyncio.to_thread(json.loads, data), keys_in(outbound.headers))
    except (ValueError, RecursionError):
        raise ToolFailed(f"{_name(outbound.url)} answered with something that is not JSON.") from None


async def _decompress(response: Response) -> AsyncGenerator[bytes, None]:
    """Yield the body, decompressed by hand: a small compressed one may be huge."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise ToolFailed("The answer is compressed in a way that is not known here.")
    box = zlib.decompressobj(zlib.MAX_WBITS | 32) if packed not in ("", "identity") else None
    received = size = 0  # what follows the end of something compressed is received, and nothing more
    async for piece in response.aiter_raw():
        received += len(piece)
        if box is not None:
            try:
                piece = box.decompress(piece, MAX_BYTES + 1 - size)  # noqa: PLW2901
            except zlib.error:
                raise ToolFailed("The answer is broken.") from None
        size += len(piece)
        if max(received, size) > MAX_BYTES or (box is not None and box.unconsumed_tail):
            raise ToolFailed(f"The answer is larger than {MAX_BYTES // 1024**2} MB.")
        yield piece


def _name(url: str) -> str:
    """Return the host of an address, for messages: never the rest, which may contain a key."""
    try:
        return (urlsplit(url).hostname or "The URL")[:100]
    except ValueError:
        return "The URL"
