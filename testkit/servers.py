"""The database and the Redis of one pytest process: given by the environment, or private ones."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from redis import Redis
from sqlalchemy import create_engine, text

from testkit.mariadb import MariaDB
from testkit.redis_server import RedisServer
from webapp.config import Settings
from webapp.redis.clients import open_redis

DATABASE = "commonplace_test"
ENOUGH_MEMORY = 4 * 1024**3
"""Bytes: twenty times what one run's servers need, as several run at a time and others use the memory, too."""


@dataclass
class Servers:
    """The servers' addresses; `mariadb` and `redis` are set only if they are ours to stop and start."""

    directory: Path
    database_url: str
    redis_url: str
    mariadb: MariaDB | None
    redis: RedisServer | None

    @property
    def is_sqlite(self) -> bool:
        """Return True if this run is on SQLite."""
        return self.database_url.startswith("sqlite")

    def flush_redis(self) -> None:
        """Empty Redis."""
        self._client.flushall()

    def redis_keys(self, *patterns: str) -> list[bytes | str]:
        """Return the keys in Redis that match any of these patterns."""
        return [key for pattern in patterns for key in self._client.keys(pattern)]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @cached_property
    def _client(self) -> Redis:
        return open_redis(self.redis_url)  # once: opening costs more than emptying, and each test empties

    def stop_database(self) -> None:
        """Shut the database server down."""
        assert self.mariadb is not None, "only a private MariaDB can be stopped"
        self.mariadb.stop()

    def start_database(self) -> None:
        """Start it again with its data; does nothing if it is running. Raises ServerFailed if it had died."""
        if self.mariadb is not None and not self.mariadb.is_running:
            self.mariadb.start()


@contextmanager
def test_servers(database: str = "", *, durable: bool = False) -> Iterator[Servers]:
    """Start, and stop afterwards, what the environment does not provide (TEST_DATABASE_URL, TEST_REDIS_URL), on SQLite
    if `database` or TEST_DB is "sqlite"."""
    directory = Path(tempfile.mkdtemp(prefix="commonplace-test-", dir=_place()))
    mariadb = redis = None
    try:
        redis_url = os.environ.get("TEST_REDIS_URL", "")
        if not redis_url:
            redis = RedisServer(directory)
            redis.start()
            redis_url = redis.url
        if (database or os.environ.get("TEST_DB")) == "sqlite":
            database_url = f"sqlite:///{directory / 'test.sqlite3'}"
        elif not (database_url := os.environ.get("TEST_DATABASE_URL", "")):
            mariadb = MariaDB(directory, durable=durable)
            mariadb.start()
            _create_database(mariadb.url("mysql"), DATABASE)
            database_url = mariadb.url(DATABASE)
        servers = Servers(directory, database_url, redis_url, mariadb, redis)
        try:
            yield servers
        finally:
            servers.close()
    finally:
        if redis is not None:
            redis.stop()
        if mariadb is not None:
            mariadb.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _place() -> str:
    """Return the folder for the servers' files: in memory if there is enough, where nothing is written to disk.

    TMPDIR is ignored: the path of a Unix socket has to be short.
    """
    in_memory = "/dev/shm"  # noqa: S108
    roomy = os.path.isdir(in_memory) and shutil.disk_usage(in_memory).free > ENOUGH_MEMORY
    return in_memory if roomy else "/tmp"  # noqa: S108


def _create_database(server_url: str, name: str) -> None:
    engine = create_engine(Settings(database_url=server_url).sqlalchemy_url)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE DATABASE {name} CHARACTER SET utf8mb4"))
    engine.dispose()
