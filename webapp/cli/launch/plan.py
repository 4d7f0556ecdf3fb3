"""The processes to run on this machine: settings in, child processes out. Dataclasses or tempfile would take 2 MB."""

import errno
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from webapp.cli.redis_programs import newest_redis
from webapp.environment import ROOT, LaunchError

TOUR_MODEL = "screen-tour"  # its server is not imported here, to stay small
MAX_SOCKET_PATH = 100  # The kernel takes 107 bytes.
_PUNCTUATION = str.maketrans("", "", "/._-+")


class Spec(NamedTuple):
    """One child process: the command that starts it, what must be running first, and how it is stopped."""

    name: str
    command: list[str]
    environment: Mapping[str, str] = MappingProxyType({})
    order: int = 1  # Groups are stopped in this order: 0 the web, 1 jobs, 2 what those two depend on.
    patience: float = 10.0  # Seconds between being asked to stop and being killed.
    needs: tuple[str, ...] = ()
    awaits: str = ""  # What it waits for by itself once it is loaded, until the pipe START_FD is closed.
    once: bool = False  # Runs to its end, as a migration does; not started again.
    quiet: bool = False  # Its output is shown only if it ends unexpectedly.


class Plan(NamedTuple):
    """Everything to start, and where it will be found."""

    specs: list[Spec]
    environment: dict[str, str]
    url: str
    listener: socket.socket
    redis_socket: str | None
    notes: list[str]


def open_port(host: str, port: int) -> socket.socket:
    """Listen on the address of the web, where visitors wait during restarts. Raises LaunchError for a bad port."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(4096)
    except OSError as error:
        listener.close()
        if isinstance(error, PermissionError):
            raise LaunchError(f"Port {port} is for root only. Choose another: make run PORT=8000") from None
        if error.errno != errno.EADDRINUSE:
            raise LaunchError(
                f"{host} cannot be listened on ({error.strerror}). "
                "Name an address of this machine: make run HOST=127.0.0.1"
            ) from None
        raise LaunchError(
            f"Port {port} on {host} is not available ({error.strerror}). "
            f"Stop what is using it, or choose another: make run PORT={port + 1 if port < 65535 else 8000}"
        ) from None
    return listener


def free_port() -> int:
    """Return a loopback port that is free at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def whole_number(environ: Mapping[str, str], name: str, default: int, least: int, maximum: int) -> int:
    """Return a setting that is a whole number within bounds. Raises LaunchError, which names it."""
    text = environ.get(name) or str(default)
    if not text.isdigit() or not least <= int(text) <= maximum:
        raise LaunchError(f"{name} must be a whole number from {least} to {maximum}, not {text!r}.")
    return int(text)


def make_plan(environ: Mapping[str, str], var: Path) -> Plan:
    """Decide what to start: a Redis and the screen tour only where the environment names none."""
    host = environ.get("HOST") or "127.0.0.1"
    port = whole_number(environ, "PORT", 8000, 0, 65_535)
    # A second one answers more people at once, and takes 200 MB; SQLite has one writer at a time in any case.
    web_processes = whole_number(environ, "WEB_CONCURRENCY", 2 if environ.get("DATABASE_URL") else 1, 1, 64)
    workers = whole_number(environ, "WORKERS", 1, 1, 64)
    listener = open_port(host, port)
    port = listener.getsockname()[1]
    hostname = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::", "::1") else f"[{host}]" if ":" in host else host  # noqa: S104

    settings = {"VAR_DIR": str(var), "LOG_FORMAT": environ.get("LOG_FORMAT") or "text", "MALLOC_ARENA_MAX": "2"}
    settings["WEB_CONCURRENCY"] = str(web_processes)
    settings["FLASK_SKIP_DOTENV"] = "1"  # .env has been read; Flask would print that it needs a package for that
    specs: list[Spec] = []
    notes: list[str] = []

    redis_socket = None
    if not environ.get("REDIS_URL"):
        redis_socket = _socket_path(var, "redis.sock")
        settings["REDIS_URL"] = f"unix://{redis_socket}"
        if (server := newest_redis(Path(sys.prefix), environ.get("PATH", ""))) is None:
            raise LaunchError("redis-server is missing. Run make run, which installs one, or set REDIS_URL.")
        notes.append(f"No REDIS_URL: {server.name} {server.number} runs, from {server.path}.")
        specs.append(Spec("redis", [server.path, *redis_options(redis_socket, var)], order=2, quiet=True))
    if not environ.get("OPENAI_API_KEY") and not environ.get("OPENAI_BASE_URL"):
        model_port = free_port()
        settings |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1", "OPENAI_API_KEY": "none"}
        settings |= {"OFFLINE_MODEL": "1", "CHAT_MODEL": TOUR_MODEL, "BACKGROUND_MODEL": TOUR_MODEL}
        command = [sys.executable, "-m", "webapp.tour.server", "--port", str(model_port)]
        specs.append(Spec("model", command, order=2, patience=3))
        notes.append("No OPENAI_API_KEY: a screen tour answers until you connect a language model at /admin/models.")
    # One process holds the packaged embedding model for all others, once any of them needs it.
    settings["EMBEDDER_SOCKET"] = _socket_path(var, "embedder.sock")
    command = [sys.executable, "-m", "webapp.llm.embedding_server", settings["EMBEDDER_SOCKET"]]
    specs.append(Spec("embedder", command, order=2, patience=3))
    if not environ.get("DATABASE_URL"):
        notes.append(f"No DATABASE_URL: data is kept with SQLite in {var}.")

    python = [sys.executable, "-m"]
    store = ("redis",) if redis_socket else ()
    # Each loads the whole application; people waiting at their browsers come first.
    after_web = ("migrate", *store, "web")
    gunicorn = [*python, "gunicorn", "-c", str(ROOT / "webapp/cli/gunicorn.conf.py")]
    bind = ["--bind", f"fd://{listener.fileno()}"]
    specs += [
        Spec("migrate", [*python, "flask", "--app", "wsgi", "prepare"], once=True),
        Spec("web", [*gunicorn, *bind], order=0, patience=30, needs=store, awaits="migrate"),
        *(
            Spec(
                f"worker{number}" if workers > 1 else "worker",
                [*python, "jobs.worker", *(["--with-schedule"] if number == 1 else [])],
                needs=after_web,
            )
            for number in range(1, workers + 1)
        ),
    ]
    return Plan(specs, settings, f"http://{hostname}:{port}", listener, redis_socket, notes)


def _socket_path(var: Path, name: str) -> str:
    path = str(var / name)
    # redis-py cannot read the CLIENT INFO of a path with a space or "=", nor a URL with one that has "?" or "#".
    is_plain = path.isascii() and path.translate(_PUNCTUATION).isalnum()
    if len(path) > MAX_SOCKET_PATH or not is_plain:
        import tempfile  # noqa: PLC0415

        path = str(Path(tempfile.mkdtemp(prefix="commonplace-")) / name)
    return path


def redis_options(path: str, var: Path) -> list[str]:
    """Options of a redis-server that listens on this Unix socket only and writes nothing to disk."""
    options = {"port": "0", "unixsocket": path, "unixsocketperm": "700", "save": "", "appendonly": "no"}
    options |= {"dir": str(var), "loglevel": "warning", "daemonize": "no"}
    return [word for name, value in options.items() for word in (f"--{name}", value)]
