"""The faults: each hits a running product for a while; some return what an operator would do to heal it."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps

from redis import Redis
from sqlalchemy import text

from bench.chaos.workload import TOKEN_DELAY, WORDS
from bench.stack import Stack
from testkit.mariadb import MariaDB
from testkit.processes import descendants, end
from webapp.chat.turns.recovery import LOSS_SECONDS

Heal = Callable[[], None]
Fault = Callable[[Stack, random.Random], Heal | None]
"""Causes a fault; what it returns is called once it is known how long it took to serve again without it."""
SHOWN_AHEAD = 0.15
"""Seconds of text that viewers in a web process may have before Redis (ADR 26)."""
UNSAVED = {
    name: int(seconds / TOKEN_DELAY * len(WORDS[-1])) + len(WORDS[-1])
    for name, seconds in {
        "everything_killed": LOSS_SECONDS,
        "web_killed": SHOWN_AHEAD,
        "web_process_killed": SHOWN_AHEAD,
    }.items()
}
"""How many characters of a reply may be lost if everything that held them dies."""


def _of_mariadb(fault: Callable[[Stack, MariaDB, random.Random], None]) -> Fault:
    """Return a fault of MariaDB; on SQLite, somebody else holds the write lock instead."""

    @wraps(fault)
    def hit(stack: Stack, dice: random.Random) -> None:
        if (mariadb := stack.servers.mariadb) is not None:
            fault(stack, mariadb, dice)
            return
        with sqlite3.connect(stack.servers.directory / "test.sqlite3", timeout=30, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(dice.uniform(1, 6))
            other.execute("ROLLBACK")

    return hit


def web_killed(stack: Stack, _random: random.Random) -> None:
    """kill -9 of the web and all its processes; started again at once, as a supervisor does."""
    kill(stack, "web")
    stack.restart("web")


def web_process_killed(stack: Stack, random: random.Random) -> None:
    """kill -9 of one of the web's processes; gunicorn starts another."""
    _signal(random.choice(descendants(stack.processes["web"].pid)), signal.SIGKILL)


def web_restarted(stack: Stack, _random: random.Random) -> None:
    """An ordinary end and start, as in an upgrade."""
    end(stack.processes["web"], patience=40)
    stack.restart("web")


def web_suspended(stack: Stack, random: random.Random) -> None:
    """One of the web's processes is frozen, perhaps for longer than a lease, as when a machine is suspended."""
    stand_still([random.choice(descendants(stack.processes["web"].pid))], random.uniform(3, 14))


def worker_killed(stack: Stack, _random: random.Random) -> None:
    """kill -9 of the workers and their jobs; started again at once."""
    kill(stack, "worker")
    stack.restart("worker")


def job_killed(stack: Stack, random: random.Random) -> None:
    """kill -9 of processes below the workers, several times, including one that runs a job."""
    for _ in range(4):
        below = descendants(stack.processes["worker"].pid)
        if below:
            _signal(random.choice(below), signal.SIGKILL)
        time.sleep(random.uniform(0.1, 0.6))


def redis_killed(stack: Stack, random: random.Random) -> None:
    """Redis dies with all it held, and comes back empty after a while."""
    assert stack.servers.redis is not None
    stack.servers.redis.stop()
    time.sleep(random.uniform(0.5, 4))
    stack.servers.redis.start()


def redis_emptied(stack: Stack, _random: random.Random) -> None:
    """FLUSHALL."""
    stack.servers.flush_redis()


def redis_silent(stack: Stack, random: random.Random) -> None:
    """Redis accepts connections but never answers."""
    assert stack.servers.redis is not None and stack.servers.redis.pid is not None
    stand_still([stack.servers.redis.pid], random.uniform(1, 8))


def redis_full(stack: Stack, random: random.Random) -> None:
    """Redis refuses every write."""
    with Redis.from_url(stack.servers.redis_url) as client:
        client.config_set("maxmemory", "1mb")
        time.sleep(random.uniform(2, 6))
        client.config_set("maxmemory", "0")


@_of_mariadb
def database_restarted(stack: Stack, _mariadb: MariaDB, random: random.Random) -> None:
    """MariaDB is shut down cleanly and started again."""
    stack.servers.stop_database()
    time.sleep(random.uniform(0, 3))
    stack.servers.start_database()


@_of_mariadb
def database_killed(stack: Stack, mariadb: MariaDB, random: random.Random) -> None:
    """kill -9 of MariaDB, which recovers from its log."""
    _signal(mariadb.pid, signal.SIGKILL)
    time.sleep(random.uniform(0, 2))
    mariadb.stop()
    stack.servers.start_database()


@_of_mariadb
def database_silent(_stack: Stack, mariadb: MariaDB, random: random.Random) -> None:
    """MariaDB accepts connections but never answers."""
    stand_still([mariadb.pid], random.uniform(1, 8))


@_of_mariadb
def database_read_only(stack: Stack, _mariadb: MariaDB, random: random.Random) -> None:
    """Reading works but nothing can be written, as on a standby."""
    with stack.connect() as connection:
        connection.execute(text("FLUSH TABLES WITH READ LOCK"))
        time.sleep(random.uniform(1, 6))
        connection.execute(text("UNLOCK TABLES"))


@_of_mariadb
def database_stutters(_stack: Stack, mariadb: MariaDB, random: random.Random) -> None:
    """MariaDB stops for a moment again and again, so that much is committed between two statements of a job, and
    replies begin and end there."""
    for _ in range(random.randrange(20, 60)):
        stand_still([mariadb.pid], random.uniform(0.02, 0.2))
        time.sleep(random.uniform(0.005, 0.05))


def model_killed(stack: Stack, random: random.Random) -> None:
    """The model server dies in the middle of its answers and is back after a while."""
    kill(stack, "model")
    time.sleep(random.uniform(1, 6))
    stack.restart("model")


def model_silent(stack: Stack, random: random.Random) -> None:
    """The model server is frozen for a while."""
    stand_still([stack.processes["model"].pid], random.uniform(2, 8))


def everything_killed(stack: Stack, _random: random.Random) -> None:
    """The whole machine: web, workers and Redis die at once, and start again."""
    for name in ("web", "worker"):
        kill(stack, name)
    assert stack.servers.redis is not None
    stack.servers.redis.stop()
    stack.servers.redis.start()
    stack.restart("worker")
    stack.restart("web")


FAULTS: tuple[Fault, ...] = (
    web_killed,
    web_process_killed,
    web_restarted,
    web_suspended,
    worker_killed,
    job_killed,
    redis_killed,
    redis_emptied,
    redis_silent,
    redis_full,
    database_restarted,
    database_killed,
    database_silent,
    database_read_only,
    database_stutters,
    model_killed,
    model_silent,
    everything_killed,
)


def kill(stack: Stack, name: str) -> None:
    """kill -9 of a process and all below it."""
    process = stack.processes[name]
    for pid in [process.pid, *descendants(process.pid)]:
        _signal(pid, signal.SIGKILL)
    process.wait()


def _signal(pid: int | None, number: int) -> None:
    assert pid is not None
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def stand_still(pids: Sequence[int | None], seconds: float) -> None:
    """Suspend processes for a while."""
    for pid in pids:
        _signal(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        for pid in pids:
            _signal(pid, signal.SIGCONT)
