"""Commands beside `make run` find the Redis and the model that it started."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from webapp.cli.launch.beside import LOCK, beside_a_launch, pid_in, tell

STARTED = {
    "REDIS_URL": "unix:///var/redis.sock?db=0",
    "OPENAI_BASE_URL": "http://127.0.0.1:4711/v1",
    "OPENAI_API_KEY": "none",
    "OFFLINE_MODEL": "1",
    "CHAT_MODEL": "screen-tour",
    "LOG_FORMAT": "text",
}


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[int]:
    """A launch that lives in `tmp_path`: the lock that it holds."""
    lock = os.open(tmp_path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    tell(lock, STARTED)
    yield lock
    os.close(lock)


def test_what_the_environment_leaves_out_is_taken_from_the_launch(launch: int, tmp_path: Path) -> None:
    """`flask doctor` called a sound `make run` broken: no Redis, no workers, no model."""
    found = beside_a_launch({"VAR_DIR": str(tmp_path), "REDIS_URL": ""}, Path("/nowhere"))
    assert {name: found.get(name) for name in STARTED} == {**STARTED, "LOG_FORMAT": None}
    assert pid_in(launch) == str(os.getpid())


def test_the_folder_is_var_unless_named(launch: int, tmp_path: Path) -> None:
    (tmp_path / "var").symlink_to(tmp_path)
    assert beside_a_launch({}, tmp_path)["REDIS_URL"] == STARTED["REDIS_URL"]


def test_what_is_set_stays(launch: int, tmp_path: Path) -> None:
    own = {"VAR_DIR": str(tmp_path), "REDIS_URL": "redis://elsewhere", "OPENAI_API_KEY": "sk"}
    assert beside_a_launch(own, tmp_path) == own


def test_a_launch_that_has_ended_is_not_asked(launch: int, tmp_path: Path) -> None:
    fcntl.flock(launch, fcntl.LOCK_UN)
    assert beside_a_launch({"VAR_DIR": str(tmp_path)}, tmp_path) == {"VAR_DIR": str(tmp_path)}


@pytest.mark.parametrize("text", ["4711", "", "4711\n[1]", "4711\nnonsense", "\xff"])
def test_a_lock_of_an_older_version_names_nothing(launch: int, tmp_path: Path, text: str) -> None:
    os.ftruncate(launch, 0)
    os.pwrite(launch, text.encode("latin-1"), 0)
    assert beside_a_launch({}, tmp_path / "none") == {}
    assert beside_a_launch({"VAR_DIR": str(tmp_path)}, tmp_path) == {"VAR_DIR": str(tmp_path)}
