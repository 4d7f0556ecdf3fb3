"""Redis clients: for the one server of a URL, or for whichever server Sentinel says is the master.

    redis+sentinel://:password@host-a:26379,host-b:26379,host-c:26379/commonplace/0

names Sentinels, the master they watch, and the number of a database. User and password are for the servers;
`?sentinel_user=…&sentinel_password=…` are for the Sentinels. `rediss+sentinel://` uses TLS with both. After a failover,
each client's next connection is to the new master.
"""

from collections.abc import Mapping
from typing import Any

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.asyncio.sentinel import SentinelManagedConnection as AsyncManaged
from redis.asyncio.sentinel import SentinelManagedSSLConnection as AsyncManagedTLS
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection

from webapp.redis.urls import SentinelAddress

ASK_SECONDS = 0.5
"""How long to wait for a Sentinel before asking the next one."""


def server_of(info: Mapping[str, Any]) -> str:
    """The answering server and its version, from INFO: Valkey also reports the version of Redis it derives from."""
    return f"{info.get('server_name') or 'redis'} {info.get('valkey_version') or info['redis_version']}"


def open_redis(url: str, **options: Any) -> Redis:
    """Return a client with redis-py's options for connections; it is not connected yet."""
    address = SentinelAddress.parse(url)
    if address is None:
        return Redis.from_url(url, **options)
    options_of_sentinels = _of_sentinels(address) | {"retry": _once_more()}
    sentinels: Any = Sentinel(address.sentinels, sentinel_kwargs=options_of_sentinels)  # type: ignore[no-untyped-call]
    kind = _MasterTLS if address.tls else _Master
    client: Redis = sentinels.master_for(
        address.service, redis_class=_Following, connection_class=kind, **_of_server(address), **options
    )
    return client


def open_async_redis(url: str, **options: Any) -> AsyncRedis:
    """Return the same for asyncio."""
    address = SentinelAddress.parse(url)
    if address is None:
        return AsyncRedis.from_url(url, **options)
    sentinels: Any = AsyncSentinel(address.sentinels, sentinel_kwargs=_of_sentinels(address))  # type: ignore[no-untyped-call]
    kind = AsyncManagedTLS if address.tls else AsyncManaged
    client: AsyncRedis = sentinels.master_for(
        address.service, redis_class=_AsyncFollowing, connection_class=kind, **_of_server(address), **options
    )
    return client


class _Following(Redis):
    """Also closes its connections to the Sentinels."""

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


def _once_more() -> Retry:
    """Retry once: a connection to a Sentinel that was restarted breaks at the next command."""
    return Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))


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
