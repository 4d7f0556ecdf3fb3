"""The product as it really runs, on its own servers: gunicorn, Redis, MariaDB or SQLite, and the scripted model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask
from sqlalchemy import Connection, create_engine

from bench.client import Client
from testkit.processes import ROOT, descendants, end, free_port, spawn, wait_until
from testkit.servers import Servers, test_servers
from webapp import create_app
from webapp.config import Settings

MODEL = "bench-model"
LOG = "bench.log"
PYTHON = [sys.executable, "-m"]
SCRIPTED = ("fakemodel", "--scripted")


@dataclass
class Stack:
    """A running product: its URL, a token of its user, and its processes for inspection."""

    url: str
    model_url: str
    token: str
    servers: Servers
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)

    @property
    def client(self) -> Client:
        """Its user's."""
        return Client(self.url, self.token, patience=90.0)

    @property
    def application(self) -> Flask:
        """The application on its servers, in this process."""
        return create_app(Settings.from_env(self.environment))

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection to its database, by itself."""
        engine = create_engine(Settings(database_url=self.servers.database_url).sqlalchemy_url)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()

    def start(self, name: str, command: list[str]) -> None:
        """Start one of its processes; its output goes to the log."""
        self.commands[name] = command
        self.processes[name] = spawn(command, self.servers.directory / LOG, self.environment)

    def restart(self, name: str) -> None:
        """Start a process that has ended again."""
        self.start(name, self.commands[name])

    def script(self, **rule: object) -> None:
        """Tell the model server what to say from now on."""
        self._script("DELETE")
        self.script_also(**rule)

    def script_also(self, **rule: object) -> None:
        """Tell it what else to say, ahead of what it was told before."""
        self._script("POST", json.dumps(rule).encode())

    def _script(self, method: str, data: bytes | None = None) -> None:
        address = f"{self.model_url.removesuffix('/v1')}/_script"
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
        urllib.request.urlopen(request, timeout=10).read()

    def usage(self, name: str) -> tuple[float, float]:
        """CPU seconds used so far, and MB now, of a process and all below it (shared pages counted once)."""
        pids = family(self.processes[name].pid)
        ticks = os.sysconf("SC_CLK_TCK")
        cpu = sum(sum(map(int, _stat(pid)[11:15])) for pid in pids) / ticks  # of ended children too
        return cpu, sum(map(proportional, pids))

    def largest(self, name: str) -> float:
        """Resident MB of the largest process in a family."""
        return max(map(resident, family(self.processes[name].pid)))


@contextmanager
def run_stack(
    *,
    database: str,
    workers: int = 2,
    worker: bool = False,
    schedule: bool = False,
    durable: bool = False,
    model: Sequence[str] = SCRIPTED,
) -> Iterator[Stack]:
    """Start everything on `database` (sqlite or mariadb) with one user; stop it afterwards.

    `durable`: what MariaDB has committed survives its process. `model`: the module of the model server, and options.
    """
    with test_servers(database, durable=durable) as servers:
        stack = _start(servers, workers, worker, schedule, model)
        try:
            yield stack
        finally:
            for process in stack.processes.values():
                end(process, patience=5)


def _start(servers: Servers, workers: int, worker: bool, schedule: bool, model: Sequence[str]) -> Stack:
    stack = prepare_stack(servers, free_port(), model)
    stack.start("web", web_command(urlsplit(stack.url).port or 0, workers))
    if worker:
        stack.start("worker", worker_command(schedule))
    log = servers.directory / LOG
    wait_until(lambda: is_ready(stack.url), "the web", process=stack.processes["web"], log=log)
    return stack


def web_command(port: int, workers: int) -> list[str]:
    """The command for gunicorn on a port."""
    configuration = str(ROOT / "webapp/cli/gunicorn.conf.py")
    return [*PYTHON, "gunicorn", "-c", configuration, "--bind", f"127.0.0.1:{port}", "--workers", str(workers)]


def worker_command(schedule: bool) -> list[str]:
    """The command for workers on all queues."""
    return [*PYTHON, "jobs.worker", *(["--with-schedule"] if schedule else [])]


def prepare_stack(servers: Servers, port: int, model: Sequence[str] = SCRIPTED) -> Stack:
    """A stack with only its model server running, but with tables, journeys and a user with a token."""
    model_port = free_port()
    environment = {
        **os.environ,
        "ENV_FILE": "",  # not the .env of this clone, neither for us nor for Flask
        "FLASK_SKIP_DOTENV": "1",
        "VAR_DIR": str(servers.directory),
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "OPENAI_API_KEY": "bench",
        "CHAT_MODEL": MODEL,
        "EMBEDDING_MODEL": "all-minilm-l6-v2",
        "RATE_LIMITS": "false",
        "LOG_LEVEL": "WARNING",
        "SECRET_KEY": "only for benchmarks, and long enough",
    }
    stack = Stack(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{model_port}/v1", "", servers, environment)
    stack.start("model", [*PYTHON, *model, "--port", str(model_port)])
    flask = [*PYTHON, "flask", "--app", "wsgi"]
    _run([*flask, "db", "upgrade"], environment)
    _run([*flask, "journeys", "load"], environment)
    stack.token = add_person(environment, "bench@example.com")
    return stack


def add_person(environment: dict[str, str], email: str) -> str:
    """Make an account; returns a token of it."""
    flask = [*PYTHON, "flask", "--app", "wsgi"]
    _run([*flask, "user", "create", "--email", email, "--password", "a long enough password"], environment)
    return _run([*flask, "token", "create", "--email", email], environment).strip().splitlines()[-1]


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def is_ready(url: str) -> bool:
    """Return whether a web says that it can serve."""
    try:
        return bool(urllib.request.urlopen(f"{url}/readyz", timeout=2).status == 200)
    except OSError:
        return False


def family(pid: int) -> list[int]:
    """The pids of a process and all below it."""
    return [pid, *descendants(pid)]


def resident(pid: int) -> float:
    """VmRSS in MB."""
    return _field(f"/proc/{pid}/status", "VmRSS")


def proportional(pid: int) -> float:
    """PSS in MB: shared pages divided among those who share them; 0 of a process that has ended."""
    return _field(f"/proc/{pid}/smaps_rollup", "Pss")


def _field(path: str, name: str) -> float:
    with suppress(ProcessLookupError, FileNotFoundError):
        for line in Path(path).read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
