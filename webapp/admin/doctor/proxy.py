"""A check that streams reach a browser word by word, tried through the public URL.

The doctor leaves a key in Redis; `/healthz/stream`, requested with it, says what the request looked like on arrival
and then sends three lines with pauses in between. Through a proxy that buffers they arrive together.
"""

import json
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from redis import Redis

from webapp.admin.doctor.findings import Finding, fault, ok, warning
from webapp.errors import reason
from webapp.extensions import app_settings, redis

PIECES = 3
PAUSE = 0.4
_SECONDS = 60


def grant(client: Redis, key: str) -> None:
    """Allow one request for the stream with this key."""
    client.set(f"probe:{key}", b"1", ex=_SECONDS)


def use(client: Redis, key: str) -> bool:
    """Return whether the key was granted and has not been used yet."""
    return 0 < len(key) <= 100 and client.getdel(f"probe:{key}") is not None


def pieces(seen: dict[str, Any]) -> Iterator[bytes]:
    """Yield what the request looked like, then lines with pauses between them."""
    yield f"data: {json.dumps(seen)}\n\n".encode()
    for number in range(PIECES):
        time.sleep(PAUSE)
        yield f"data: {number}\n\n".encode()


SECONDS = 20.0


def proxy(url: str) -> Iterator[Finding]:
    """Yield whether what is between this URL and us lets streams through, and whether our settings match it."""
    key = secrets.token_urlsafe(24)
    grant(redis(), key)
    try:
        seen, arrived = _listen(f"{url.rstrip('/')}/healthz/stream?key={key}")
    except (urllib.error.URLError, OSError, ValueError, KeyError) as error:
        status = f"it answers {error.code}" if isinstance(error, urllib.error.HTTPError) else reason(error)
        advice = "Check the address, the certificate, and that it leads to this installation with this Redis."
        yield fault("proxy", f"{url} cannot be used ({status})", advice)
        return
    yield from _judge(url, seen, arrived)


def _judge(url: str, seen: dict[str, Any], arrived: list[float]) -> Iterator[Finding]:
    settings = app_settings()
    if len(arrived) < PIECES or arrived[-1] - arrived[0] < PAUSE * (PIECES - 1) / 2:
        advice = (
            "Switch buffering and compression of streams off (nginx: proxy_buffering off; Caddy: flush_interval -1)."
        )
        yield fault("proxy", "a stream arrives in one piece at its end", advice)
    else:
        yield ok("proxy", f"a stream through {url} arrives as it is sent")
    target = urlsplit(url)
    if seen["scheme"] != target.scheme:
        advice = "Have the proxy send X-Forwarded-Proto and set TRUSTED_PROXIES to how many proxies stand in front."
        yield fault("proxy", f"we see {seen['scheme']} where people use {target.scheme}", advice)
    if seen["host"] != target.netloc:
        advice = "Have the proxy send Host or X-Forwarded-Host, or links and sign-in lead elsewhere."
        yield fault("proxy", f"we see the host {seen['host']} where people use {target.netloc}", advice)
    if seen["forwarded"] and not settings.trusted_proxies:
        advice = "Set TRUSTED_PROXIES: everybody has the proxy's address at present, in limits and in the audit."
        yield warning("proxy", "a proxy stands in front, and none is trusted", advice)
    if settings.trusted_proxies and not seen["forwarded"]:
        advice = "Set TRUSTED_PROXIES=0, or anybody can claim any address."
        yield fault("proxy", "a proxy is trusted where none stands in front", advice)


def _listen(url: str) -> tuple[dict[str, Any], list[float]]:
    """Return what the request looked like, and when each piece arrived."""
    arrived: list[float] = []
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310  (the operator's own URL)
        seen: dict[str, Any] = json.loads(answer.readline().removeprefix(b"data: "))
        for line in answer:
            if line.startswith(b"data: "):
                arrived.append(time.monotonic())
    return seen, arrived
