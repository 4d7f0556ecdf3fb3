"""The extensions of the application, created here and bound in create_app()."""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Any, Generic, TypeVar, cast

from flask import Flask, current_app, request
from flask_limiter import Limiter
from flask_login import LoginManager
from flask_wtf.csrf import CSRFProtect
from htmx_flask import Htmx
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from webapp.config import Settings
from webapp.redis.clients import ANSWER_SECONDS, CONNECT_SECONDS, FailFastRetry, open_redis

T = TypeVar("T")

TAIL_SECONDS = 5.0

login = LoginManager()
csrf = CSRFProtect()
htmx = Htmx()


def network_of(address: str) -> str:
    """Return an IPv4 address, also written as IPv6; of another IPv6 address the network, which is one household's."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return str(ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)


limiter = Limiter(
    key_func=lambda: network_of(request.remote_addr or ""), headers_enabled=True, in_memory_fallback_enabled=True
)


def redis_options() -> dict[str, Any]:
    """Return the time-outs of a client for short commands, whose connections begin with few round trips."""
    return {
        "driver_info": None,  # saying who we are would take two more
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": ANSWER_SECONDS,
        "health_check_interval": 30,
        "retry": FailFastRetry(),
    }


def make_redis(url: str, *, tailing: bool = False) -> Redis:
    """Return a client for short commands or, when `tailing`, for blocking reads of less than TAIL_SECONDS.

    Without a limit, clients would wait for a server whose machine vanished, although another is the master.
    """
    options = redis_options()
    if tailing:
        options |= {"socket_timeout": TAIL_SECONDS, "retry": Retry(ExponentialBackoff(cap=0.2, base=0.02), retries=2)}
    return open_redis(url, max_connections=1_000, **options)


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """Something each application has one of, under a name in `app.extensions`, with its type."""

    name: str

    def put(self, app: Flask, value: T) -> T:
        """Set the part of an application."""
        app.extensions[self.name] = value
        return value

    def of(self, app: Flask) -> T:
        """Return the value for this application."""
        return cast(T, app.extensions[self.name])

    def __call__(self) -> T:
        return self.of(current_app)


def this_app() -> Flask:
    """Return the current application itself, for code that continues without its context."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # the proxy is typed as a Flask
    return app


app_settings: Part[Settings] = Part("settings")
# The process's shared Redis client (decoding is the caller's business: values are bytes).
redis: Part[Redis] = Part("redis")
