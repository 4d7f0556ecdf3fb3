"""Private Redis servers that replicate one of them, and Sentinels that promote another one when the master is gone."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from testkit.processes import end, free_port, spawn, wait_until
from webapp.cli.redis_programs import newest_redis

SERVICE = "commonplace"
OPTIONS = """\
bind 127.0.0.1
dir {directory}
save ""
appendonly no
maxmemory-policy noeviction
repl-diskless-sync yes
repl-diskless-sync-delay 0
"""
WATCH = """\
bind 127.0.0.1
port {port}
dir {directory}
sentinel monitor {service} 127.0.0.1 {master} {quorum}
sentinel down-after-milliseconds {service} {patience}
sentinel failover-timeout {service} 3000
sentinel parallel-syncs {service} 2
"""


class RedisGroup:
    """`servers` Redis servers, the first one the master, and `sentinels` that watch them, on loopback ports."""

    def __init__(self, directory: Path, *, servers: int = 2, sentinels: int = 1, patience_ms: int) -> None:
        self.directory = directory
        self.ports = [free_port() for _ in range(servers)]
        self.sentinel_ports = [free_port() for _ in range(sentinels)]
        self.log = directory / "redis.log"
        self._patience = patience_ms
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """Return the REDIS_URL."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.sentinel_ports)}/{SERVICE}/0"

    @property
    def master(self) -> int:
        """Return the port of the master according to the first Sentinel that answers. Raises RedisError."""
        for port in self.sentinel_ports:
            with suppress(RedisError), _client(port) as client:
                return int(client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)[1])
        raise RedisError("no Sentinel answers")

    def start(self) -> None:
        """Start all of them; returns once a fail-over would work."""
        for number, port in enumerate(self.ports):
            copies = f"replicaof 127.0.0.1 {self.ports[0]}\n" if number else ""
            self._configure(port, f"port {port}\n{OPTIONS}{copies}".format(directory=self.directory))
            self.start_one(port)
        quorum = len(self.sentinel_ports) // 2 + 1
        for port in self.sentinel_ports:
            place = self.directory / f"sentinel-{port}"
            place.mkdir(exist_ok=True)
            self._configure(
                port,
                WATCH.format(
                    port=port,
                    directory=place,
                    service=SERVICE,
                    master=self.ports[0],
                    quorum=quorum,
                    patience=self._patience,
                ),
            )
            self.start_one(port)
        wait_until(self.is_whole, "Sentinel", log=self.log)

    def start_one(self, port: int) -> None:
        """Start a server or a Sentinel again, with its last configuration; returns once it answers."""
        program = newest_redis(Path(sys.prefix), os.environ.get("PATH", ""))
        assert program is not None, "there is no redis-server; make setup installs one"
        mode = ["--sentinel"] if port in self.sentinel_ports else []
        command = [program.path, str(self._file(port)), *mode]
        self._processes[port] = spawn(command, self.log)
        wait_until(lambda: _answers(port), "redis-server", process=self._processes[port], log=self.log)

    def is_whole(self) -> bool:
        """Return whether every Sentinel sees every server and every other Sentinel as healthy."""
        try:
            return all(self._sees_all_servers(port) for port in self.sentinel_ports)
        except RedisError:
            return False

    def pid(self, port: int) -> int:
        """Return the pid of the process on a port."""
        return self._processes[port].pid

    def kill(self, port: int) -> None:
        """Kill a server or a Sentinel with SIGKILL; a server's data is gone."""
        self._processes[port].kill()
        self._processes[port].wait()

    def fail_over(self) -> None:
        """Kill the master and have a Sentinel fail over without waiting; return once there is a new one."""
        old = self.master
        self.kill(old)

        def is_over() -> bool:
            if self.master == old:
                with suppress(ResponseError), _client(self.sentinel_ports[0]) as client:  # it is about it already
                    client.execute_command("SENTINEL", "FAILOVER", SERVICE)
                return False
            with suppress(RedisError), _client(self.master) as client:
                return bool(client.role()[0] == "master")
            return False

        wait_until(is_over, "another master", log=self.log)

    def stop(self) -> None:
        """Stop all of them."""
        for process in self._processes.values():
            process.kill()
            end(process)

    def _sees_all_servers(self, port: int) -> bool:
        with _client(port) as client:
            master: Any = client.sentinel_master(SERVICE)
            copies: Any = client.sentinel_slaves(SERVICE)
        return (
            not master["is_sdown"]
            and int(master["num-other-sentinels"]) == len(self.sentinel_ports) - 1
            and len(copies) == len(self.ports) - 1
            and all(each["master-link-status"] == "ok" and not each["is_sdown"] for each in copies)
        )

    def _file(self, port: int) -> Path:
        return self.directory / f"redis-{port}.conf"

    def _configure(self, port: int, text: str) -> None:
        self._file(port).write_text(text)


def _client(port: int) -> Redis:
    return Redis(port=port, socket_timeout=1, socket_connect_timeout=1, decode_responses=True)


def _answers(port: int) -> bool:
    try:
        with _client(port) as client:
            return bool(client.ping())
    except RedisError:
        return False
