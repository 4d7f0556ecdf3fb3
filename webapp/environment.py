"""The settings of this installation: the environment and, for what it leaves out, a running `make run` or `.env`."""

import fcntl
import json
import os
import re
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = "launch.lock"
"""Locked for as long as the launch lives; holds its pid, then its settings, as JSON."""
ENV_FILE = "ENV_FILE"
"""The setting that names another file than `.env`; if it is there and empty, none is read."""
BOOT_ERROR = 3
"""The exit code by which gunicorn, and `make run`, know that another try will not help."""
_MODEL = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OFFLINE_MODEL", "CHAT_MODEL", "BACKGROUND_MODEL", "EMBEDDING_MODEL")
_NAME = re.compile(r"(?m)^(?:# )?([A-Z][A-Z0-9_]+)=")
_LINE = re.compile(
    r"""^[ \t]* (?:export[ \t]+)? ([A-Za-z_]\w*) [ \t]*=[ \t]*
    (?: "([^"\n]*)" | '([^'\n]*)' | (?!["']) ([^\n]*?) ) [ \t]* (?: (?<=[\s=]) \#[^\n]* )? $""",
    re.VERBOSE,
)


class LaunchError(Exception):
    """Commonplace cannot be started; the text says why and what to do."""


def complete(environ: MutableMapping[str, str]) -> None:
    """Add the settings an environment leaves out. Raises LaunchError beside a launch that is not ready."""
    values = env_file(environ)
    var = ROOT / (environ.get("VAR_DIR") or values.get("VAR_DIR") or "var")
    environ["VAR_DIR"] = str(var)
    launched = _settings_of_launch(var)
    if launched and (environ.get("OPENAI_API_KEY") or environ.get("OPENAI_BASE_URL")):
        launched = {name: value for name, value in launched.items() if name not in _MODEL}
    fill(environ, values if launched is None else launched)


def env_file(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the NAME=value lines of `.env` or ENV_FILE, without comments after white space. Raises LaunchError."""
    name = environ.get(ENV_FILE, ".env")
    path = ROOT / name
    if not name or (ENV_FILE not in environ and not path.exists()):
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise LaunchError(f"{path} cannot be read: {error}") from None
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _LINE.match(line):
            values[match[1]] = match[2] or match[3] or match[4] or ""
        elif line.strip() and not line.lstrip().startswith("#"):
            raise LaunchError(f"{path}: line {number} is not NAME=value, or a quote in it is not closed.")
    return values


def fill(environ: MutableMapping[str, str], values: Mapping[str, str]) -> None:
    """Add values to an environment where it has none; an empty one counts as unset."""
    for name, value in values.items():
        if not environ.get(name):
            environ[name] = value


def record(lock: int, settings: Mapping[str, str]) -> None:
    """Write what a launch runs with into its open lock file; of other variables, only what `.env` names."""
    names = {*_NAME.findall((ROOT / ".env.example").read_text()), *env_file(settings)} if settings else set()
    values = {name: settings[name] for name in sorted(names) if settings.get(name)}
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n{json.dumps(values)}\n".encode(), 0)


def pid_in(lock: int) -> str:
    """Return the pid that an open lock file names; empty if none."""
    return os.pread(lock, 20, 0).decode(errors="replace").partition("\n")[0].strip()


def _settings_of_launch(var: Path) -> dict[str, str] | None:
    """Return what the launch that lives in a data folder runs with; None if none lives there."""
    try:
        with (var / LOCK).open("rb") as lock:
            if not _is_held(lock.fileno()):
                return None
            pid, settings = pid_in(lock.fileno()), {}
            with suppress(ValueError):
                settings = json.loads(lock.read().partition(b"\n")[2])
    except OSError:
        return None
    if not isinstance(settings, dict) or "VAR_DIR" not in settings:
        raise LaunchError(
            f"Commonplace is starting or stopping with the data in {var} (process {pid or 'unknown'}), or runs in an "
            "older version. Try again in a moment; if that does not help, stop it first."
        )
    return settings


def _is_held(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_UN)
    return False
