"""What the launcher decides from the environment."""

import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from webapp.cli.launch.plan import Plan, make_plan, open_port, whole_number
from webapp.environment import LaunchError
from webapp.tour import answers


@pytest.fixture
def plan_for(tmp_path: Path) -> Iterator:
    """A function that makes a plan on any free port and closes it afterwards."""
    plans: list[Plan] = []

    def make(environ: Mapping[str, str], var: Path = tmp_path) -> Plan:
        plans.append(make_plan({"PORT": "0", "PATH": "/usr/bin:/bin", **environ}, var))
        return plans[-1]

    yield make
    for plan in plans:
        plan.listener.close()


def names(plan: Plan) -> list[str]:
    return [spec.name for spec in plan.specs]


def test_starts_everything_where_the_environment_names_nothing(plan_for, tmp_path):
    plan = plan_for({})
    assert names(plan) == ["redis", "model", "embedder", "migrate", "web", "worker"]
    assert plan.environment["REDIS_URL"] == f"unix://{plan.redis_socket}"
    assert plan.environment["OFFLINE_MODEL"] == "1"
    assert plan.environment["CHAT_MODEL"] == plan.environment["BACKGROUND_MODEL"] == answers.MODEL
    assert plan.environment["EMBEDDER_SOCKET"] == str(tmp_path / "embedder.sock")
    assert plan.environment["VAR_DIR"] == str(tmp_path)
    assert any("screen tour" in note for note in plan.notes)
    assert any(re.match(r"No REDIS_URL: (Redis|Valkey) \d+\.\d+\.\d+ runs, from /", note) for note in plan.notes)


def test_uses_the_redis_and_the_model_it_is_given(plan_for):
    plan = plan_for({"REDIS_URL": "redis://10.0.0.1", "OPENAI_API_KEY": "k", "DATABASE_URL": "mysql://d/x"})
    assert names(plan) == ["embedder", "migrate", "web", "worker"]
    assert not {"REDIS_URL", "OPENAI_BASE_URL", "OFFLINE_MODEL", "DATABASE_URL"} & set(plan.environment)
    assert plan.notes == []
    assert "model" not in names(plan_for({"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"})), "an address is enough"


def test_nothing_of_the_application_starts_before_the_database_is_migrated(plan_for):
    specs = plan_for({"WORKERS": "2"}).specs
    needs = {spec.name: spec.needs for spec in specs}
    assert {spec.name: spec.awaits for spec in specs if spec.awaits} == {"web": "migrate"}
    assert needs["web"] == ("redis",)
    for name in ("worker1", "worker2"):
        assert needs[name] == ("migrate", "redis", "web")
    scheduling = [spec.name for spec in specs if "--with-schedule" in spec.command]
    assert scheduling == ["worker1"]


def test_a_port_that_is_taken_is_refused_with_another_to_try(plan_for):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LaunchError, match=rf"Port {port} .*make run PORT={port + 1}"):
            plan_for({"PORT": str(port)})


@pytest.mark.parametrize("text", ["0", "65", "two", "-1", "1.5"])
def test_a_number_out_of_bounds_is_named(text):
    with pytest.raises(LaunchError, match="WEB_CONCURRENCY must be a whole number from 1 to 64"):
        whole_number({"WEB_CONCURRENCY": text}, "WEB_CONCURRENCY", 2, 1, 64)


@pytest.mark.parametrize("name", ["deep" * 30, "My Documents", "a=b", "what?", "c#", "50%"])
def test_a_socket_path_that_is_too_long_or_that_clients_cannot_read_goes_elsewhere(name, plan_for, tmp_path):
    plan = plan_for({}, tmp_path / name)
    assert plan.redis_socket is not None and len(plan.redis_socket) < 100
    assert name not in plan.redis_socket
    Path(plan.redis_socket).parent.rmdir()


@pytest.mark.parametrize("host", ["192.0.2.1", "no host", "[::1]", "*"])
def test_an_address_that_is_not_ours_is_refused(host):
    with pytest.raises(LaunchError, match="make run HOST="):
        open_port(host, 8000)
