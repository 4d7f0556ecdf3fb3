"""Requests to other servers on somebody's behalf: bounded in time and size and, unless told otherwise, never inside
this network. The address that was checked is the one that is connected to."""

import asyncio
import json
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote, quote_plus, urljoin, urlsplit

from webapp.network.outbound import is_public
from webapp.tools.toolset import ToolFailed
from webapp.tools.urls import UrlRejected, check_url, is_address

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
CONNECT_SECONDS = 5.0
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
        """Return its media type."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def whole(self) -> bytes:
        """Return all of it."""
        data = bytearray()
        async with aclosing(self.pieces) as pieces:
            async for piece in pieces:
                data += piece
        return bytes(data)


@asynccontextmanager
async def send_request(outbound: RemoteRequest) -> AsyncIterator[RemoteResponse]:
    """Yield the response to a request, after as many redirects as it allows. Raises ToolFailed with a sentence."""
    import httpx2  # noqa: PLC0415 - for whoever uses such a tool

    tls = await asyncio.to_thread(_tls)
    timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=0)
    url, host = outbound.url, _name(outbound.url)
    try:
        async with httpx2.AsyncClient(verify=tls, trust_env=False, timeout=timeout, limits=limits) as client:
            for left in reversed(range(outbound.redirects + 1)):
                url, host = check_url(url), _name(url)
                ip_address = None if outbound.is_internal else await _place(url)
                http_request = _request(client, outbound, url, ip_address)
                async with _close_at_end(await client.send(http_request, stream=True)) as response:
                    target = response.headers.get("location", "")
                    if outbound.redirects and response.status_code in _REDIRECTS and target:
                        if not left:
                            raise ToolFailed(f"{host} redirects too many times.")
                        target = urljoin(url, target)
                        if outbound.headers and urlsplit(target)[:2] != urlsplit(url)[:2]:  # they may have a token
                            raise ToolFailed(f"{host} redirects to another address.")
                        url = target
                        continue
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    yield RemoteResponse(url, response.status_code, headers, _decompress(response, headers))
                    return
    except UrlRejected as error:
        raise ToolFailed(str(error)) from None
    except httpx2.TimeoutException:
        raise ToolFailed(f"{host} did not answer in time.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ssl.SSLError):
        raise ToolFailed(f"{host} could not be reached.") from None


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


@cache
def _tls() -> ssl.SSLContext:
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()


@asynccontextmanager
async def _close_at_end(response: Any) -> AsyncIterator[Any]:
    try:
        yield response
    finally:
        await response.aclose()


async def _place(url: str) -> str:
    """Return the address to connect to. Raises ToolFailed if any of the host's is not on the open internet."""
    parts = urlsplit(url)
    host = (parts.hostname or "").partition("%")[0]
    try:
        name = host if ":" in host else host.encode("idna").decode()
        addresses = (
            [host] if is_address(host) else await resolve(name, parts.port or (443 if parts.scheme == "https" else 80))
        )
    except (OSError, UnicodeError):
        raise ToolFailed(f"{_name(url)} is not known.") from None
    if not addresses or not all(map(is_public, addresses)):
        raise ToolFailed(f"{_name(url)} is an address inside the network. Those are not opened.")
    return addresses[0]


async def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host. Raises OSError."""
    rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def _request(client: Any, outbound: RemoteRequest, url: str, ip_address: str | None) -> Any:
    """Return the request, to `ip_address` if given. Raises ToolFailed for a header that cannot be sent."""
    import httpx2  # noqa: PLC0415 - as above

    if not all(value.isascii() for value in outbound.headers.values()):
        raise ToolFailed(f"The token or key for {_name(outbound.url)} has characters that cannot be sent.")
    target = httpx2.URL(url)
    headers = {"User-Agent": AGENT, "Accept-Encoding": "gzip", **outbound.headers}
    extensions: dict[str, Any] = {}
    if ip_address is not None:
        headers["Host"] = target.netloc.decode()
        extensions = {"sni_hostname": target.raw_host.decode()}
        target = target.copy_with(host=ip_address)
    body = {} if outbound.body is None else {"json": outbound.body}
    return client.build_request(outbound.method, target, headers=headers, extensions=extensions, **body)


async def _decompress(response: Any, headers: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
    """Yield the body, decompressed by hand: a small compressed one may be huge."""
    packed = headers.get("content-encoding", "identity").strip().lower()
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
        return (urlsplit(url).hostname or "The address")[:100]
    except ValueError:
        return "The address"
