"""The process that runs a worker's jobs: forked for one job, and kept for those that follow soon after.

A fresh fork compiles statements, connects, and copies pages, at five times the CPU of a short job.
"""

import json
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from webapp.background.time_slices import has_unfinished_work
from webapp.llm.process import resident_megabytes, return_free_memory
from webapp.telemetry import tracing

log = logging.getLogger(__name__)

IDLE_SECONDS = 5.0
"""How long it waits for another job: those of one turn, but not the next turn, since it holds 30 MB."""
UNFINISHED_SECONDS = 60.0
"""Its patience in the middle of work that is queued again, which another process would begin anew, each time."""
MAX_JOBS = 200
MAX_MORE_MB = 18
"""How much more memory than at its start it may hold and still be kept; after a large import or index it ends."""
UNFINISHED_WORK_MB = 200
"""How much more it may hold in the middle of work that another process would have to begin anew."""

_STAYS, _LEAVES = b"stays", b"leaves"
_MAX_BYTES = 4_096


class Order(NamedTuple):
    """A job to run: the ids of the job and of its execution, and the queue it was on."""

    job_id: str
    execution_id: str
    queue: str


class WorkHorse:
    """The worker's end of it: runs one order at a time in the process."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self._channel = channel

    @classmethod
    def fork(cls, run: Callable[[Order], bool], first: Order) -> "WorkHorse":
        """Return a process that runs `first`, then what it is given, while `run` says that more is expected."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            ours.close()
            _run_process(theirs, run, first)
        theirs.close()
        return cls(pid, ours)

    def send_order(self, order: Order) -> bool:
        """Send the process another order; False if the process has ended in the meantime."""
        with suppress(OSError):
            self._channel.sendall(json.dumps(order).encode())
            return True
        self.dismiss()
        return False

    def wait_for_order(self) -> bool | None:
        """Wait until the order is done: whether the process stays for more; None if it died, and has to be reaped."""
        with suppress(ConnectionResetError):  # it died before it had read its order
            if sent := self._channel.recv(_MAX_BYTES):
                return sent == _STAYS
        self._channel.close()
        return None

    def has_exited(self) -> bool:
        """Return whether the process has ended on its own; if so, it has been reaped."""
        with suppress(ChildProcessError):
            if os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                return False
        self._channel.close()
        return True

    def dismiss(self) -> None:
        """Let the process end, and reap it."""
        self._channel.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _run_process(channel: socket.socket, run: Callable[[Order], bool], first: Order) -> None:
    """Run orders until there are no more; never returns."""
    code = 1
    try:
        os.setpgid(0, 0)  # so that whoever kills it also kills what it has started
        limit = resident_megabytes() + MAX_MORE_MB
        order: Order | None = first
        job_count = 0
        while order is not None:
            is_one_of_several = run(order)
            job_count += 1
            goes_on = is_one_of_several and job_count < MAX_JOBS and _holds_at_most(limit)
            goes_on = goes_on or (has_unfinished_work() and _holds_at_most(limit + UNFINISHED_WORK_MB))
            channel.sendall(_STAYS if goes_on else _LEAVES)
            order = _next(channel) if goes_on else None
        code = 0
    except BaseException:  # a job's own failure has been dealt with: here running it failed
        log.exception("a process for jobs ended")
    finally:
        tracing.flush()
        os._exit(code)


def _next(channel: socket.socket) -> Order | None:
    """Return the worker's next order; None if the worker is gone, or has ordered nothing for a while."""
    channel.settimeout(UNFINISHED_SECONDS if has_unfinished_work() else IDLE_SECONDS)
    try:
        message = channel.recv(_MAX_BYTES)
    except TimeoutError:
        # From here on the worker cannot send. What it sent a moment ago can still be read.
        channel.shutdown(socket.SHUT_RD)
        message = channel.recv(_MAX_BYTES)
    channel.settimeout(None)
    return Order(*json.loads(message)) if message else None


def _holds_at_most(megabytes: float) -> bool:
    """Return whether this process holds at most so much, not counting freed memory that it has yet to give back."""
    if resident_megabytes() > megabytes:
        return_free_memory()
    return resident_megabytes() <= megabytes
