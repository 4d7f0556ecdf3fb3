"""A process that has loaded the application, and forks to run each part of the suite for which coverage is measured.

If every line has to be counted, loading the application takes ten seconds of CPU, as much as a hundred tests. So
run_all.py starts this once, under slipcover, which adds what the forks have covered to what was covered here.

It listens on a given Unix socket. A client sends pytest's arguments and a file for its output, as one line of JSON, and
receives pytest's exit code; a client that sends nothing ends the process once all forks have ended.
"""

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
    "webapp.shell.factory",
    "fakemodel.testing",
    "flask_migrate",
    "hypothesis",
    "openai",
    "pytest",
    "schemathesis.pytest.plugin",
    "tests.support.live",
    "tests.support.repeats",
    "testkit.work",
)
"""What tests/conftest.py needs, and the SDK that every first call of a model loads: as does every part."""


def load() -> None:
    """Import all of it; warnings are errors, as in the tests."""
    sys.path.insert(0, os.getcwd())  # as pytest does, too
    gc.disable()  # hardly anything that is loaded is garbage; once the tests are collected, conftest.py enables it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in LOADED:
            importlib.import_module(name)
        importlib.import_module("webapp.shell.routes").import_served()
    gc.collect()
    gc.freeze()  # otherwise the forks' collectors would write to all of it, and so copy it


def run(caller: socket.socket, arguments: list[str], output: str) -> None:
    """Run pytest, with all output going to `output`, and exit without Python's clean-up."""
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
    os._exit(code)  # which slipcover intercepts to record what was covered


def main(path: str) -> None:
    """Fork for each connection."""
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
