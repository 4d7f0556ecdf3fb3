"""What `make run` has started in a data folder, for commands that are run beside it: its Redis, its model."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

LOCK = "launch.lock"
"""Locked for as long as the launch lives; holds its pid, then what it gave its children, as JSON."""
_TOLD = ("REDIS_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "OFFLINE_MODEL")
_MODELS = ("CHAT_MODEL", "BACKGROUND_MODEL", "EMBEDDING_MODEL")


def tell(lock: int, settings: Mapping[str, str]) -> None:
    """Write what is running into an open lock file."""
    told = {name: settings[name] for name in (*_TOLD, *_MODELS) if name in settings}
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n{json.dumps(told)}\n".encode(), 0)


def pid_in(lock: int) -> str:
    """The pid that an open lock file names; empty if none."""
    return os.pread(lock, 20, 0).decode().partition("\n")[0].strip()


def beside_a_launch(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """The environment, and for what it leaves out, the servers of a launch that lives in the same data folder."""
    found = dict(environ)
    told = _told(root / (environ.get("VAR_DIR") or "var"))
    has_model = bool(environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL"))
    for name, value in told.items():
        if not environ.get(name) and (name == "REDIS_URL" or not has_model):
            found[name] = value
    return found


def _told(var: Path) -> dict[str, str]:
    try:
        with (var / LOCK).open("rb") as lock:
            if not _is_held(lock.fileno()):
                return {}
            _, _, told = lock.read(8_000).decode().partition("\n")
            return {name: str(value) for name, value in json.loads(told or "{}").items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _is_held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_UN)
    return False
