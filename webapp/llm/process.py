"""The memory that this process holds, and things that every process makes for itself."""

import ctypes
import os
import resource
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def resident_megabytes() -> float:
    """Return the resident memory in MiB, including pages shared with other processes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def return_free_memory() -> None:
    """Return freed memory to the system: otherwise glibc keeps it."""
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


class PerProcess(Generic[T]):
    """Something that each process makes when it is first called for, such as a client: a fork must not share those.

    Only the process that made it closes it, at the latest when nobody refers to this any more.
    """

    def __init__(self, make: Callable[..., T], close: Callable[[T], object] = lambda _made: None) -> None:
        self._make, self._close = make, close
        self._lock = threading.Lock()
        self._made: tuple[int, T, weakref.finalize[..., PerProcess[T]]] | None = None

    def __call__(self, *given: Any) -> T:
        with self._lock:
            if self._made is None or self._made[0] != os.getpid():
                made = self._make(*given)
                end = weakref.finalize(self, _close_own, os.getpid(), made, self._close)
                end.atexit = False
                self._made = os.getpid(), made, end
            return self._made[1]

    def close(self) -> None:
        """Close what this process has made; the next call makes another."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made[2]()


def _close_own(pid: int, made: T, close: Callable[[T], object]) -> None:
    if pid == os.getpid():
        close(made)
