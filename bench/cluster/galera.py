"""Three MariaDB nodes with the same data: a Galera cluster on loopback ports, with its own data directories."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from bench.cluster.health import is_synced
from testkit.processes import end, free_port, spawn, wait_until
from webapp.cli.prepare.database import data_directory_template, mariadb_program

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
JOIN_SECONDS = 180.0
RECOVERY_SECONDS = 120.0
POSITION = re.compile(r"Recovered position:? *([0-9a-f-]{36}:-?\d+)")
OPTIONS = (
    "--bind-address=127.0.0.1",
    "--wsrep-on=ON",
    f"--wsrep-provider={PROVIDER}",
    "--wsrep-cluster-name=commonplace",
    "--wsrep-sst-method=rsync",
    "--wsrep-slave-threads=2",
    "--binlog-format=ROW",
    "--innodb-autoinc-lock-mode=2",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--performance-schema=OFF",
    "--max-connections=300",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
)
# A node that does not answer keeps the others from committing until they take it for gone: 5 s by default.
PROVIDER_OPTIONS = (
    "gcache.size=64M;evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT3S;"
    "evs.inactive_timeout=PT6S;evs.install_timeout=PT6S;repl.causal_read_timeout=PT4S"
)


class Node:
    """One of the nodes. If it is started again after a kill, another one sends it what it missed, or everything."""

    def __init__(self, number: int, directory: Path) -> None:
        self.name = f"db{number}"
        self.directory = directory / self.name
        self.port, self._group, self._missed, self._all = free_port(), free_port(), free_port(), free_port()
        self.socket = self.directory / "db.sock"
        self.log = self.directory / "log"
        self.members = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address at which other nodes reach it."""
        return f"127.0.0.1:{self._group}"

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def create(self) -> None:
        """Create its empty data directory."""
        self.directory.mkdir()
        shutil.copytree(data_directory_template(), self.directory / "data", symlinks=True)
        if os.geteuid() == 0:  # rsync as root would serve as nobody
            for path in [self.directory, *self.directory.rglob("*")]:
                shutil.chown(path, "mysql", "mysql")

    def start(self, *, first: bool = False) -> None:
        """Start it: the `first` one creates the cluster, the others join it; returns once it serves."""
        position = [] if first else self._position()
        self._process = spawn([*self._command(), *(["--wsrep-new-cluster"] if first else position)], self.log)
        wait_until(self.is_synced, self.name, process=self._process, log=self.log, seconds=JOIN_SECONDS)

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.socket.unlink(missing_ok=True)

    def stop(self) -> None:
        """Shut it down cleanly."""
        end(self._process, patience=30)

    def is_synced(self) -> bool:
        """Return whether it is in sync and serves."""
        return is_synced(str(self.socket))

    def _command(self) -> list[str]:
        provider = f"{PROVIDER_OPTIONS};base_port={self._group};gmcast.listen_addr=tcp://{self.address}"
        return [
            mariadb_program("mariadbd"),
            "--no-defaults",
            *(["--user=mysql"] if os.geteuid() == 0 else []),
            f"--datadir={self.directory / 'data'}",
            f"--socket={self.socket}",
            f"--pid-file={self.directory / 'db.pid'}",
            f"--port={self.port}",
            f"--wsrep-cluster-address=gcomm://{self.members}",
            f"--wsrep-node-name={self.name}",
            f"--wsrep-node-address={self.address}",
            f"--wsrep-sst-receive-address=127.0.0.1:{self._all}",
            f"--wsrep-provider-options={provider};ist.recv_addr=127.0.0.1:{self._missed}",
            *OPTIONS,
        ]

    def _position(self) -> list[str]:
        """The position to start from, found by InnoDB as `galera_recovery` does: a killed node has not saved it."""
        said = self.directory / "recovery"
        said.unlink(missing_ok=True)
        looking = spawn([*self._command(), "--wsrep-recover"], said)
        wait_until(
            lambda: looking.poll() is not None or POSITION.search(said.read_text(errors="replace")) is not None,
            "the position that InnoDB tells",
            seconds=RECOVERY_SECONDS,
        )
        # Once it has reported, 10.11.19 may purge for ever while shutting down, and take gigabytes a minute.
        end(looking, patience=5)
        found = POSITION.findall(said.read_text(errors="replace"))
        return [f"--wsrep-start-position={found[-1]}"] if found else []


class Galera:
    """The three nodes."""

    def __init__(self, directory: Path) -> None:
        self.nodes = [Node(number, directory) for number in (1, 2, 3)]
        for node in self.nodes:
            node.members = ",".join(each.address for each in self.nodes)

    def start(self) -> None:
        """Start all, one after the other."""
        for number, node in enumerate(self.nodes):
            node.create()
            node.start(first=number == 0)

    def stop(self) -> None:
        """Kill them: nobody needs their data."""
        for node in self.nodes:
            if node._process is not None:
                node.kill()

    def is_whole(self) -> bool:
        """Return whether all nodes serve."""
        return all(node.is_synced() for node in self.nodes)
