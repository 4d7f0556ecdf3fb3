"""A private MariaDB server: its own data directory and socket, no port, never the machine's."""

import shutil
import subprocess
from pathlib import Path

from testkit.processes import ServerFailed, end, last_output, spawn, wait_until
from webapp.cli.launch.probe import accepts_connections
from webapp.cli.prepare.database import data_directory_template, mariadb_program, run_as

# Nothing here has to survive a power failure, and everything has to be fast.
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
    """One server in `directory`; it can be stopped and started with its data kept.

    If it is killed, the last second is lost, unless it is `durable`.
    """

    def __init__(self, directory: Path, *, durable: bool = False) -> None:
        self.directory = directory
        self._options = (*OPTIONS, *(("--innodb-flush-log-at-trx-commit=2",) if durable else ()))
        self.data = directory / "data"
        self.socket = directory / "db.sock"
        self.log = directory / "mariadb.log"
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str) -> str:
        """Return the DATABASE_URL for one database on this server."""
        return f"mysql://root@localhost/{database}?unix_socket={self.socket}"

    def start(self) -> None:
        """Start, creating the data directory first if there is none; returns once it accepts connections.

        Raises ServerFailed if it had died, with its last output: then it runs again, but that is not to be overlooked.
        """
        died = self._process is not None  # what is stopped is forgotten
        if not self.data.exists():
            shutil.copytree(data_directory_template(), self.data, symlinks=True)
        command = [
            mariadb_program("mariadbd"),
            "--no-defaults",
            *run_as(),
            f"--datadir={self.data}",
            f"--socket={self.socket}",
            f"--pid-file={self.directory / 'db.pid'}",
            *self._options,
        ]
        self._process = spawn(command, self.log)
        wait_until(lambda: accepts_connections(str(self.socket)), "MariaDB", process=self._process, log=self.log)
        if died:
            raise ServerFailed(f"MariaDB died and was started again:\n{last_output(self.log)}")

    def stop(self) -> None:
        """Shut it down cleanly; connections break, data stays."""
        end(self._process)
        self._process = None

    @property
    def pid(self) -> int | None:
        """Return the id of the process, between start and stop."""
        return self._process.pid if self._process is not None else None

    @property
    def is_running(self) -> bool:
        """Return True between start and stop."""
        return self._process is not None and self._process.poll() is None
