"""The needs of `make run`: seconds until it is ready once set up, and the memory of all its processes when idle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import table, verdict
from bench.stack import family, is_ready, proportional, resident
from testkit.processes import ROOT, free_port

READY_SECONDS = 5.0
TOTAL_MB, WEB_MB, WORKER_MB = 400.0, 200.0, 150.0
IDLE_SECONDS = 20


def main() -> bool:
    """Start the launcher twice on one folder and measure the second start; returns whether the promises held."""
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-", dir="/tmp") as folder:  # noqa: S108
        _start(Path(folder), idle=0)
        seconds, processes = _start(Path(folder), idle=IDLE_SECONDS)
    rows = sorted(processes, key=lambda row: -row[2])
    total = sum(row[2] for row in rows)
    table("`make run`, idle", ("process", "RSS MB", "PSS MB"), [*rows, ("all", sum(row[1] for row in rows), total)])
    web = max((row[1] for row in rows if row[0] == "web"), default=0.0)
    worker = max((row[1] for row in rows if row[0] == "worker"), default=0.0)
    ready = verdict(f"ready in {READY_SECONDS:.0f} s once set up ({seconds:.1f} s)", seconds < READY_SECONDS)
    small = verdict(
        f"all processes under {TOTAL_MB:.0f} MB (PSS), web under {WEB_MB:.0f}, worker under {WORKER_MB:.0f}",
        total < TOTAL_MB and web < WEB_MB and worker < WORKER_MB,
    )
    return ready and small


def _start(folder: Path, idle: int) -> tuple[float, list[tuple[str, float, float]]]:
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "DATABASE_"))}
    environment.pop("REDIS_URL", None)
    environment |= {"PORT": str(port), "VAR_DIR": str(folder), "ENV_FILE": ""}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "webapp.cli.launch"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not is_ready(f"http://127.0.0.1:{port}"):
            if process.poll() is not None or time.monotonic() - started > 60:
                raise RuntimeError("the launcher did not come up")
            time.sleep(0.05)
        seconds = time.monotonic() - started
        time.sleep(idle)
        found = [(_name(pid), resident(pid), proportional(pid)) for pid in family(process.pid)]
        return seconds, found
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def _name(pid: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    for part, name in (
        ("jobs.worker", "worker"),
        ("jobs.schedule", "scheduler"),
        ("gunicorn", "web"),
        ("tour.server", "screen tour"),
        ("embedding_server", "embedder"),
        ("redis-server", "redis"),
        ("cli.launch", "launcher"),
    ):
        if part in command:
            return name
    return command[:40]
