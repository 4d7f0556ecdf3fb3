"""What Linux offers whoever starts processes: death signals, subreaping, a look at the children, a priority."""

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
    """A preexec_fn: the kernel sends the child this signal once its parent, whose pid is given, is gone."""

    def before_exec() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:  # It died between the fork and the line above: no signal will come.
            os.kill(os.getpid(), death)

    return before_exec


def follow_parent(death: int = signal.SIGTERM) -> None:
    """Have this process itself signalled once whoever started it is gone."""
    die_with_parent(os.getppid(), death)()


def take_forks_along() -> None:
    """Have the kernel kill whatever this process forks from now on once it is gone itself, however it ended."""
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
    """Signal a process group we made; that it is gone already is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_all_children(patience: float = 5.0) -> None:
    """Kill and reap whatever is left below this process, generation by generation."""
    end = time.monotonic() + patience
    while (pids := children()) and time.monotonic() < end:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def lower_priority(by: int) -> None:
    """Make this process and all that comes of it as much nicer to the others.

    Where Linux shares out a processor between sessions first (sched_autogroup(7), the default of Debian and Ubuntu), a
    nice value counts within its session alone, and the launcher gives each program one of its own: that is made nicer
    too, if it is this process's. Of users that are not root the kernel takes one such change in a tenth of a second.
    """
    os.nice(by)
    if os.getsid(0) != os.getpid():
        return  # A terminal's session, which may hold others.
    for _ in range(_AUTOGROUP_TRIES):
        try:
            _AUTOGROUP.write_text(str(by))
        except BlockingIOError:
            time.sleep(0.1)
        except OSError:
            return  # No such sharing here, or none that may be changed: the nice value is all there is.
        else:
            return
