"""Starting and stopping the servers of a test run."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 180.0  # Generous, as a machine may be busy: it only ever matters when something is broken.
PORTS = range(20_000, 32_000)
"""Below those that Linux gives to outgoing connections, of which the tests beside this one open thousands."""


class ServerFailed(RuntimeError):
    """A server of the test run ended or never answered; the message has its last output."""


def spawn(command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one, in its own session; its output is appended to `log`."""
    # setpriv, not a preexec_fn: this process has threads, and Python code between fork and exec could deadlock.
    command = ["setpriv", "--pdeathsig", "KILL", *command]
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=dict(environment) if environment is not None else None,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def wait_until(
    condition: Callable[[], bool],
    what: str,
    *,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
    seconds: float = START_SECONDS,
) -> None:
    """Check every few milliseconds until the condition holds. Raises ServerFailed if it never does."""
    end = time.monotonic() + seconds
    while not condition():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > end:
            raise ServerFailed(f"{what}: {'ended' if ended else f'not within {seconds:g} s'}\n{last_output(log)}")
        time.sleep(0.01)


def last_output(log: Path | None) -> str:
    """Return the end of a server's log; empty if there is none."""
    return log.read_text(errors="replace")[-3000:] if log is not None and log.exists() else ""


def children(pid: int) -> list[int]:
    """Return the pids of the processes that one has started and that still exist."""
    found: list[int] = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Return the pids of all processes below one that still live; call it before killing any of them."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


def end(process: subprocess.Popen[bytes] | None, patience: float = 15.0) -> None:
    """Ask a process to end and wait for it; kill it if it does not."""
    if process is None:
        return
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a loopback port that is free at the moment, and unlikely to be taken before it is used."""
    while True:
        port = secrets.choice(PORTS)  # not `random`: the parts of a test run are forks, which would all choose the same
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def is_alive(pid: int) -> bool:
    """Return False if the process is gone, or has closed everything and only waits to be reaped."""
    try:
        ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        # The first thread may have ended while others still hold the sockets open.
        return not ended or len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False
