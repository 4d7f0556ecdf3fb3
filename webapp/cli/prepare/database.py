"""The private MariaDB of the tests: its programs, and a fresh data directory, which is also the trial of them."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

from .shell import ROOT, SetupError, find_program

TEMPLATES = ROOT / "var" / "test"


def mariadb_program(name: str) -> str:
    """Return the path of one of MariaDB's programs. Raises SetupError."""
    if path := find_program(name):
        return path
    raise SetupError(f"{name} is not installed.")


def run_as() -> list[str]:
    """MariaDB's options for who it runs as: it refuses root unless told to, and only its package makes a user mysql."""
    return ["--user=root"] if os.geteuid() == 0 else []


def data_directory_template() -> Path:
    """Return a data directory of mariadb-install-db, made once a version (4 s), to be copied. Raises SetupError."""
    server, installer = mariadb_program("mariadbd"), mariadb_program("mariadb-install-db")
    version = _run([server, "--no-defaults", "--version"])
    name = "mariadb-" + re.sub(r"[^0-9A-Za-z]+", "-", version.partition("Ver ")[2][:24])
    TEMPLATES.mkdir(parents=True, exist_ok=True)
    ready_folder, unfinished = TEMPLATES / name, TEMPLATES / f"{name}.unfinished"
    with (TEMPLATES / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready_folder.exists():
            shutil.rmtree(unfinished, ignore_errors=True)
            options = ["--no-defaults", *run_as(), f"--datadir={unfinished}"]
            _run([installer, *options, "--auth-root-authentication-method=normal", "--skip-test-db"])
            unfinished.rename(ready_folder)
    return ready_folder


def _run(command: list[str]) -> str:
    try:
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise SetupError(f"{command[0]} does not run: {error}") from error
    if result.returncode:
        raise SetupError(f"{command[0]} failed:\n{result.stdout[-1000:]}")
    return result.stdout
