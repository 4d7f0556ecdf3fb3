"""The memory that this process holds, and the return of what it does not need."""

import ctypes
import resource
from contextlib import suppress
from pathlib import Path


def resident_megabytes() -> float:
    """Return the resident memory in MiB, including pages shared with other processes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def return_free_memory() -> None:
    """Return freed memory to the system: otherwise glibc keeps it."""
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
