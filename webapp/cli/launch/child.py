"""One child process: starting it so that it cannot outlive us, reading its output, stopping it."""

import os
import signal
import subprocess
import time
from collections import deque

from webapp.environment import ROOT

from .plan import Spec
from .processes import die_with_parent, signal_group

MAX_LINE_BYTES = 64 * 1024
MAX_RESTART_DELAY = 30.0  # Seconds between two attempts to start something that keeps failing.
HEALTHY_AFTER = 20.0  # Seconds after which an earlier failure is forgiven.


class Child:
    """A process that should be running, whether or not it is at the moment."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.start_again_at: float | None = 0.0
        self.failures = 0
        self.done = False
        self.held_back: deque[str] = deque(maxlen=30)
        self._unfinished = b""

    @property
    def is_running(self) -> bool:
        """True until the process's end has been noticed (`collect`, `forget`)."""
        return self.process is not None

    def start(self, environment: dict[str, str], pass_fds: tuple[int, ...]) -> int:
        """Start the process in its own session, out of reach of Ctrl-C; returns the descriptor of its output."""
        self.process = subprocess.Popen(
            self.spec.command,
            cwd=ROOT,
            env={**environment, **self.spec.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=pass_fds,
            preexec_fn=die_with_parent(os.getpid()),  # noqa: PLW1509 (one thread only)
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.started_at = time.monotonic()
        self.start_again_at = None
        self._unfinished = b""
        return self.process.stdout.fileno()

    def read_lines(self) -> list[str] | None:
        """Return the complete lines of output that have arrived; None once nothing can write to it any more."""
        assert self.process is not None and self.process.stdout is not None
        try:
            data = os.read(self.process.stdout.fileno(), MAX_LINE_BYTES)
        except BlockingIOError:
            return []
        if not data:
            return None
        *lines, self._unfinished = (self._unfinished + data).split(b"\n")
        if len(self._unfinished) > MAX_LINE_BYTES:
            lines, self._unfinished = [*lines, self._unfinished], b""
        return [line.decode(errors="replace") for line in lines]

    def collect(self) -> int | None:
        """Return the exit code if the process has ended (and kill strays of its group); None if it still runs."""
        if self.process is None or (code := self.process.poll()) is None:
            return None
        signal_group(self.process.pid, signal.SIGKILL)
        return code

    def forget(self) -> None:
        """Discard the state of a process that has been reaped."""
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()
        self.process = None

    def plan_restart(self) -> float:
        """Count a failure and choose when to start again: soon at first, eventually every half minute. In seconds."""
        if time.monotonic() - self.started_at > HEALTHY_AFTER:
            self.failures = 0
        self.failures += 1
        pause: float = min(0.25 * 2**self.failures, MAX_RESTART_DELAY)
        self.start_again_at = time.monotonic() + pause
        return pause

    def ask_to_end(self, number: signal.Signals) -> None:
        """Send a signal to the process itself, which stops its own children in its own way."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the process and its whole group."""
        if self.process is not None:
            signal_group(self.process.pid, signal.SIGKILL)
