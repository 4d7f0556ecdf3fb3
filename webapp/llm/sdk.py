"""The one place that builds clients of model servers: aiohttp's for replies, the `openai` SDK's for all other work.

Retries and timeouts are ours. The SDK is imported on first use: it costs 13 MB and half a second.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Callable
from contextlib import closing
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from .errors import MalformedOutput, MissingKey, ModelError, ModelSilent
from .process import PerProcess
from .settings import ModelSettings, is_loopback, is_own, needs_key

if TYPE_CHECKING:
    from ssl import SSLContext

    from aiohttp import ClientSession
    from httpx2 import Response, SyncByteStream, Timeout
    from openai import OpenAI


# Servers without keys still get an Authorization header from the SDK, which insists on one.
_PLACEHOLDER_KEY = "not-needed"
_HEADER_BYTES = 65_536
"""The longest header: gateways repeat parts of a request in theirs."""

interrupt_check: ContextVar[Callable[[], None] | None] = ContextVar("interrupt_check", default=None)
"""Called every CHECK_SECONDS while waiting for a server of our own; if it raises, the connection is closed, which tells
llama.cpp and Ollama to stop computing."""
CHECK_SECONDS = 0.5


def warm_up(*, streams_only: bool = False) -> None:
    """Import the clients and read the certificates, before a turn or a job waits for that."""
    for name in ("aiohttp",) if streams_only else ("aiohttp", "openai"):
        import_module(name)
    certificates()


def open_session(settings: ModelSettings) -> ClientSession:
    """Return what streams replies on one event loop, without headers: those of a session go to the proxy, too."""
    import aiohttp  # noqa: PLC0415

    base_url, _ = settings.endpoint()
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(
            ssl=certificates() if base_url.startswith("https:") else True,
            limit=settings.max_connections,
            keepalive_timeout=30.0,
        ),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=_proxy(base_url),
        max_line_size=_HEADER_BYTES,
        max_field_size=_HEADER_BYTES,
        max_headers=1_000,
    )


def stream_headers(settings: ModelSettings) -> dict[str, str]:
    """Return the headers of a request for a reply. Raises MissingKey."""
    base_url, key = _endpoint(settings, embeddings=False)
    fixed = {
        "authorization": f"Bearer {key}",
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "user-agent": "Commonplace",
    }
    if "@" in urlsplit(base_url).netloc:
        del fixed["authorization"]  # the name and the password in the address are one
    return fixed | {name.lower(): value for name, value in settings.headers}


def _proxy(base_url: str) -> str | None:
    """Return the proxy that the environment names for a server; none for one on this machine."""
    parts, proxies = urlsplit(base_url), getproxies()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if is_loopback(base_url) or proxy_bypass(f"{parts.hostname}:{port}"):  # an exception may have a port
        return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def sync_client(settings: ModelSettings, *, embeddings: bool = False) -> OpenAI:
    """Return a thread-safe client for jobs."""
    import openai  # noqa: PLC0415

    base_url, key = _endpoint(settings, embeddings=embeddings)
    http_client = openai.DefaultHttpxClient(
        timeout=timeout(settings, read=settings.request_timeout),
        event_hooks={"response": [_shorten_error]},
        follow_redirects=False,
        trust_env=not is_loopback(base_url),
        verify=certificates(),
    )
    if is_own(base_url):
        backend = cast(Any, http_client)._transport._pool._network_backend
        connect = backend.connect_tcp
        backend.connect_tcp = lambda *args, **options: _interruptible(connect(*args, **options))
    return openai.OpenAI(
        base_url=base_url,
        api_key=key,
        max_retries=0,
        http_client=http_client,
        default_headers=dict(settings.headers) or None,
    )


def _interruptible(stream: Any) -> Any:
    """Return one of the HTTP library's connections, whose reads call `interrupt_check`."""
    stream.read = partial(_read, stream.read)
    start_tls = stream.start_tls
    stream.start_tls = lambda *args, **options: _interruptible(start_tls(*args, **options))
    return stream


def _read(read: Callable[..., bytes], size: int, timeout: float | None = None) -> bytes:
    import httpcore2  # noqa: PLC0415

    check = interrupt_check.get()
    if check is None or timeout is None:
        return read(size, timeout)
    end = time.monotonic() + timeout
    while (left := end - time.monotonic()) > CHECK_SECONDS:
        try:
            return read(size, CHECK_SECONDS)
        except httpcore2.ReadTimeout:
            check()
    return read(size, max(left, 0.001))


def process_client(settings: ModelSettings, *, embeddings: bool = False) -> PerProcess[OpenAI]:
    """Return a `sync_client` of each process that calls it."""
    return PerProcess(partial(sync_client, settings, embeddings=embeddings), close=lambda client: client.close())


@cache
def certificates() -> SSLContext:
    """Return the trusted certificates, where this system has them; read once per process, since that takes 30 ms."""
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context()


def timeout(settings: ModelSettings, *, read: float | None) -> Timeout:
    """Return the HTTP library's timeout value, seconds."""
    import httpx2  # noqa: PLC0415

    return httpx2.Timeout(connect=settings.connect_timeout, read=read, write=settings.request_timeout, pool=None)


MAX_BYTES = 64 * 1024 * 1024
"""The longest answer in one piece, unpacked."""


def post(client: OpenAI, path: str, body: dict[str, Any], *, settings: ModelSettings, read: float) -> bytes:
    """POST JSON through the SDK and return the answer; raises the SDK's errors, and those of `_body`."""
    options: Any = {"timeout": timeout(settings, read=read)}
    return _body(client.post(path, body=body, options=options, **_raw_answer_options()), read)


def get(client: OpenAI, path: str, *, settings: ModelSettings, read: float) -> Any:
    """GET JSON in the same way; also raises ValueError."""
    options: Any = {"timeout": timeout(settings, read=read)}
    return json_of(_body(client.get(path, options=options, **_raw_answer_options()), read))


def _raw_answer_options() -> Any:
    import httpx2  # noqa: PLC0415

    return {"cast_to": httpx2.Response, "stream": True, "stream_cls": None}


def _body(response: Response, seconds: float) -> bytes:
    """Return what follows the headers, unless it takes too long, piece by piece, or never ends. Raises ModelError."""
    deadline, body = time.monotonic() + seconds, bytearray()
    with closing(response):
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_BYTES:
                raise MalformedOutput("The model server sent more than an answer can be.", retryable=False)
            if time.monotonic() > deadline:
                raise ModelSilent
    return bytes(body)


ERROR_BYTES = 16_384
"""What is read of an error: the SDK would read it to its end."""


def _shorten_error(response: Response) -> None:
    import httpx2  # noqa: PLC0415

    if not response.is_success:
        deadline, start = time.monotonic() + response.request.extensions["timeout"]["read"], bytearray()
        stream = cast("SyncByteStream", response.stream)
        with closing(stream):
            for chunk in stream:
                start += chunk
                if len(start) >= ERROR_BYTES or time.monotonic() > deadline:
                    break
        response.stream = httpx2.ByteStream(bytes(start[:ERROR_BYTES]))


def json_of(body: bytes) -> Any:
    """Return the decoded JSON, untyped; raises ValueError."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("the answer is nested too deep") from None


def _endpoint(settings: ModelSettings, *, embeddings: bool) -> tuple[str, str]:
    base_url, key = settings.endpoint(embeddings=embeddings)
    if not key and needs_key(base_url):
        raise MissingKey
    return base_url, key or _PLACEHOLDER_KEY


log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


def with_retries(ask: Callable[[], Answer], settings: ModelSettings) -> Answer:
    """Return the answer of a server, asked again while that may help; raises the last `ModelError`."""
    attempt = 0
    while True:
        try:
            return ask()
        except ModelError as error:
            delay = retry_delay(error, attempt, settings)
            if delay is None:
                raise
            log.info("model call failed (%s), attempt %d, next in %.1f s", error.code, attempt + 1, delay)
        attempt += 1
        time.sleep(delay)


def retry_delay(error: ModelError, attempt: int, settings: ModelSettings) -> float | None:
    """Return seconds before attempt `attempt + 1` (0 is the first), None if pointless or longer than `max_retry_wait`.

    The server's own Retry-After wins.
    """
    if not error.retryable or attempt >= settings.max_retries:
        return None
    if error.retry_after is not None:
        if error.retry_after > settings.max_retry_wait:
            return None
        return error.retry_after + random.uniform(0, 0.1) * settings.retry_base
    return float(min(settings.max_retry_wait, settings.retry_base * 2**attempt) * random.uniform(0.5, 1.0))
