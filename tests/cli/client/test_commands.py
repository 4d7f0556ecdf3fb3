"""The command as people run it, against the live server, with pipes and in a terminal.

What it says and does is asked within the test's own process; processes of their own are for what only they have:
pipes, signals, terminals, and what is loaded.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterable
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from testkit.exports import chatgpt_conversation, pack
from testkit.people import Person
from testkit.processes import ROOT, free_port
from tests.support.live import LiveServer
from webapp.accounts import tokens
from webapp.accounts.schemas import NewToken
from webapp.cli.client.main import commonplace
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction

Done = subprocess.CompletedProcess[str]
COMMAND = [sys.executable, "-m", "webapp.cli.client"]
PATIENCE = 60


def _ours(names: Iterable[str]) -> set[str]:
    """The variables that the command would listen to."""
    return {name for name in names if name.startswith("COMMONPLACE_")}


class Shell:
    """Somebody's shell: their address and token in the environment, or nothing at all."""

    def __init__(self, home: Path, url: str, token: str = "") -> None:
        self.home = home
        self.url = url
        bare = {name: value for name, value in os.environ.items() if name not in _ours(os.environ)}
        self.environment = {**bare, "XDG_CONFIG_HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm"}
        self.environment |= {"COMMONPLACE_URL": url} | ({"COMMONPLACE_TOKEN": token} if token else {})

    def __call__(self, *words: object, given: str = "") -> Done:
        """Run the command to its end, in this process."""
        runner = CliRunner(env={**dict.fromkeys(_ours(os.environ)), **self.environment})
        with chdir(self.home):
            done = runner.invoke(commonplace, list(map(str, words)), input=given, prog_name="commonplace")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(words, done.exit_code, done.stdout, done.stderr)

    def process(self, *words: object, given: str = "") -> Done:
        """Run the command to its end, in a process of its own."""
        return subprocess.run(
            [*COMMAND, *map(str, words)],
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=self.environment,
            cwd=self.home,
            check=False,
        )

    def json(self, *words: object, given: str = "") -> Any:
        """What the command answers with --json."""
        done = self(*words, "--json", given=given)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def shell(live_server: LiveServer, user: Person, tmp_path: Path) -> Shell:
    return Shell(tmp_path, live_server.url, user.token)


def error(done: Done, code: int) -> str:
    """What is said on standard error, after looking at the exit code and at standard output being empty."""
    assert (done.returncode, done.stdout) == (code, ""), (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


def test_the_entry_point_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["commonplace"].partition(":")
    assert callable(getattr(import_module(module), name))
    assert module.rpartition(".")[0] in project["tool"]["setuptools"]["packages"]


def test_it_uses_nothing_of_the_server():
    """What is installed alone brings click: no other package and nothing else of ours."""
    code = (
        "import sys, webapp.cli.client.main; "
        "print(*sorted({n.split('.')[0] for n in sys.modules if getattr(sys.modules[n], '__file__', None) "
        "and 'site-packages' in sys.modules[n].__file__}), *[n for n in sys.modules if n.startswith('webapp')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    names = found.stdout.split()
    assert [name for name in names if name.startswith("webapp") and not name.startswith("webapp.cli.client")] == [
        "webapp",
        "webapp.cli",
    ]
    assert not {"flask", "sqlalchemy", "redis", "pydantic", "httpx2", "requests"} & set(names)


def test_a_message_is_answered_in_a_pipe(shell, model, client):
    model.script(match="capital", reply=["Can", "berra ", "it is."])
    done = shell.process("chat", "What is the capital", "of Australia?", given="Answer in three words.")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Canberra it is.\n", "")
    latest = client.get("/api/conversations?limit=1").get_json()["conversations"][0]
    said = client.get(f"/api/conversations/{latest['conversation_id']}").get_json()["messages"]
    assert said[0]["content"] == "What is the capital of Australia?\n\nAnswer in three words."
    model.script(match="And", reply="Wellington.")
    answer = shell.json("chat", "-c", latest["conversation_id"], "And of New Zealand?")
    assert answer["conversation_id"] == latest["conversation_id"]
    assert answer["message"]["content"] == "Wellington."
    model.script(match="Peru", reply="Lima.")
    assert shell.json("chat", "--continue", "-", given="Peru?")["conversation_id"] == latest["conversation_id"]


def test_a_file_goes_along_and_a_temporary_chat_is_not_listed(shell, model, client):
    model.script(reply="A recipe.")
    (shell.home / "soup.md").write_text("# Leek soup\n\nThree leeks, one potato.")
    answer = shell.json("chat", "--temporary", "-f", "soup.md", "What is this?")
    assert answer["message"]["content"] == "A recipe."
    assert "Three leeks" in json.dumps(model.calls())  # beside what the worker may still ask for another test
    assert client.get("/api/conversations").get_json()["conversations"] == []


def test_ctrl_c_stops_the_reply(app, shell, model):
    model.script(tokens=4_000, token_delay=0.02)
    process = subprocess.Popen(
        [*COMMAND, "chat", "Go on"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environment,
    )
    assert process.stdout is not None
    assert process.stdout.read(10)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    assert b"Traceback" not in errors
    end = time.monotonic() + 10
    with app.app_context():
        query = db.select(Message.status).where(Message.role == "assistant")
        while (status := db.session.scalar(query)) == "streaming" and time.monotonic() < end:
            db.session.rollback()
            time.sleep(0.05)
    assert status == "stopped"


def test_a_failed_reply_is_an_error(shell, model):
    model.script(fault={"http_status": 401, "body": {"error": {"code": "invalid_api_key"}}})
    assert error(shell("chat", "Hello"), 1)
    assert "no message" in error(shell("chat"), 2)
    assert "Use only one" in error(shell("chat", "-C", "-t", "Hello"), 2)
    assert error(shell("chat", "-c", 99_999_999, "Hello"), 4)


def test_memories_are_kept_listed_searched_and_forgotten(shell):
    done = shell("remember", "I play the viola")
    assert done.returncode == 0, done.stderr
    number, _, content = done.stdout.strip().partition("\t")
    assert content == "I play the viola"
    done = shell("remember", "--kind", "preference", "-", given="Tea before coffee\n\nTrains before planes\n")
    assert len(done.stdout.splitlines()) == 2
    rows = shell("memories").stdout.splitlines()
    assert {row.split("\t")[3] for row in rows} == {"I play the viola", "Tea before coffee", "Trains before planes"}
    assert len(shell.json("memories", "--limit", 2)["memories"]) == 2
    assert len(shell.json("memories", "--all", "--kind", "preference")["memories"]) == 2
    assert shell("memories", "--review").stdout == ""
    hit = shell("search", "viola").stdout.splitlines()[0].split("\t")
    assert (hit[0], hit[2]) == ("memory", "I play the viola")
    assert shell.json("search", "viola", "--kind", "memory")["results"][0]["id"] == int(number)
    assert "--yes" in error(shell("memories", "forget", number), 2)
    assert shell("memories", "forget", "--yes", number).stdout == f"{number}\tforgotten\n"
    assert error(shell("memories", "forget", "--yes", number), 4)
    assert shell("search", "viola", "--kind", "memory").stdout == ""
    assert error(shell("remember"), 2)


def test_an_export_of_elsewhere_comes_in(shell, client):
    (shell.home / "chatgpt.zip").write_bytes(
        pack({"conversations.json": [chatgpt_conversation(1), chatgpt_conversation(2)]})
    )
    assert "--yes" in error(shell("import", "chatgpt.zip"), 2)
    seen = shell("import", "chatgpt.zip", "--dry-run")
    assert seen.returncode == 0, seen.stderr
    assert "2 conversations" in seen.stdout
    (shell.home / "one.json").write_text(json.dumps([chatgpt_conversation(3), {"title": None}]))
    one = shell("import", "one.json", "--yes", "--take", "projects")
    assert "1 conversation, " in one.stdout
    assert "1 problem skipped" in one.stdout
    assert "one.json, part 2: it has no messages" in one.stderr
    assert client.get("/api/conversations").get_json()["conversations"] == []
    done = shell.json("import", "chatgpt.zip", "--yes", "--take", "conversations")
    assert done["status"] == "done"
    assert len(client.get("/api/conversations").get_json()["conversations"]) == 2
    assert shell("import", "-", "--yes", given="[2024-05-01] - Lives in Lisbon\n").returncode == 0
    assert [row["content"] for row in shell.json("memories", "--review")["memories"]] == ["Lives in Lisbon"]
    shell("remember", "--pin", "Keeps bees")
    shell("remember", "I play the viola")
    marks = {row[3]: row[4:] for row in (line.split("\t") for line in shell("memories").stdout.splitlines())}
    assert marks == {"Lives in Lisbon": ["to review"], "Keeps bees": ["pinned"], "I play the viola": [""]}
    (shell.home / "odd.bin").write_bytes(bytes(range(256)))
    assert shell("import", "odd.bin", "--yes").returncode == 1
    assert error(shell("import", "missing.zip", "--yes"), 2)


def test_everything_goes_out(shell, model):
    model.script(reply="Hello yourself.")
    number = shell.json("chat", "Hello")["conversation_id"]
    shell("remember", "I play the viola")
    done = shell("export", "account")
    assert done.returncode == 0, done.stderr
    place = shell.home / done.stdout.strip()
    assert place.stat().st_mode & 0o777 == 0o600
    assert zipfile.ZipFile(place).testzip() is None
    assert "I play the viola" in shell("export", "memories", "--format", "text", "-o", "-").stdout
    assert "Hello yourself." in shell("export", "conversation", number, "--format", "markdown", "-o", "-").stdout
    assert shell("export", "memories", "-o", "m.json", "--format", "json").returncode == 0
    assert "--force" in error(shell("export", "memories", "-o", "m.json", "--format", "json"), 2)
    assert shell("export", "memories", "-o", "m.json", "--format", "json", "--force").returncode == 0
    assert error(shell("export", "conversation"), 2)
    assert error(shell("export", "account", "--format", "pdf"), 2)
    assert error(shell("export", "conversation", 99_999_999), 4)
    assert not list(shell.home.glob(".*.part"))


def test_schedules_are_made_listed_paused_and_removed(shell):
    assert shell("schedules").stdout == ""
    done = shell(
        "schedules",
        "add",
        "Start",
        "my weekly review",
        "--at",
        "2036-12-07T18:00",
        "--repeat",
        "weekly",
        "--timezone",
        "UTC",
    )
    number, due = done.stdout.split()
    assert due == "2036-12-07T18:00:00.000000Z"
    assert shell("schedules").stdout.split("\t")[0::3] == [number, "Start my weekly review\n"]
    assert shell("schedules", "pause", number).returncode == 0
    assert shell("schedules").stdout.split("\t")[1] == "paused: by hand"
    assert shell("schedules", "resume", number).returncode == 0
    assert shell.json("schedules")["schedules"][0]["is_active"] is True
    assert shell("schedules", "run", number).returncode == 0
    assert shell("schedules", "runs", number).stdout.split("\t")[1] == "waiting"
    assert shell("schedules", "remove", number).returncode == 0
    error(shell("schedules", "run", number), 4)
    error(shell("schedules", "add", "x", "--at", "2036-12-07T18:00", "--repeat", "daily", "--rrule", "FREQ=DAILY"), 2)
    assert "rule" in error(shell("schedules", "add", "x", "--at", "2036-12-07T18:00", "--rrule", "NONSENSE"), 1)


def test_what_happens_is_told(shell):
    done = shell("webhooks", "add", "https://hooks.example/x", "-k", "memory.changed")
    number, secret = done.stdout.strip().split("\t")
    assert secret.startswith("whsec_")
    assert shell("webhooks").stdout == f"{number}\ton\thttps://hooks.example/x\n"
    assert "own network" in error(shell("webhooks", "add", "http://10.0.0.1/"), 1)
    listening = [*COMMAND, "events", "-n", "1", "-k", "memory.changed"]
    with subprocess.Popen(listening, stdout=subprocess.PIPE, env=shell.environment) as listener:
        while listener.poll() is None:  # until the stream is open, what happens is told to nobody
            shell("remember", f"I saw heron number {time.monotonic_ns()}")
        told, _ = listener.communicate(timeout=PATIENCE)
    assert json.loads(told)["type"] == "memory.changed"
    assert shell("webhooks", "remove", number).returncode == 0
    assert shell("webhooks").stdout == ""


def test_login_keeps_the_token(live_server, user, tmp_path):
    shell = Shell(tmp_path, "")
    assert "commonplace login" in error(shell("memories"), 3)
    assert "--token-stdin" in error(shell("--url", live_server.url, "login"), 2)
    assert error(shell("--url", live_server.url, "login", "--token-stdin", given="cmpl_wrong"), 3)
    done = shell("--url", live_server.url, "login", "--token-stdin", given=user.token + "\n")
    assert (done.returncode, user.email in done.stdout) == (0, True)
    kept = tmp_path / "commonplace" / "config.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert shell("memories").returncode == 0
    assert error(shell("--url", "http://127.0.0.1:9", "memories"), 3)  # the token is for another address
    assert shell("logout").returncode == 0
    assert not kept.exists()


def test_others_get_nothing(app, shell, live_server, make_user, tmp_path):
    """Somebody else, an admin, a service, a revoked token and one with too few scopes, by every command."""
    number = shell("remember", "I play the viola").stdout.split("\t")[0]
    talk = shell.json("chat", "Hello")["conversation_id"]
    for other in (make_user(), make_user(is_admin=True)):
        theirs = Shell(tmp_path, live_server.url, other.token)
        assert theirs("memories").stdout == theirs("search", "viola").stdout == ""
        assert error(theirs("memories", "forget", "-y", number), 4)
        assert error(theirs("chat", "-c", talk, "Hello"), 4)
        assert error(theirs("export", "conversation", talk), 4)
    (shell.home / "notes.txt").write_text("[2024-05-01] - Lives in Lisbon\n")
    commands: list[tuple[object, ...]] = [
        ("chat", "Hello"),
        ("search", "viola"),
        ("remember", "I play"),
        ("memories",),
        ("memories", "forget", "-y", number),
        ("import", "notes.txt", "--yes"),
        ("export", "memories"),
    ]
    limited = make_user()
    with app.app_context(), write_transaction():
        _, mcp_only = tokens.create_token(limited.user_id, NewToken(name="mcp", scopes=["mcp"]))
    for token in (mcp_only, make_user(is_service=True).token, "cmpl_unknown"):
        for words in commands:
            assert error(Shell(tmp_path, live_server.url, token)(*words), 3)


def test_a_server_that_is_not_there(tmp_path):
    shell = Shell(tmp_path, f"http://127.0.0.1:{free_port()}", "cmpl_x")
    assert "cannot be reached" in error(shell("memories"), 5)
    assert error(shell("chat", "Hello"), 5)


def in_terminal(shell: Shell, *words: str, typed: list[str]) -> tuple[str, int]:
    """Run the command in a terminal; each line is typed once the prompt is there. What was shown, and the exit code."""
    try:
        pid, terminal = pty.fork()
    except OSError:  # a root into which only /dev is bound, as by bare-machine
        pytest.skip("no terminals without /dev/pts")
    if pid == 0:
        os.execvpe(COMMAND[0], [*COMMAND, *words], shell.environment)
    shown, lines = b"", list(typed)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65_536)
        except OSError:
            break
        shown += piece
        if not piece:
            break
        if lines and shown.count("›".encode()) > len(typed) - len(lines):
            os.write(terminal, lines.pop(0).encode())
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(status)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_conversation_and_a_table_in_a_terminal(shell, model, client):
    model.script(match="one", reply="First reply.")
    model.script(match="two", reply="Second \x1b[31mreply.")
    shown, code = in_terminal(shell, "chat", typed=["one\n", "two\n", "\x04"])
    assert code == 0, shown
    assert "First reply." in shown
    assert "Second [31mreply." in shown
    found = client.get("/api/conversations").get_json()["conversations"]
    assert [row["message_count"] for row in found] == [4]
    shell("remember", "I play the viola")
    shown, code = in_terminal(shell, "memories", typed=[])
    assert code == 0
    assert re.search(r"^id +kind +changed +memory\r\n\d+ +fact +\S+ +I play the viola\r\n", shown)
