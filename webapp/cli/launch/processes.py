"""Linux's help for a program that starts others: death signals, subreaping, listing children, priorities."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_AUTOGROUP = Path("/proc/self/autogroup")
_AUTOGROUP_TRIES = 10
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int, death: int = signal.SIGKILL) -> Callable[[], None]:
    """Return a preexec_fn: the kernel sends the child this signal once its parent, with the given pid, is gone."""

    def before_exec() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:  # It died between the fork and the line above: no signal will come.
            os.kill(os.getpid(), death)

    return before_exec


def follow_parent() -> None:
    """Ask the kernel to signal this process once its parent is gone."""
    die_with_parent(os.getppid(), signal.SIGTERM)()


def kill_children_at_exit() -> None:
    """Ask the kernel to kill what this process forks from now on once it is gone, however it ends."""
    os.register_at_fork(after_in_child=lambda: _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0))


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, so that none can escape."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    """Pids of this process's direct children, adopted ones included."""
    pids = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children") as listing:
            pids += [int(pid) for pid in listing.read().split()]
    return pids


def signal_group(pid: int, number: int) -> None:
    """Signal a process group we created; it may already be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_all_children() -> None:
    """Kill and reap whatever is left below this process, generation by generation."""
    end = time.monotonic() + 5.0
    while (pids := children()) and time.monotonic() < end:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def lower_priority(step: int) -> None:
    """Raise the nice value of this process, its later children and, where it leads one, its session.

    Linux divides the processor between sessions first (sched_autogroup(7)), and accepts one such change per tenth of a
    second from a user.
    """
    os.nice(step)
    if os.getsid(0) != os.getpid():
        return  # A terminal's session, say, which may contain others.
    for _ in range(_AUTOGROUP_TRIES):
        try:
            _AUTOGROUP.write_text(str(step))
        except BlockingIOError:
            time.sleep(0.1)
        except OSError:
            return  # No autogroups here, or none we may change: the nice value is all there is.
        else:
            return
