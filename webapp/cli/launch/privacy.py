"""Keeps the data on disk readable by its owner only, no matter which program created the files with which umask."""

import contextlib
import os
import stat
from pathlib import Path

OTHERS = 0o077
_KINDS = (stat.S_IFREG, stat.S_IFDIR)  # no link, and no device: root would take /dev/null from everybody
PRIVATE_FILES = ("*.sqlite3", "*.sqlite3-wal", "*.sqlite3-shm", "secret_key", "*.lock", "files", "transfer")


def keep_private(var: Path, *databases: Path) -> None:
    """Make what this process creates, and its own existing files, readable by their owner only."""
    os.umask(OTHERS)
    if not var.is_dir():
        var.mkdir(parents=True, exist_ok=True, mode=0o700)
    if is_ours(var):
        _close(var)
    for pattern in PRIVATE_FILES:
        for path in var.glob(pattern):
            _close(path)
    for database in databases:
        for suffix in ("", "-wal", "-shm"):
            _close(database.with_name(database.name + suffix))


def is_ours(folder: Path) -> bool:
    """Return whether only Commonplace uses a folder, unlike `/srv`, `/tmp`, somebody's home or a repository."""
    status, real = folder.stat(), folder.resolve()
    is_shared = bool(status.st_mode & stat.S_ISVTX) or len(real.parts) < 3 or real == Path.home()
    return status.st_uid == os.geteuid() and not is_shared and not (real / ".git").exists()


def is_open_to_others(path: Path) -> bool:
    """Return whether anybody but the owner may do anything with a file or folder."""
    with contextlib.suppress(OSError):
        return bool(path.stat().st_mode & OTHERS)
    return False


def _close(path: Path) -> None:
    with contextlib.suppress(OSError):
        mode = path.lstat().st_mode
        if mode & OTHERS and stat.S_IFMT(mode) in _KINDS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
