"""The set-up's decisions; that it really installs is tried by the continuous integration itself."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.processes import ROOT
from webapp.cli.launch.plan import read_env_file
from webapp.cli.prepare import packages, servers, shell, venv
from webapp.cli.prepare.shell import SetupError
from webapp.config import Settings

LAUNCHER_SETTINGS = {"HOST", "PORT", "WEB_CONCURRENCY", "WEB_THREADS", "WEB_PINNED", "WORKERS", "MYSQL_PASSWORD"}


def test_a_stamp_holds_only_for_the_same_inputs(tmp_path: Path) -> None:
    source, stamp = tmp_path / "in", tmp_path / "stamp"
    source.write_text("one")
    stamp.write_text(shell.digest_of([source]))
    assert shell.is_stamped(stamp, shell.digest_of([source]))
    source.write_text("two")
    assert not shell.is_stamped(stamp, shell.digest_of([source]))
    source.unlink()
    assert not shell.is_stamped(stamp, shell.digest_of([source]))


def test_a_step_that_failed_leaves_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "VENV", tmp_path)
    monkeypatch.setattr(packages, "run", lambda *_args, **_options: False)
    with pytest.raises(SetupError, match="goes on where it stopped"):
        packages._install_requirements(packages.RUNTIME, "packages")
    assert list(tmp_path.iterdir()) == []


def test_mysqlclient_is_left_out_where_it_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packages, "VENV", tmp_path)
    monkeypatch.setattr(packages, "_can_compile_mysqlclient", lambda: False)
    packages._install_mysqlclient(needed=False)
    assert "mysqlclient is left out" in capsys.readouterr().out


def test_a_mysql_database_without_headers_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(packages, "VENV", tmp_path)
    monkeypatch.setattr(packages, "_can_compile_mysqlclient", lambda: False)
    monkeypatch.setattr(packages, "apt_install", lambda *_: False)
    with pytest.raises(SetupError, match="sudo apt-get install libmariadb-dev"):
        packages._install_mysqlclient(needed=True)


def test_an_old_python_is_told_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(venv.sys, "version_info", (3, 9, 2))
    with pytest.raises(SetupError, match=r"needs Python 3\.11 or newer"):
        venv.ensure_venv()


def test_missing_test_servers_are_named_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_DATABASE_URL", raising=False)
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(servers, "find_program", lambda *_: None)
    monkeypatch.setattr(servers, "apt_install", lambda *_: False)
    with pytest.raises(SetupError, match="sudo apt-get install mariadb-server-core chromium"):
        servers.install_test_servers()


def test_every_requirement_is_pinned() -> None:
    for path in (packages.RUNTIME, packages.DEVELOPMENT, packages.CONSTRAINTS):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        assert lines
        assert [line for line in lines if not re.match(r"[A-Za-z0-9_.-]+==\d[\w.]*(;|$)", line)] == []


def test_constraints_are_for_what_no_requirement_names() -> None:
    def names(path: Path) -> set[str]:
        found = re.findall(r"(?m)^([A-Za-z0-9_.-]+)==", path.read_text())
        return {re.sub(r"[-_.]+", "-", name).lower() for name in found}

    assert names(packages.CONSTRAINTS) & (names(packages.RUNTIME) | names(packages.DEVELOPMENT)) == set()
    brought = set()
    for name in names(packages.RUNTIME):
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # not for this machine
        brought |= {
            re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", need)[0]).lower()
            for need in needs
            if "extra ==" not in need
            and "python_version <" not in need
            and "sys_platform" not in need
            and "platform_" not in need
        }
    assert brought - names(packages.CONSTRAINTS) - names(packages.RUNTIME) == set(), "pip freeze names a version"


def test_the_example_names_every_setting_with_its_default(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(re.sub(r"(?m)^# ([A-Z_]+=)", r"\1", (ROOT / ".env.example").read_text()))
    environ: dict[str, str] = {}
    read_env_file(file, environ)
    names = {name.upper() for name in Settings.model_fields}
    assert set(environ) == names | LAUNCHER_SETTINGS
    defaults = Settings()
    for name in names & {name for name, value in environ.items() if value}:
        kept = Settings.from_env({name: environ[name]})
        if getattr(defaults, name.lower()):
            assert getattr(kept, name.lower()) == getattr(defaults, name.lower()), name
