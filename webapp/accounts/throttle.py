"""Limits on guessing passwords: attempts are counted in Redis, by address, and by address and account together."""

import hashlib
import time
from typing import Any

from flask import Flask, current_app
from limits import RateLimitItem, parse_many
from limits.errors import StorageError
from limits.storage import MemoryStorage, storage_from_string
from limits.strategies import FixedWindowRateLimiter, RateLimiter
from redis.exceptions import RedisError

from webapp.config import ConfigError
from webapp.errors import TooMany
from webapp.extensions import Part, app_settings, network_of, redis

_shared: Part[FixedWindowRateLimiter] = Part("throttle")
ADDRESS_SHARE = 3
"""An address may make this many times the attempts allowed at one account: several people may share it. As many may
be made at a code, from all addresses together."""

# While Redis is away each process counts for itself: guessing stays bounded, and people can still sign in.
_local = FixedWindowRateLimiter(MemoryStorage())


def init_throttle(app: Flask) -> None:
    """Count with the application's own Redis client. Raises ConfigError for an invalid rate in the settings."""
    settings = app_settings.of(app)
    for name, rate in {"LOGIN_RATE": settings.login_rate, "MESSAGE_RATE": settings.message_rate}.items():
        try:
            parse_many(rate)
        except ValueError:
            raise ConfigError(f"{name}: {rate!r} is not a rate such as '10 per minute; 60 per hour'") from None
    options: dict[str, Any] = {"connection_pool": redis.of(app).connection_pool}
    storage = storage_from_string(app.config["RATELIMIT_STORAGE_URI"], **options)
    _shared.put(app, FixedWindowRateLimiter(storage))


def count_attempt(action: str, address: str, account: str, *, everywhere: bool = False) -> None:
    """Count an attempt from an address at an account. Raises TooMany, for the account alone only if `everywhere`."""
    if not current_app.config["RATELIMIT_ENABLED"]:
        return
    pair, everyone = _keys(action, address, account)
    for limit in _limits():
        _hit(limit, pair)
        _hit(_times(limit, ADDRESS_SHARE), everyone)
        if everywhere:
            _hit(_times(limit, ADDRESS_SHARE), (action, "account", pair[-1]))


def reset_attempts(action: str, address: str, account: str) -> None:
    """After a success the pair starts afresh; the address does not, or guessers could reset it by signing in."""
    if not current_app.config["RATELIMIT_ENABLED"]:
        return
    pair, _ = _keys(action, address, account)
    for limit in _limits():
        for counter in (_shared(), _local):
            try:
                counter.clear(limit, *pair)
            except (RedisError, StorageError):
                continue


def _limits() -> list[RateLimitItem]:
    return parse_many(app_settings().login_rate)


def _times(limit: RateLimitItem, factor: int) -> RateLimitItem:
    return type(limit)(limit.amount * factor, limit.multiples, limit.namespace)


def _keys(action: str, address: str, account: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    # Redis is no place for people's e-mail addresses.
    digest = hashlib.sha256(account.encode("utf-8", "replace")).hexdigest()[:32]
    network = network_of(address)
    return (action, "pair", network, digest), (action, "address", network)


def _hit(limit: RateLimitItem, key: tuple[str, ...]) -> None:
    counter: RateLimiter = _shared()
    try:
        allowed = counter.hit(limit, *key)
    except (RedisError, StorageError):
        counter = _local
        allowed = counter.hit(limit, *key)
    if not allowed:
        raise TooMany.within(max(1, round(counter.get_window_stats(limit, *key).reset_time - time.time())))
