"""One configuration for every entry point: the environment over a running launch, or over `.env`."""

import fcntl
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from jobs.runner import worker_app
from testkit.processes import ROOT
from tests.support.commands import run_command
from tests.support.live import as_environment
from webapp.config import ConfigError, Settings
from webapp.environment import LOCK, LaunchError, complete, env_file, fill, pid_in, record

STARTED = {
    "REDIS_URL": "unix:///var/redis.sock?db=0",
    "DATABASE_URL": "mysql://launch@127.0.0.1/commonplace",
    "SECRET_KEY": "only of the launch, and long enough",
    "S3_BUCKET": "attachments",
    "JOURNEYS_FOLDER": "/srv/journeys",
    "OPENAI_BASE_URL": "http://127.0.0.1:4711/v1",
    "OPENAI_API_KEY": "offline",
    "OFFLINE_MODEL": "1",
    "CHAT_MODEL": "offline-demo",
}
MODEL = {"OPENAI_BASE_URL", "OPENAI_API_KEY", "OFFLINE_MODEL", "CHAT_MODEL"}


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[int]:
    """A launch that lives in `tmp_path`: the lock that it holds."""
    lock = os.open(tmp_path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    record(lock, {**STARTED, "VAR_DIR": str(tmp_path), "SOME_TOKEN": "of another program", "ENV_FILE": ""})
    yield lock
    os.close(lock)


def resolve(**given: str | Path) -> dict[str, str]:
    environ = {"ENV_FILE": "", **{name: str(value) for name, value in given.items()}}
    complete(environ)
    return environ


def write(folder: Path, text: str) -> Path:
    file = folder / "settings"
    file.write_text(text)
    return file


def test_the_environment_has_precedence_over_the_file(tmp_path):
    file = write(tmp_path, f"PORT=9000\nSITE_URL=https://a.example\nVAR_DIR={tmp_path}\nREDIS_URL=redis://file\n")
    found = resolve(ENV_FILE=file, PORT="8001", REDIS_URL="")
    assert (found["PORT"], found["SITE_URL"]) == ("8001", "https://a.example")
    assert (found["VAR_DIR"], found["REDIS_URL"]) == (str(tmp_path), "redis://file")


def test_what_the_environment_leaves_out_is_taken_from_the_launch(launch, tmp_path):
    """`flask doctor` called a sound `make run` broken, and a backup beside MariaDB was one of an empty SQLite file."""
    file = write(tmp_path, "DATABASE_URL=mysql://edited-since/x\nDIGEST_IDLE_MINUTES=5\n")
    found = resolve(VAR_DIR=tmp_path, REDIS_URL="", ENV_FILE=file)
    assert {name: found.get(name) for name in STARTED} == STARTED
    assert "SOME_TOKEN" not in found and "DIGEST_IDLE_MINUTES" not in found
    assert pid_in(launch) == str(os.getpid())


def test_the_folder_of_the_launch_may_be_named_in_the_file(launch, tmp_path):
    assert resolve(ENV_FILE=write(tmp_path, f"VAR_DIR={tmp_path}"))["DATABASE_URL"] == STARTED["DATABASE_URL"]


def test_the_folder_is_that_of_the_clone_wherever_a_command_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve()["VAR_DIR"] == str(ROOT / "var")
    assert resolve(VAR_DIR="elsewhere")["VAR_DIR"] == str(ROOT / "elsewhere")


def test_what_is_set_stays(launch, tmp_path):
    own = {"VAR_DIR": str(tmp_path), "REDIS_URL": "redis://elsewhere", "OPENAI_API_KEY": "sk"}
    found = resolve(**own)
    assert own.items() <= found.items()
    assert MODEL & found.keys() == {"OPENAI_API_KEY"}, "a key is not sent to a server it is not for"
    assert found["DATABASE_URL"] == STARTED["DATABASE_URL"]


def test_a_launch_that_has_ended_is_not_asked(launch, tmp_path):
    fcntl.flock(launch, fcntl.LOCK_UN)
    assert resolve(VAR_DIR=tmp_path) == {"VAR_DIR": str(tmp_path), "ENV_FILE": ""}


@pytest.mark.parametrize(
    "text", ["4711", "", "4711\n[1]", "4711\nnonsense", "\xff", '4711\n{"REDIS_URL": "unix:///a"}']
)
def test_beside_one_that_does_not_say_what_it_runs_with_nothing_is_guessed(launch, tmp_path, text, monkeypatch):
    os.ftruncate(launch, 0)
    os.pwrite(launch, text.encode("latin-1"), 0)
    with pytest.raises(LaunchError, match="Try again in a moment"):
        resolve(VAR_DIR=tmp_path)
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match="Try again in a moment"):
        Settings.from_env()


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "settings").write_bytes(b"SITE_URL=\xff\n")
    with pytest.raises(LaunchError, match=f"{tmp_path}/settings cannot be read"):
        resolve(ENV_FILE=tmp_path / "settings")


def test_lines_of_the_file(tmp_path):
    file = write(
        tmp_path,
        '# a comment\n#REPLY_TOKENS=1\nexport PORT=9000\nCHAT_MODEL="a # b"  # said\n\nEMPTY=   # nothing\nNONE=\n'
        "REDIS_URL=redis://a?b=c#d  # e\nSINGLE='x y'\n",
    )
    environ = {"PORT": "8001"}
    fill(environ, env_file({"ENV_FILE": str(file)}))
    assert environ == {
        "PORT": "8001",
        "CHAT_MODEL": "a # b",
        "EMPTY": "",
        "NONE": "",
        "REDIS_URL": "redis://a?b=c#d",
        "SINGLE": "x y",
    }


@pytest.mark.parametrize("line", ["nonsense", 'SECRET_KEY="open', 'SECRET_KEY="a" b', "set PORT=1"])
def test_a_line_that_sets_nothing_is_named(line, tmp_path):
    with pytest.raises(LaunchError, match="settings: line 2 is not NAME=value"):
        env_file({"ENV_FILE": str(write(tmp_path, f"PORT=1\n{line}\n"))})


def test_a_file_that_is_named_but_missing_is_not_passed_over(tmp_path):
    with pytest.raises(LaunchError, match="missing cannot be read"):
        env_file({"ENV_FILE": str(tmp_path / "missing")})


SERVERS = {"another server": lambda: runpy.run_path(str(ROOT / "wsgi.py")), "worker": worker_app.__wrapped__}
"""What loads the application. Commands are in tests/shell/test_command_line.py."""
OTHERS = {
    "web": "import runpy; print(runpy.run_path('webapp/cli/gunicorn.conf.py')['bind'])",
    "scheduler": "from unittest import mock; import jobs.schedule as s\n"
    "with mock.patch.object(s, 'open_redis', side_effect=SystemExit): s.main()",
}


@pytest.mark.parametrize("entry", [*SERVERS, *OTHERS])
def test_every_entry_point_reads_the_file(entry, tmp_path):
    """Only `make run` did: gunicorn beside a `.env` served an empty SQLite file to the whole network."""
    names = ("VAR_DIR", "REDIS_URL", "DATABASE_URL")
    read = [f"{tmp_path}/data", "redis://127.0.0.1:9/7", "sqlite:////f/ile"]
    file = write(
        tmp_path,
        f"VAR_DIR={tmp_path}/data\nPORT=8250\nHOST=::1\nREDIS_URL=redis://127.0.0.1:9/7\nDATABASE_URL=sqlite:////f/ile\n",
    )
    environ = {"PATH": os.environ["PATH"], "ENV_FILE": str(file)}
    if load := SERVERS.get(entry):
        with mock.patch.dict("os.environ", environ, clear=True):
            load()
            assert [os.environ.get(name) for name in names] == read
        return
    says = f"import atexit, os; atexit.register(lambda: print([os.environ.get(name) for name in {names}]))\n"
    done = subprocess.run(
        [sys.executable, "-c", says + OTHERS[entry]], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or entry == "scheduler", done.stderr
    assert str(read) in done.stdout, done.stderr
    if entry == "web":
        assert done.stdout.startswith("[::1]:8250\n")


@pytest.mark.parametrize(("host", "bind"), [("", "127.0.0.1:8000"), ("0.0.0.0", "0.0.0.0:8000"), ("::", "[::]:8000")])
def test_the_web_listens_on_loopback_unless_told(host, bind, monkeypatch):
    monkeypatch.setenv("HOST", host)
    monkeypatch.delenv("PORT", raising=False)
    assert runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))["bind"] == bind


def test_a_command_beside_a_launch_works_with_what_that_runs_with(launch, settings, make_user, tmp_path):
    make_user(email="launched@example.org")
    record(launch, {**as_environment(settings), "VAR_DIR": str(tmp_path)})
    environ = {"PATH": os.environ["PATH"], "ENV_FILE": "", "VAR_DIR": str(tmp_path)}
    done = run_command(environ, "backup", "create", str(tmp_path / "b.zip"))
    assert done.exit_code == 0, done.output
    assert "Accounts: 1," in done.output
    assert not list(tmp_path.glob("*.sqlite3"))
