"""The files of deploy/ start what the Procfile starts, with settings and addresses that there are."""

import re
import runpy
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask import Flask

from webapp.config import Settings

ROOT = Path(__file__).resolve().parent.parent
LAUNCHER = {"HOST", "PORT", "WEB_PINNED"}


@pytest.fixture
def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text()))


def containers(manifests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    pods = [item["spec"]["template"]["spec"] for item in manifests if item["kind"] in ("Deployment", "Job")]
    return {container["name"]: container for pod in pods for container in pod["containers"]}


def test_it_starts_what_the_procfile_starts(manifests: list[dict[str, Any]]) -> None:
    processes = dict(re.findall(r"(?m)^(\w+): (.+)$", (ROOT / "Procfile").read_text()))
    processes["prepare"] = processes.pop("release")
    assert {name: " ".join(container["command"]) for name, container in containers(manifests).items()} == processes


def test_the_migration_of_a_machine_waits_for_its_database_without_end() -> None:
    """What requires a oneshot that failed stays down, even if systemd runs it again."""
    unit = (ROOT / "deploy" / "systemd" / "commonplace-migrate.service").read_text()
    assert re.search(r"(?m)^ExecStart=.*/flask --app wsgi prepare --wait inf$", unit)


def test_only_containers_listen_to_more_than_this_machine(manifests: list[dict[str, Any]]) -> None:
    (config,) = (item["data"] for item in manifests if item["kind"] == "ConfigMap")
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["web"]["environment"]
    assert config["HOST"] == composed["HOST"] == "0.0.0.0"
    assert re.search(r"(?m)^ENV .*\bHOST=0\.0\.0\.0$", (ROOT / "Dockerfile").read_text())


def test_settings_and_addresses_exist(manifests: list[dict[str, Any]], app: Flask) -> None:
    (config,) = (item["data"] for item in manifests if item["kind"] == "ConfigMap")
    assert set(config) - LAUNCHER <= {name.upper() for name in Settings.model_fields}
    assert Settings.from_env(config).session_cookie_secure
    web = containers(manifests)["web"]
    client = app.test_client()
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert client.get(web[probe]["httpGet"]["path"]).status_code == 200
    given = re.findall(r"--from-literal=([A-Z_]+)=", (ROOT / "deploy" / "kubernetes.yaml").read_text())
    assert {"SECRET_KEY", "DATABASE_URL", "REDIS_URL"} <= set(given) <= {name.upper() for name in Settings.model_fields}


def test_every_part_finds_its_pods_and_runs_as_nobody(manifests: list[dict[str, Any]]) -> None:
    labels = {}
    for item in manifests:
        if item["kind"] in ("Deployment", "Job"):
            template = item["spec"]["template"]
            labels[item["metadata"]["name"]] = template["metadata"]["labels"]
            assert template["spec"]["securityContext"]["runAsNonRoot"] is True
            names = {volume["name"] for volume in template["spec"]["volumes"]}
            for container in template["spec"]["containers"]:
                assert {mount["name"] for mount in container["volumeMounts"]} <= names
                assert container["securityContext"]["allowPrivilegeEscalation"] is False
                assert container["resources"]["limits"]["memory"]
        if item["kind"] == "Deployment":
            assert item["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
    by_kind = {item["kind"]: item for item in manifests if item["kind"] not in ("Deployment", "Job")}
    assert by_kind["Service"]["spec"]["selector"] == labels["web"]
    assert by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels["web"]
    user = re.search(r"--uid (\d+)", (ROOT / "Dockerfile").read_text())
    assert user and by_kind and f"runAsUser: {user[1]}" in (ROOT / "deploy" / "kubernetes.yaml").read_text()


def test_turns_are_finished_before_a_pod_is_killed(manifests: list[dict[str, Any]]) -> None:
    (web,) = (item for item in manifests if item["kind"] == "Deployment" and item["metadata"]["name"] == "web")
    pause = int(containers(manifests)["web"]["lifecycle"]["preStop"]["exec"]["command"][1])
    grace = web["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > pause + Settings().turn_drain_seconds + 4


def test_what_an_image_leaves_out_is_where_it_is_looked_for() -> None:
    """`trim.py` fails while an image is built if a package has moved its files; here it shows before."""
    trim = runpy.run_path(str(ROOT / "deploy" / "trim.py"))
    packages = Path(sysconfig.get_path("purelib"))
    for name, globs in (trim["UNUSED"] | trim["NEEDED"]).items():
        assert not (packages / name).is_dir() or trim["matches"](packages / name, globs), name


def test_an_image_keeps_what_is_opened(tmp_path: Path) -> None:
    trim = runpy.run_path(str(ROOT / "deploy" / "trim.py"))
    opened = ["blingfire/bert_base_tok.bin", "botocore/data/s3/service.json", "botocore/data/endpoints.json"]
    opened += ["blingfire/__init__.py", "blingfire/libblingfiretokdll.so", "sqlalchemy/testing/__init__.py"]
    others = ["blingfire/gpt2.bin", "botocore/data/ec2/service.json", "numpy/linalg/tests/test_linalg.py", "a/b.dll"]
    for name in (*opened, *others, "blingfire/__pycache__/a.pyc", "botocore/data/sts/a", "botocore/data/sso/a"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ("sso-oidc", "signin"):
        (tmp_path / "botocore/data" / name).mkdir()
    trim["trim"](tmp_path)
    assert all((tmp_path / name).exists() for name in opened)
    assert not any((tmp_path / name).exists() for name in others)
    (tmp_path / "blingfire/bert_base_tok.bin").unlink()
    with pytest.raises(SystemExit, match=r"has no bert_base_tok\.bin"):
        trim["trim"](tmp_path)
