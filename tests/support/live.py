"""The application as it really runs: gunicorn and an RQ worker as processes that a test may kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from typing import ClassVar

from testkit.processes import ROOT, ServerFailed, children, descendants, end, free_port, is_alive, spawn, wait_until
from testkit.servers import Servers
from webapp.config import Settings


class Fork:
    """A process that forks.py has forked for us, with what is used of `subprocess.Popen`."""

    def __init__(self, place: str, task: dict[str, object]) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            wait_until(lambda: connection.connect_ex(place) == 0, "the process to fork from")
            connection.sendall(json.dumps(task).encode() + b"\n")
            self.pid = int(connection.makefile().readline())

    def poll(self) -> int | None:
        """None while it runs."""
        return None if is_alive(self.pid) else 0

    def wait(self, seconds: float = 60.0) -> None:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        try:
            wait_until(lambda: not is_alive(self.pid), "its end", seconds=seconds)
        except ServerFailed as error:
            raise subprocess.TimeoutExpired(str(self.pid), seconds) from error

    def terminate(self) -> None:
        """Ask it to end."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGKILL)


class LiveServer:
    """A web and a worker on the servers of the test run; `url` stays the same over restarts."""

    _running: ClassVar[list[LiveServer]] = []

    def __init__(self, servers: Servers, settings: Settings) -> None:
        self.servers = servers
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = servers.directory / "live.log"
        self._environment = as_environment(settings)
        self._overrides: dict[str, str] = {}
        self._processes: dict[str, subprocess.Popen[bytes] | Fork] = {}
        self._running.append(self)

    # The web

    def start_web(self, *, processes: int = 1, **settings: object) -> None:
        """Start gunicorn, with some settings changed (`turn_lease_seconds=2`); returns once /readyz reports ready."""
        self._overrides = {name.upper(): str(value) for name, value in settings.items()}
        place = ["-c", str(ROOT / "webapp/cli/gunicorn.conf.py"), "--bind", f"127.0.0.1:{self.port}"]
        self._start("web", "gunicorn", *place, "--workers", str(processes), "--threads", "64")
        wait_until(self.is_ready, "the live web", process=self._processes["web"], log=self.log)

    @property
    def web_pid(self) -> int:
        """The process that the web's processes were forked from."""
        return self._processes["web"].pid

    def kill_web(self) -> None:
        """kill -9 of gunicorn and all its workers at once."""
        self._kill("web")

    def stop_web(self) -> None:
        """Stop it in the ordinary way: turns are finished first."""
        end(self._processes.pop("web", None), patience=40)

    def restart_web(self, **settings: object) -> None:
        """Kill what is left of the web and start it."""
        self.kill_web()
        self.start_web(**settings)  # type: ignore[arg-type]

    def is_ready(self) -> bool:
        """Return whether /readyz answers 200 now."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    # The jobs

    def start_worker(self) -> None:
        """Start an RQ worker on all queues, at normal priority: tests wait for what it does."""
        self._start("worker", "jobs.worker", "--nice", "0")

    def kill_worker(self) -> None:
        """kill -9 of the worker and of the job it runs."""
        self._kill("worker")

    def kill_horse(self) -> None:
        """kill -9 of the processes that run jobs; the workers that forked them stay."""
        family = descendants(self._processes["worker"].pid)
        horses = [pid for child in family for pid in descendants(child)]
        assert horses, "no job is running"
        for pid in horses:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(is_alive, horses)), "the end of the work horse")

    def kill_jobs(self) -> None:
        """kill -9 of everything that takes jobs off the queues or puts them there by itself."""
        self._kill("worker")
        self._kill("schedule")

    @classmethod
    def kill_all_jobs(cls) -> None:
        """The same for every live server of this run."""
        for live in cls._running:
            live.kill_jobs()

    def settle_jobs(self) -> None:
        """Kill the scheduler, and a worker that is busy; an idle one is left to the next test, which would need it."""
        self._kill("schedule")
        if not self._is_running("worker"):
            return
        with suppress(ServerFailed):
            wait_until(self._is_idle, "the end of the jobs", seconds=1)
        if not self._is_idle():
            self._kill("worker")

    def finish_jobs(self) -> None:
        """Wait until every requested job is done."""
        wait_until(lambda: not self._owed_jobs(), "the end of the jobs", seconds=60)

    def _is_idle(self) -> bool:
        """Return whether no job is waiting or running, or none can run because the workers are still loading."""
        # Each group of queues has a process below the worker's, and the process that runs its jobs is below that.
        return not children(self._processes["worker"].pid) or not self._owed_jobs()

    def job_processes(self) -> list[int]:
        """The processes in which jobs are running, or were until just now."""
        groups = children(self._processes["worker"].pid)
        return [pid for group in groups for pid in children(group)]

    def _owed_jobs(self) -> list[bytes]:
        return self.servers.redis_keys("rq:queue:*", "rq:wip:*")

    def start_scheduler(self) -> None:
        """Start the scheduler, which asks for the sweep every few seconds."""
        self._start("schedule", "jobs.schedule")

    # The servers beneath

    def stop_database(self) -> None:
        """Shut MariaDB down (its data stays)."""
        self.servers.stop_database()

    def start_database(self) -> None:
        """Start MariaDB again."""
        self.servers.start_database()

    def flush_redis(self) -> None:
        """Lose everything in Redis."""
        self.servers.flush_redis()

    # Housekeeping

    def heal(self, *, with_web: bool = True, with_jobs: bool = True) -> None:
        """Make everything run again with its original settings, whatever a test did to it."""
        self.servers.start_database()
        if self._overrides:
            self.kill_web()
        if with_web and not self._is_running("web"):
            self.start_web()
        if with_jobs and not self._is_running("worker"):
            self.start_worker()
        if self._is_running("schedule"):
            self._kill("schedule")

    def stop(self) -> None:
        """Stop everything."""
        self._running.remove(self)
        for name in list(self._processes):
            self._kill(name)

    def read_log(self) -> str:
        """Return what the processes have written so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _is_running(self, name: str) -> bool:
        return name in self._processes and self._processes[name].poll() is None

    def _start(self, name: str, module: str, *arguments: str) -> None:
        self._kill(name)
        environment = {**os.environ, **self._environment, **(self._overrides if name == "web" else {})}
        if forks := os.environ.get("TEST_FORKS"):
            task = {"module": module, "arguments": arguments, "output": str(self.log), "environment": environment}
            self._processes[name] = Fork(forks, task)
        else:
            self._processes[name] = spawn([sys.executable, "-m", module, *arguments], self.log, environment)

    def _kill(self, name: str) -> None:
        process = self._processes.pop(name, None)
        if process is None:
            return
        family = [process.pid, *descendants(process.pid)]
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
        wait_until(lambda: not any(map(is_alive, family)), f"the end of {name}")


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables from which a process reads these settings."""
    given = settings.model_dump(mode="json", exclude_defaults=True)
    return {name.upper(): str(value) for name, value in given.items()}
