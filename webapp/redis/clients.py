"""Redis clients: for the one server of a URL, or for whichever server Sentinel says is the master.

redis+sentinel://:password@host-a:26379,host-b:26379,host-c:26379/commonplace/0

names Sentinels, the master they watch, and the number of a database. User and password are for the servers;
`?sentinel_user=…&sentinel_password=…` are for the Sentinels. `rediss+sentinel://` uses TLS with both.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hiredis import pack_command
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.sentinel import (
    Sentinel as AsyncSentinel,
    SentinelManagedConnection as AsyncManaged,
    SentinelManagedSSLConnection as AsyncManagedTLS,
)
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError, ResponseError, TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection

from webapp.redis.urls import SentinelAddress
from webapp.telemetry import tracing
from webapp.telemetry.metrics import REDIS, recorder

CONNECT_SECONDS = 1.0
ANSWER_SECONDS = 2.0
PAUSE_SECONDS = 1.5
"""How many seconds after a time-out Redis is assumed to be silent."""

T = TypeVar("T")


class FailFastRetry(Retry):
    """Retries when a connection broke, never when Redis was silent. Shared by all connections of a client."""

    def __init__(self) -> None:
        super().__init__(ExponentialBackoff(cap=0.2, base=0.02), 2, supported_errors=(RedisConnectionError,))
        self._silent_until = 0.0

    def __deepcopy__(self, _memo: dict[int, Any]) -> "FailFastRetry":
        return self  # each connection makes a copy, but they have to share this

    def call_with_retry(
        self,
        do: Callable[[], T],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        """Run a command, unless Redis was silent a moment ago."""
        if time.monotonic() < self._silent_until:
            raise RedisTimeoutError("Redis did not answer a moment ago")
        start = time.perf_counter()
        try:
            return super().call_with_retry(do, fail, is_retryable, with_failure_count)
        except (RedisTimeoutError, TimeoutError):
            self._silent_until = time.monotonic() + PAUSE_SECONDS
            raise
        finally:
            seconds = time.perf_counter() - start
            recorder.observe(REDIS, seconds)
            tracing.record_wait("redis", seconds, {"db.system.name": "redis"})


ASK_SECONDS = 0.5
"""How long to wait for a Sentinel before asking the next one."""


def server_of(info: Mapping[str, Any]) -> str:
    """Return the answering server and its version, from INFO; Valkey's own, not Redis's."""
    return f"{info.get('server_name') or 'redis'} {info.get('valkey_version') or info['redis_version']}"


def open_redis(url: str, **options: Any) -> Redis:
    """Return a client with redis-py's options for connections; it is not connected yet."""
    address = SentinelAddress.parse(url)
    if address is None:
        return Redis.from_url(url, **options)
    # A connection to a Sentinel that was restarted breaks at the next command.
    once = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
    options_of_sentinels = _of_sentinels(address) | {"retry": once}
    sentinels: Any = Sentinel(address.sentinels, sentinel_kwargs=options_of_sentinels)  # type: ignore[no-untyped-call]
    kind = _MasterTLS if address.tls else _Master
    client: Redis = sentinels.master_for(
        address.service, redis_class=_Following, connection_class=kind, **_of_server(address), **options
    )
    return client


def open_async_redis(url: str, **options: Any) -> AsyncRedis:
    """Return a client like that of `open_redis`, for asyncio."""
    address = SentinelAddress.parse(url)
    if address is None:
        return AsyncRedis.from_url(url, **options)
    sentinels: Any = AsyncSentinel(address.sentinels, sentinel_kwargs=_of_sentinels(address))  # type: ignore[no-untyped-call]
    kind = AsyncManagedTLS if address.tls else AsyncManaged
    client: AsyncRedis = sentinels.master_for(
        address.service, redis_class=_AsyncFollowing, connection_class=kind, **_of_server(address), **options
    )
    return client


class Wire:
    """A connection of an asyncio client's, kept: a pipeline of redis-py's costs four times the code, and a task."""

    def __init__(self, client: AsyncRedis) -> None:
        self._pool = client.connection_pool
        self._connection: Any = None

    async def send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answers to commands sent in one write, errors among them; one call at a time. Raises RedisError.

        They are sent again where the connection was no longer good.
        """
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._connection is None:
                    self._connection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
                    self._connection.socket_timeout = None  # one for all
                try:
                    return await self._exchange(commands)
                except RedisConnectionError:
                    return await self._exchange(commands)
        except TimeoutError:
            raise RedisTimeoutError("Redis did not answer in time") from None

    async def _exchange(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if not self._connection.is_connected:
            await self._connection.connect()  # finds the master, which sending does not
        await self._connection.send_packed_command(b"".join(map(pack_command, commands)))
        return [await self._answer() for _ in commands]

    async def _answer(self) -> Any:
        try:
            return await self._connection.read_response()
        except ResponseError as error:
            return error


class _Following(Redis):
    """Follows the primary that the Sentinels name, and closes the connections to them, too."""

    def close(self) -> None:
        super().close()
        self.connection_pool.sentinel_manager.close()  # type: ignore[attr-defined]  # a SentinelConnectionPool


class _AsyncFollowing(AsyncRedis):
    """The same for asyncio."""

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        await super().aclose(close_connection_pool)
        for sentinel in self.connection_pool.sentinel_manager.sentinels:  # type: ignore[attr-defined]
            await sentinel.aclose()


class _Unblocked:
    """Also drops a connection whose blocking read ends because its server is no longer the master."""

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)  # type: ignore[misc]  # that of the connection
        except ResponseError as error:
            if str(error).startswith("UNBLOCKED"):
                self.disconnect()  # type: ignore[attr-defined]  # the connection's
                raise RedisConnectionError("the server is no master any more") from error
            raise


class _Master(_Unblocked, SentinelManagedConnection):
    pass


class _MasterTLS(_Unblocked, SentinelManagedSSLConnection):
    pass


def _of_sentinels(address: SentinelAddress) -> dict[str, Any]:
    return {
        "socket_connect_timeout": ASK_SECONDS,
        "socket_timeout": ASK_SECONDS,
        "username": address.sentinel_user or None,
        "password": address.sentinel_password or None,
        "ssl": address.tls,
    }


def _of_server(address: SentinelAddress) -> dict[str, Any]:
    return {"db": address.db, "username": address.user or None, "password": address.password or None}
