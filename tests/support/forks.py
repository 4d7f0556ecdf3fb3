"""A process that has loaded the application, and forks to run each part of the suite that is measured.

Loading the application takes ten seconds of CPU where every line is to be counted, as much as a hundred tests. So
run_all.py starts this once, under slipcover, which adds what the forks have seen to what was seen here.

It listens on the Unix socket it is given. Whoever connects sends pytest's arguments and a file for its output, as JSON
in one line, and is sent pytest's exit code; whoever sends nothing ends it once all forks have ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
import traceback
import warnings
from contextlib import suppress

LOADED = (
    "jobs.worker",
    "webapp.factory",
    "webapp.llm.offline.testing",
    "webapp.routes",
    "webapp.webhooks.streaming",
    "flask_migrate",
    "hypothesis",
    "pytest",
    "tests.support.live",
    "tests.support.repeats",
    "tests.support.work",
)
"""What tests/conftest.py needs, which every part does."""


def load() -> None:
    """Import it all; warnings are errors, as in the tests."""
    sys.path.insert(0, os.getcwd())  # where pytest puts it, too
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in LOADED:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or the forks' collectors would write to, and so copy, all of it


def run(caller: socket.socket, arguments: list[str], output: str) -> None:
    """Be pytest, with everything written to `output`, and end without what Python does at its end."""
    import pytest

    code = 1
    try:
        into = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(into, 1)
        os.dup2(into, 2)
        sys.argv = ["pytest", *arguments]
        code = int(pytest.main(arguments))
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    caller.sendall(str(code).encode())
    os._exit(code)  # slipcover notes what was seen here


def main(path: str) -> None:
    """Fork for everybody who connects."""
    load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            caller, _ = listener.accept()
            with caller, caller.makefile() as lines:
                asked = lines.readline()
                if not asked:
                    break
                if os.fork() == 0:
                    listener.close()
                    run(caller, **json.loads(asked))
    with suppress(ChildProcessError):
        while True:
            os.wait()


if __name__ == "__main__":
    main(sys.argv[1])
