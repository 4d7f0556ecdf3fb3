"""Speaking to the person, running commands and asking apt, for every step of the set-up."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from webapp.cli.redis_programs import SBIN

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

# Installed servers must not start by themselves: invoke-rc.d starts nothing in runlevel 1.
APT_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}


class SetupError(Exception):
    """Set-up cannot continue; the text says what is missing and what to do."""


def say(text: str) -> None:
    """Print one line of progress at once, so that it stands before the output of the command that follows."""
    sys.stdout.write(f"setup: {text}\n")  # in one piece, for npm and pip run side by side
    sys.stdout.flush()


def run(command: Sequence[object], *, env: Mapping[str, str] | None = None) -> bool:
    """Run a command; True if it ended well. Its output is shown only if it failed."""
    try:
        result = subprocess.run(
            [str(word) for word in command],
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except FileNotFoundError:
        return False
    if result.returncode:
        sys.stdout.write(result.stdout.decode(errors="replace")[-4000:])
        sys.stdout.flush()
    return result.returncode == 0


def succeeds(command: Sequence[object]) -> bool:
    """Return whether the command exits with 0; its output is discarded. Raises KeyboardInterrupt if Ctrl-C ended it."""
    try:
        result = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, check=False)
    except OSError:
        return False
    if result.returncode == -signal.SIGINT:
        raise KeyboardInterrupt  # which only the main thread would get: no other way is tried
    return result.returncode == 0


def find_program(*names: str) -> str | None:
    """The first of these programs there is, looking in the sbin folders too, where a plain user's PATH does not."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *SBIN])
    return next((path_found for name in names if (path_found := shutil.which(name, path=path))), None)


def apt_command() -> list[str] | None:
    """Return how a command of apt begins, as root; None where there is no apt or no way to be root."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or not succeeds([*sudo, "true"]):
        return None
    settings = [f"{name}={value}" for name, value in APT_ENVIRONMENT.items()]
    return [*sudo, "env", *settings, "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]


def apt_install(packages: Sequence[str], why: str) -> bool:
    """Install Debian packages if we may; False, after saying nothing, where there is no apt or no way to be root."""
    apt = apt_command()
    if apt is None:
        return False
    say(f"installing {' '.join(packages)} ({why})")
    # MySQL's packages and MariaDB's exclude each other: nobody's server is removed for our tests.
    install = [*apt, "install", "-y", "--no-install-recommends", "--no-remove", *packages]
    if succeeds(install):
        return True
    # A fresh image has no package lists, an old one has stale ones: either way the first try fails.
    return run([*apt, "update"]) and run(install)


def digest_of(paths: Iterable[Path]) -> str:
    """Return one hash over the names and contents of these files, of which some may be missing."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.name.encode() + b"\0")
        total.update(path.read_bytes() if path.is_file() else b"absent")
    return total.hexdigest()


def is_stamped(stamp: Path, digest: str) -> bool:
    """Return whether the step that writes this stamp last succeeded with the same inputs."""
    return stamp.is_file() and stamp.read_text() == digest
