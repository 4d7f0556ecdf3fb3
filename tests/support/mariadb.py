"""A private MariaDB server: own data directory, own socket, no port, never the machine's."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

from .processes import ROOT, answers, end, find_server, spawn, wait_until

TEMPLATES = ROOT / "var" / "test"

# Nothing here has to survive a power cut, and everything has to be quick.
OPTIONS = (
    "--skip-networking",
    "--skip-log-bin",
    "--skip-slave-start",
    "--performance-schema=OFF",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-method=nosync",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--max-connections=400",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
)


class MariaDB:
    """One server in `directory`; it can be stopped and started with its data kept."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.socket = directory / "db.sock"
        self.log = directory / "mariadb.log"
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """The DATABASE_URL of one database on this server."""
        return f"mysql://root@localhost/{database}?unix_socket={self.socket}"

    def start(self) -> None:
        """Start, making the data directory first if there is none; returns once it takes connections."""
        if not self.data.exists():
            shutil.copytree(_template(), self.data, symlinks=True)
        command = [
            find_server("mariadbd"),
            "--no-defaults",
            *_as_user(),
            f"--datadir={self.data}",
            f"--socket={self.socket}",
            f"--pid-file={self.directory / 'db.pid'}",
            *OPTIONS,
        ]
        self._process = spawn(command, self.log)
        wait_until(lambda: answers(self.socket), "MariaDB", process=self._process, log=self.log)

    def stop(self) -> None:
        """Shut it down in order; connections break, data stays."""
        end(self._process)
        self._process = None

    @property
    def is_running(self) -> bool:
        """True between start and stop."""
        return self._process is not None and self._process.poll() is None


def _as_user() -> list[str]:
    # The server refuses to run as root unless told to; the user mysql exists only where the package made it.
    return ["--user=root"] if os.geteuid() == 0 else []


def _template() -> Path:
    """A data directory fresh from mariadb-install-db, made once per version (4 s) and copied from then on (0.06 s)."""
    server = find_server("mariadbd")
    version = subprocess.run([server, "--no-defaults", "--version"], capture_output=True, text=True, check=True).stdout
    name = "mariadb-" + re.sub(r"[^0-9A-Za-z]+", "-", version.partition("Ver ")[2][:24])
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    finished, unfinished = TEMPLATES / name, TEMPLATES / f"{name}.unfinished"
    with (TEMPLATES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            installer = [find_server("mariadb-install-db"), "--no-defaults", *_as_user(), f"--datadir={unfinished}"]
            installer += ["--auth-root-authentication-method=normal", "--skip-test-db"]
            subprocess.run(installer, check=True, capture_output=True)
            unfinished.rename(finished)
    return finished
