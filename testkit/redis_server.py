"""A private Redis server on a Unix socket, without persistence."""

import os
import subprocess
import sys
from pathlib import Path

from testkit.processes import end, spawn, wait_until
from webapp.cli.launch.plan import redis_options
from webapp.cli.launch.probe import accepts_connections
from webapp.cli.redis_programs import newest_redis


class RedisServer:
    """One server in `directory`; stopping it loses all its data, which is the point of some tests."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = directory / "redis.sock"
        self.log = directory / "redis.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the REDIS_URL."""
        return f"unix://{self.socket}?db=0"

    @property
    def pid(self) -> int | None:
        """Return the id of the process, between start and stop."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start it; returns once it accepts connections."""
        program = newest_redis(Path(sys.prefix), os.environ.get("PATH", ""))
        assert program is not None, "there is no redis-server; make setup installs one"
        self._process = spawn([program.path, *redis_options(str(self.socket), self.directory)], self.log)
        wait_until(lambda: accepts_connections(str(self.socket)), "redis-server", process=self._process, log=self.log)

    def stop(self) -> None:
        """Stop it; its data is gone."""
        end(self._process)
        self._process = None
        self.socket.unlink(missing_ok=True)
