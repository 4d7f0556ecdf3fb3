"""The product on its hosts: the databases, the Redis servers, the webs and workers, and the proxy in front."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import MySQLdb

from bench.cluster import proxy
from bench.cluster.galera import PROVIDER, Galera, Node
from bench.stack import LOG, Stack, is_ready, prepare_stack, web_command, worker_command
from testkit.processes import end, free_port, spawn, wait_until
from testkit.sentinel import RedisGroup
from testkit.servers import DATABASE, Servers

MODEL = ("bench.chaos.model",)
HOSTS = (1, 2)
"""The hosts with a web and a worker."""
NEEDED = {"mariadb-server": "/usr/bin/wsrep_sst_rsync", "galera-4": str(PROVIDER), "haproxy": "/usr/sbin/haproxy"}
DOWN_MS = 1_500
"""How long a Redis may be silent before its Sentinels consider it down."""


@dataclass(kw_only=True)
class ClusterStack(Stack):
    """A stack whose `url`, database and Redis are those of a cluster."""

    galera: Galera
    redis: RedisGroup
    ports: tuple[int, ...]

    def writer(self) -> Node:
        """The node that everybody writes to at the moment. Raises MySQLdb.Error."""
        with MySQLdb.connect(host="127.0.0.1", port=self.servers_port, user="root", connect_timeout=2) as connection:
            cursor = connection.cursor()
            cursor.execute("SELECT @@wsrep_node_name")
            name = cursor.fetchone()[0]
        return next(node for node in self.galera.nodes if node.name == name)

    @property
    def servers_port(self) -> int:
        """The proxy's port for the database."""
        return int(self.servers.database_url.rpartition(":")[2].partition("/")[0])

    def is_whole(self) -> bool:
        """Return whether every part of every host is running again."""
        return self.galera.is_whole() and self.redis.is_whole() and all(map(is_ready, self.addresses))

    @property
    def addresses(self) -> list[str]:
        """The URLs of the webs, bypassing the proxy."""
        return [f"http://127.0.0.1:{port}" for port in self.ports]


@contextmanager
def cluster() -> Iterator[ClusterStack]:
    """Start all of it with one user; stop it afterwards. Raises RuntimeError if a package is missing."""
    if missing := [package for package, path in NEEDED.items() if not Path(path).exists()]:
        raise RuntimeError(f"apt-get install {' '.join(missing)} rsync")
    directory = Path(tempfile.mkdtemp(prefix="commonplace-cluster-", dir="/tmp"))  # noqa: S108
    directory.chmod(0o711)  # MariaDB, which does not run as root, has to pass through; VAR_DIR is closed to others
    var = directory / "var"
    var.mkdir()
    galera = Galera(directory)
    redis = RedisGroup(directory, servers=3, sentinels=3, patience_ms=DOWN_MS)
    helpers, stack = [], None
    try:
        galera.start()
        redis.start()
        health = [free_port() for _ in galera.nodes]
        pairs = [f"{port}={node.socket}" for port, node in zip(health, galera.nodes, strict=True)]
        helpers.append(spawn([sys.executable, "-m", "bench.cluster.health", *pairs], var / LOG))
        ports, front, database = [free_port() for _ in HOSTS], free_port(), free_port()
        nodes = [(node.port, port) for node, port in zip(galera.nodes, health, strict=True)]
        proxy.write(directory / "haproxy.cfg", (front, ports), (database, nodes))
        _make_database(galera)
        url = f"mysql://root@127.0.0.1:{database}/{DATABASE}"
        haproxy = [NEEDED["haproxy"], "-db", "-f", str(directory / "haproxy.cfg")]
        helpers.append(spawn(haproxy, var / LOG))
        wait_until(lambda: _connects(database), "the proxy", log=var / LOG)
        plain = prepare_stack(Servers(var, url, redis.url, None, None), front, MODEL)
        stack = ClusterStack(**vars(plain), galera=galera, redis=redis, ports=tuple(ports))
        stack.processes["proxy"], stack.commands["proxy"] = helpers.pop(), haproxy
        for host, port in zip(HOSTS, ports, strict=True):
            stack.start(f"web{host}", web_command(port, 1))
            stack.start(f"worker{host}", worker_command(True))
        wait_until(stack.is_whole, "the cluster", log=var / LOG, seconds=180)
        wait_until(lambda: is_ready(stack.url), "the proxy's web", log=var / LOG)
        yield stack
    finally:
        for process in [*(stack.processes.values() if stack else ()), *helpers]:
            end(process, patience=5)
        redis.stop()
        galera.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _make_database(galera: Galera) -> None:
    with MySQLdb.connect(unix_socket=str(galera.nodes[0].socket), user="root") as connection:
        cursor = connection.cursor()
        cursor.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        cursor.execute("CREATE USER IF NOT EXISTS root@'127.0.0.1'")
        cursor.execute("GRANT ALL ON *.* TO root@'127.0.0.1'")


def _connects(port: int) -> bool:
    with suppress(MySQLdb.Error):
        MySQLdb.connect(host="127.0.0.1", port=port, user="root", connect_timeout=2).close()
        return True
    return False
