"""The supervisor with small dummy processes: order, restarts, and nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gunicorn.arbiter import Arbiter

from testkit.processes import ROOT, is_alive

SLEEPER = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(15, signal.SIG_IGN); " + SLEEPER
# Starts a grandchild in a session of its own, out of reach of any process group.
PARENT = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=True)
{SLEEPER}
"""


def spec(name: str, code: str, **more: object) -> dict[str, object]:
    return {"name": name, "command": [sys.executable, "-c", code], **more}


class Running:
    """A supervisor in a process of its own, and what it has said so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said = ""

    def read_until(self, pattern: str) -> re.Match[str]:
        """Read its output until the pattern is in it."""
        assert self.process.stdout is not None
        while not (found := re.search(pattern, self.said)):
            line = self.process.stdout.readline()
            assert line, f"it ended without saying {pattern!r}:\n{self.said}"
            self.said += line
        return found

    def finish(self) -> int:
        """Read the rest; its exit code."""
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        return self.process.wait(30)


@contextmanager
def supervise(*specs: dict[str, object]) -> Iterator[Running]:
    program = str(Path(__file__).with_name("supervise_dummies.py"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, program, json.dumps(specs)],
        cwd=ROOT,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def wait_until_gone(*pids: int) -> None:
    end = time.monotonic() + 20
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, f"still there: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.01)


def pid_of(running: Running, name: str) -> int:
    return int(running.read_until(rf"(?m)^{name} +\| (?:pid|web is) (\d+)$")[1])


def test_says_it_is_ready_only_once_the_web_is_and_ends_with_nothing_left(monkeypatch):
    monkeypatch.setenv("STATUSES", "503 200")
    with supervise(spec("worker", SLEEPER)) as running:
        url = running.read_until(r"Commonplace is ready: (\S+)")[1]
        assert "a note" in running.said and running.said.count("not ready yet: no database") == 1
        assert urllib.request.urlopen(url).read() == b"ready"
        pids = [pid_of(running, "worker"), pid_of(running, "web")]
        running.process.send_signal(signal.SIGINT)
        assert running.finish() == 0
        assert not any(map(is_alive, pids))
        assert running.said.rstrip().endswith("stopped")


def test_a_folder_for_sockets_alone_is_removed_and_the_data_folder_is_not(monkeypatch, tmp_path):
    for others in ((), ("launch.lock",)):
        folder = tmp_path / f"with-{len(others)}"
        folder.mkdir()
        for name in ("embedder.sock", *others):
            (folder / name).touch()
        monkeypatch.setenv("EMBEDDER_SOCKET", str(folder / "embedder.sock"))
        with supervise() as running:
            running.read_until("ready")
            running.process.send_signal(signal.SIGINT)
            assert running.finish() == 0
        assert not (folder / "embedder.sock").exists()
        assert folder.exists() is bool(others)


def test_the_web_ends_before_the_jobs_and_those_before_what_they_lean_on():
    slow = """
import os, signal, sys, time
def say(text):  # print must not be called again while it is writing, as from a signal handler
    os.write(1, text + b"\\n")
def end(*_):
    say(b"is ending"); time.sleep(0.2); say(b"has ended"); sys.exit()
signal.signal(15, end); say(b"is up"); time.sleep(600)
"""
    with supervise(spec("store", slow, order=2), spec("worker", slow, order=1)) as running:
        for name in ("store", "worker"):
            running.read_until(rf"{name} +\| is up")
        running.read_until("is ready")
        running.process.terminate()
        assert running.finish() == 0
        ends = re.findall(r"(\w+ +\| (?:is ending|has ended))", running.said)
        assert [re.sub(r" +\| ", " ", end) for end in ends] == [
            "worker is ending",
            "worker has ended",
            "store is ending",
            "store has ended",
        ]


def test_starts_again_what_died_and_says_so_while_the_port_stays_open():
    with supervise(spec("worker", SLEEPER)) as running:
        url = running.read_until(r"Commonplace is ready: (\S+)")[1]
        first, web = pid_of(running, "worker"), pid_of(running, "web")
        os.kill(first, signal.SIGKILL)
        running.read_until(r"worker stopped unexpectedly \(SIGKILL\); restarting in 0.5 s")
        os.kill(web, signal.SIGKILL)
        wait_until_gone(web)
        # Nobody serves at this moment, yet the visitor is not refused: it waits in the launcher's socket.
        assert urllib.request.urlopen(url, timeout=30).read() == b"ready"
        running.said = running.said.rpartition("stopped unexpectedly (SIGKILL)")[2]
        assert pid_of(running, "worker") != first


@pytest.mark.parametrize(("code", "tries"), [(1, 3), (Arbiter.WORKER_BOOT_ERROR, 1)])
def test_gives_up_on_what_never_starts(code, tries):
    with supervise(spec("web", f"print('a reason'); raise SystemExit({code})")) as running:
        assert running.finish() == 1
        assert running.said.count("a reason") == tries
        assert f"web does not start (exit code {code})" in running.said


WAITING = "import os; print('is loaded', flush=True); os.read(int(os.environ['START_FD']), 1); " + SLEEPER


def test_what_awaits_the_migration_is_loaded_meanwhile_and_begins_after_it():
    migration = "import time; time.sleep(0.5); print('has run', flush=True)"
    specs = spec("migrate", migration, once=True), spec("other", WAITING, awaits="migrate")
    with supervise(*specs) as running:
        first = pid_of(running, "other")
        assert running.said.index("is loaded") < running.said.index("has run") < running.said.index("pid")
        os.kill(first, signal.SIGKILL)
        running.said = ""
        assert pid_of(running, "other") != first, "what is started again waits for nothing"


def test_what_needs_a_migration_that_fails_is_not_started_and_what_awaits_it_is_ended():
    failing = spec("migrate", "import time; time.sleep(0.3); raise SystemExit('no such column')", once=True)
    others = spec("worker", SLEEPER, needs=["migrate"]), spec("other", WAITING, awaits="migrate")
    with supervise(failing, *others) as running:
        assert running.finish() == 1
        assert "no such column" in running.said and "migrate failed (exit code 1)" in running.said
        assert "worker" not in running.said and "did not stop in time" not in running.said


def test_shows_what_a_quiet_process_said_only_when_it_fails():
    with supervise(spec("store", SLEEPER, quiet=True), spec("worker", SLEEPER)) as running:
        running.read_until("is ready")
        pid_of(running, "worker")
        running.process.terminate()
        assert running.finish() == 0
        assert "store" not in running.said
    with supervise(spec("store", "raise SystemExit('no room')", quiet=True)) as running:
        running.read_until(r"store \| no room")


def test_kills_what_does_not_end_in_time():
    with supervise(spec("worker", STUBBORN, patience=0.2)) as running:
        running.read_until("is ready")
        pid = pid_of(running, "worker")
        running.process.terminate()
        assert running.finish() == 0
        assert "worker did not stop in time and was killed" in running.said
        assert not is_alive(pid)


def test_a_second_interrupt_ends_everything_at_once():
    with supervise(spec("worker", STUBBORN, patience=3600)) as running:
        running.read_until("is ready")
        pid = pid_of(running, "worker")
        running.process.send_signal(signal.SIGINT)
        running.read_until("stopping")
        running.process.send_signal(signal.SIGINT)
        assert running.finish() == 0
        assert not is_alive(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_leaves_no_grandchild_that_escaped_its_group(number):
    with supervise(spec("worker", PARENT)) as running:
        running.read_until("is ready")
        running.read_until(r"(?s)worker +\| pid.*worker +\| pid \d+\n")
        pids = [int(pid) for pid in re.findall(r"pid (\d+)", running.said)]
        running.process.send_signal(number)
        assert running.finish() == 0
        assert len(pids) == 2
        assert not any(map(is_alive, pids))


def test_children_do_not_outlive_a_supervisor_that_is_killed():
    with supervise(spec("worker", SLEEPER)) as running:
        running.read_until("is ready")
        pids = [pid_of(running, "worker"), pid_of(running, "web")]
        running.process.kill()
        wait_until_gone(*pids)
