"""Requests to addresses that somebody else chose, with limits on size and time, to the very address that was checked
(`outbound.py`): a redirect is an answer. The client is the one that OpenAI's SDK brings."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from webapp.i18n.marks import say
from webapp.llm.sdk import certificates
from webapp.network.outbound import (
    LOST,
    NO_TLS,
    SILENT,
    TIMEOUT,
    UNKNOWN,
    AllowedHosts,
    RequestFailed,
    check_address,
    check_url,
    plain_host,
)

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

CONNECT_SECONDS = 5.0
MAX_ADDRESSES = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer: the status, the headers by lower-case name, and as much of the body as was asked for."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def request(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float = 10.0,
    max_bytes: int = 65_536,
    allowed: AllowedHosts | None = AllowedHosts(),  # noqa: B008  (frozen)
) -> Answer:
    """Return the answer, within `seconds`, from the address checked; with None allowed, from anywhere.

    Its body is not read if `max_bytes` is 0, and one of more bytes is a failure. Raises RequestRefused, RequestFailed.
    """
    check_url(url)
    fixed = {"User-Agent": "Commonplace", "Accept-Encoding": "identity", **(headers or {}), "Connection": "close"}

    async def ask() -> Answer:
        data = bytearray()
        async with asyncio.timeout(seconds), open_response(method, url, fixed, body, seconds, allowed) as response:
            if max_bytes == 0:
                return Answer(response.status_code, dict(response.headers), b"")
            async for piece in response.aiter_raw():
                data += piece
                if len(data) > max_bytes:
                    raise RequestFailed(say("It answered with more than %(bytes)s bytes.", bytes=f"{max_bytes:,}"))
        return Answer(response.status_code, dict(response.headers), bytes(data))

    try:
        return asyncio.run(ask())
    except TimeoutError:
        raise RequestFailed(TIMEOUT) from None


@asynccontextmanager
async def open_response(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, silence: float, allowed: AllowedHosts | None
) -> AsyncIterator[Response]:
    """Yield the response to a request as it comes, from the address checked; with None allowed, from anywhere.

    The server may be silent for so many seconds. Raises RequestRefused, RequestFailed.
    """
    import httpx2  # noqa: PLC0415 - for whoever asks others

    timeout = httpx2.Timeout(silence, connect=min(silence, CONNECT_SECONDS))
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=0)
    tls = await asyncio.to_thread(certificates)
    try:
        async with httpx2.AsyncClient(verify=tls, trust_env=False, timeout=timeout, limits=limits) as client:
            *others, last = await _addresses(url, allowed)
            for address in others:
                with suppress(httpx2.ConnectError, httpx2.ConnectTimeout):
                    response = await _send(client, method, url, headers, body, address)
                    break
            else:
                response = await _send(client, method, url, headers, body, last)
            async with aclosing(response):
                yield response
    except httpx2.TimeoutException:
        raise RequestFailed(TIMEOUT) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise RequestFailed(describe_error(error)) from None


async def _send(
    client: AsyncClient, method: str, url: str, headers: Mapping[str, str], body: bytes | None, address: str
) -> Response:
    """Return the head of a response from an address, asked by the name of the URL's host."""
    import httpx2  # noqa: PLC0415 - as above

    named = httpx2.URL(url)
    headers = {**headers, "Host": named.netloc.decode()}
    extensions = {"sni_hostname": named.raw_host.decode()}
    target = named.copy_with(host=address)
    request = client.build_request(method, target, headers=headers, content=body, extensions=extensions)
    return await client.send(request, stream=True)


async def _addresses(url: str, allowed: AllowedHosts | None) -> list[str]:
    """Return addresses of a URL's host. Raises RequestRefused if any is not allowed, RequestFailed without any."""
    parts = urlsplit(url)
    host = (parts.hostname or "").partition("%")[0]
    try:
        addresses = await resolve(host, parts.port or (443 if parts.scheme == "https" else 80))
    except (OSError, UnicodeError):
        addresses = []
    if not addresses:
        raise RequestFailed(UNKNOWN)
    if allowed is not None and plain_host(host) not in allowed.hosts:
        for address in addresses:
            check_address(address, allowed)
    return addresses[:MAX_ADDRESSES]


async def resolve(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host, which may be one. Raises OSError, UnicodeError."""
    with suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    lookup = ThreadPoolExecutor(1)  # its own: a loop waits at its end for the threads of the one it has
    try:
        rows = await asyncio.get_running_loop().run_in_executor(
            lookup, socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM
        )
    finally:
        lookup.shutdown(wait=False)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def describe_error(error: BaseException | None) -> str:
    """Return why a connection failed, from its error and what that came from."""
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return NO_TLS
        if isinstance(error, ConnectionRefusedError):
            return SILENT
        error = error.__cause__ or error.__context__
    return LOST
