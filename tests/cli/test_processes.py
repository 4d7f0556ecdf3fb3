"""A lower priority, among processes of the same session and among sessions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from webapp.cli.launch import processes

PROGRAM = """
from os import nice
from webapp.cli.launch.processes import _AUTOGROUP, lower_priority

def group_nice():  # The file is missing where the kernel has no such groups, and empty for a session outside of them.
    words = _AUTOGROUP.read_text().split() if _AUTOGROUP.exists() else []
    return words[2] if words else "none"

before = group_nice()
lower_priority(7)
print(nice(0), before, group_nice())
"""


@pytest.mark.parametrize("own_session", [True, False])
def test_a_session_of_its_own_becomes_nicer_with_its_process(own_session):
    """Linux shares out a processor between sessions first: a nice value gives nothing to another one."""
    was = os.nice(0)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM], start_new_session=own_session, check=True, capture_output=True, text=True
    )
    nice, before, after = told.stdout.split()
    assert int(nice) == min(was + 7, 19)
    assert after == ("7" if own_session and before != "none" else before)


def test_the_kernel_is_asked_again_when_it_wants_a_moment(monkeypatch):
    """It takes one such change in a tenth of a second from all ordinary users; a refusal ends nothing."""
    answers: list[Exception | None] = [BlockingIOError(), None, PermissionError()]
    asked: list[str] = []

    def write(_path: Path, text: str) -> None:
        asked.append(text)
        if answer := answers.pop(0):
            raise answer

    monkeypatch.setattr(os, "nice", lambda _by: None)
    monkeypatch.setattr(os, "getsid", lambda _pid: os.getpid())
    monkeypatch.setattr(Path, "write_text", write)
    monkeypatch.setattr(processes.time, "sleep", lambda _seconds: None)
    processes.lower_priority(7)
    assert asked == ["7", "7"]
    processes.lower_priority(7)
    assert asked == ["7"] * 3
