"""`flask --app wsgi`: help comes without loading the application; commands run in it."""

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest
from werkzeug.test import Client

from tests.support.commands import run_command
from webapp.db.base import db
from webapp.shell.command_line import SUMMARIES, CommandLine

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A process's, with all settings in a file."""
    file = tmp_path / "settings"
    file.write_text(f"VAR_DIR={tmp_path}/data\nDATABASE_URL=\nRATE_LIMITS=false\n")
    return {"PATH": os.environ["PATH"], "ENV_FILE": str(file)}


@pytest.fixture
def flask(environ: dict[str, str]):
    """Run `flask --app wsgi` with some words in a process of its own; returns the result."""

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


def test_a_command_runs_without_routes_reads_the_file_and_gives_a_new_database_every_table(flask, tmp_path):
    done = flask("db", "upgrade")
    assert done.stdout.splitlines()[-1] == "loaded: sqlalchemy", done.stderr
    assert (tmp_path / "data" / "secret_key").exists()
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
        ("DATABASE_URL=sqlite:////dev/full", "db upgrade", r"sqlite:////dev/full: database or disk is full\."),
        ("LOG_LEVEL=loud", "doctor", r"Settings that cannot be read:\n  LOG_LEVEL:[\s\S]+"),
        ("", "user list", r"sqlite:\S+: the file doesn't exist\. Run flask --app wsgi prepare first\."),
        (f"SECRET_KEY={'x' * 20}\nVAR_DIR=/dev/null/data", "prepare", r"\[Errno \d+\] .+: '/dev/null/data/.+'\."),
    ],
)
def test_a_fault_of_the_machine_or_its_settings_is_said_without_a_traceback(environ, tmp_path, line, words, sentence):
    with (tmp_path / "settings").open("a") as file:
        file.write(f"{line}\n")
    done = run_command(environ, *words.split())
    assert done.exit_code == 1
    assert re.fullmatch(f"Error: {sentence}\n", done.stderr), done.output


def test_a_command_about_routes_sees_them(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["flask", "--app", "wsgi", "routes"])
    assert "conversations_pages.new" in CommandLine().application.view_functions


def test_flask_run_is_about_routes_and_serves_them(environ):
    def serve(_host, _port, app, **_) -> None:
        assert Client(app).get("/healthz").status_code == 200

    with mock.patch("flask.cli.run_simple", side_effect=serve) as run_simple:
        assert run_command(environ, "run").exit_code == 0
    run_simple.assert_called_once()
