"""Which Python a clone is set up with."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testkit.processes import ROOT
from webapp.cli.prepare import interpreter

OPTIMISED = "'--enable-optimizations' '--with-lto'"


@pytest.mark.parametrize(
    ("executable", "configured", "version", "has_headers", "good"),
    [
        ("/opt/python/bin/python3.13", OPTIMISED, (3, 13), True, True),
        ("/usr/bin/python3.11", "'--enable-shared'", (3, 11), True, True),
        ("/root/.pyenv/versions/3.12.1/bin/python3.12", "'--enable-shared'", (3, 12), True, False),
        ("/usr/bin/python3.9", OPTIMISED, (3, 9), True, False),
        ("/usr/bin/python3.11", OPTIMISED, (3, 11), False, False),
    ],
)
def test_a_good_interpreter_is_recent_optimised_and_complete(
    monkeypatch, tmp_path, executable, configured, version, has_headers, good
):
    if has_headers:
        (tmp_path / "Python.h").touch()
    monkeypatch.setattr(sys, "_base_executable", executable)
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(interpreter.os.path, "realpath", lambda path: path)
    monkeypatch.setattr(interpreter.sysconfig, "get_config_var", {"CONFIG_ARGS": configured}.get)
    monkeypatch.setattr(interpreter.sysconfig, "get_path", {"include": str(tmp_path)}.get)
    monkeypatch.setattr(interpreter.importlib.util, "find_spec", lambda _name: object())
    assert interpreter.is_good() is good


def test_debian_without_its_venv_package_is_not_complete(monkeypatch):
    monkeypatch.setattr(interpreter.importlib.util, "find_spec", lambda _name: None)
    assert not interpreter._is_complete()


@pytest.mark.parametrize(
    ("path_is_good", "distribution_is_good", "chosen"),
    [(True, True, "python3"), (False, True, "distribution"), (False, False, "python3")],
)
def test_make_takes_the_distributions_python_only_where_it_is_the_better_one(
    tmp_path, path_is_good, distribution_is_good, chosen
):
    path = _candidate(tmp_path / "bin" / "python3", path_is_good)
    distribution = _candidate(tmp_path / "distribution" / "python3", distribution_is_good)
    planned = _plan(path.parent, f"DISTRIBUTION_PYTHON={distribution}")
    assert planned.split()[0] == {"python3": "python3", "distribution": str(distribution)}[chosen]


def test_who_names_an_interpreter_gets_it(tmp_path):
    path = _candidate(tmp_path / "bin" / "python3", good=True)
    assert _plan(path.parent, "PYTHON=/opt/mine/python3").split()[0] == "/opt/mine/python3"


def _candidate(path: Path, good: bool) -> Path:
    """A Python that answers `interpreter.py` as told, and anything else as the real one."""
    path.parent.mkdir()
    path.write_text(
        f'#!/bin/sh\ncase "$1" in *interpreter.py) exit {0 if good else 1};; esac\nexec {sys.executable} "$@"\n'
    )
    path.chmod(0o755)
    return path


def _plan(first_on_path: Path, *variables: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHON", "MAKEFLAGS", "MFLAGS")}
    environment = inherited | {"PATH": f"{first_on_path}{os.pathsep}{os.environ['PATH']}"}
    make = shutil.which("make")
    assert make is not None
    planned = subprocess.run(
        [make, "-n", "--no-print-directory", "setup", *variables],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return planned.stdout
