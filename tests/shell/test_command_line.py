"""`flask --app wsgi`: help comes without loading the application; commands run in it."""

import os
import re
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from testkit.processes import end, free_port, spawn, wait_until
from webapp.db.base import db
from webapp.shell.command_line import SUMMARIES, CommandLine

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def flask(tmp_path: Path):
    """Run `flask --app wsgi` with some words in a process of its own; returns the result."""
    file = tmp_path / "settings"
    file.write_text(f"VAR_DIR={tmp_path}/data\nDATABASE_URL=\nRATE_LIMITS=false\n")
    environ = {name: value for name, value in os.environ.items() if name not in ("VAR_DIR", "DATABASE_URL")}
    environ["ENV_FILE"] = str(file)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        code = (
            "import sys; from flask.cli import main\n"
            "try: main()\n"
            "finally: print('loaded:', *sorted({'sqlalchemy', 'webapp.shell.routes'} & set(sys.modules)))"
        )
        line = [sys.executable, "-c", code, "--app", "wsgi", *words]
        return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, env=environ, check=False)

    return run


def test_what_help_says_is_what_the_commands_say(app):
    helps = {name: " ".join((command.help or "").split()) for name, command in app.cli.commands.items()}
    assert helps == SUMMARIES


def test_help_loads_no_application(flask):
    done = flask("--help")
    assert done.returncode == 0, done.stderr
    assert all(f"  {name} " in done.stdout for name in (*SUMMARIES, "routes", "shell"))
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_a_command_runs_in_the_application_without_its_routes_and_reads_the_file(flask, tmp_path):
    done = flask("files", "move")
    assert "No bucket is set" in done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: sqlalchemy"
    assert (tmp_path / "data" / "secret_key").exists()


def test_a_new_database_gets_every_table_from_a_process_without_routes(flask, tmp_path):
    done = flask("db", "upgrade")
    assert done.stdout.splitlines()[-1] == "loaded: sqlalchemy", done.stderr
    with closing(sqlite3.connect(tmp_path / "data" / "commonplace.sqlite3")) as data:
        made = {name for (name,) in data.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for path in (ROOT / "webapp").rglob("models.py"):
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert made - {"sqlite_sequence"} == {*db.metadata.tables, "alembic_version"}


@pytest.mark.parametrize(
    ("line", "words", "sentence"),
    [
        (
            "DATABASE_URL=mysql+mysqldb://me:secret@127.0.0.1:1/x",
            "user list",
            r"mysql\+\S+me:\*+@\S+: Can't connect .+\.",
        ),
        ("DATABASE_URL=sqlite:////dev/null", "db upgrade", r"sqlite:////dev/null: .+\."),
        ("LOG_LEVEL=loud", "doctor", r"Settings that cannot be read:\n  LOG_LEVEL:[\s\S]+"),
        ("", "user list", r"sqlite:\S+: the file doesn't exist\. Run flask --app wsgi prepare first\."),
        (f"SECRET_KEY={'x' * 20}\nVAR_DIR=/dev/null/data", "prepare", r"\[Errno \d+\] .+: '/dev/null/data/.+'\."),
    ],
)
def test_a_fault_of_the_machine_or_its_settings_is_said_without_a_traceback(flask, tmp_path, line, words, sentence):
    with (tmp_path / "settings").open("a") as file:
        file.write(f"{line}\n")
    done = flask(*words.split())
    assert done.returncode == 1
    assert re.fullmatch(f"Error: {sentence}\n", done.stderr) and "Traceback" not in done.stderr, done.stderr


def test_a_command_about_routes_sees_them(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["flask", "--app", "wsgi", "routes"])
    assert "conversations_pages.new" in CommandLine().application.view_functions


def test_flask_run_is_about_routes_and_serves_them(tmp_path):
    environ = {**os.environ, "ENV_FILE": "", "VAR_DIR": str(tmp_path), "DATABASE_URL": "", "RATE_LIMITS": "false"}
    port, log = free_port(), tmp_path / "log"
    process = spawn([sys.executable, "-m", "flask", "--app", "wsgi", "run", "--port", str(port)], log, environ)
    try:
        wait_until(lambda: answers_healthz(port), "flask run", process=process, log=log)
    finally:
        end(process)


def answers_healthz(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=30) as answer:
            return answer.status == 200
    except OSError:
        return False
