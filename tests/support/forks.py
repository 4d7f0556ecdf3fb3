"""A process that has loaded the application, and forks to run a module of Python in each child.

Loading the application takes three seconds of CPU, as much as twenty tests, and ten if every line has to be counted. So
run_all.py starts two of these once: one under slipcover, which adds what the forks have covered to what was covered
here, for the parts in which coverage is measured, and one for whatever else is a process of its own: the other parts,
and the web and the worker of `tests/support/live.py`.

Templates are compiled once for all forks: what one has compiled lies in a folder beside the socket for the others.

It listens on a given Unix socket. A client sends the arguments of `run` as one line of JSON, and receives the process
id of the fork and, at its end, its exit code, each on a line; a client that sends nothing ends it once all forks have
ended.
"""

import ctypes
import gc
import hashlib
import importlib
import json
import marshal
import os
import runpy
import signal
import socket
import sys
import threading
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

LOADED = (
    "jobs.worker",
    "webapp.shell.factory",
    "fakemodel.testing",
    "flask_migrate",
    "gunicorn.app.wsgiapp",
    "gunicorn.workers.gthread",
    "hypothesis",
    "openai",
    "pytest",
    "schemathesis.pytest.plugin",
    "tests.support.live",
    "tests.support.repeats",
    "testkit.work",
)
"""What tests/conftest.py and the servers need, and the SDK that every first call of a model loads."""
PR_SET_PDEATHSIG = 1


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


def share_templates(folder: Path) -> None:
    """Have what is compiled of the templates' files kept in the folder, by source and language, and found there."""
    environment = importlib.import_module("webapp.templating").Environment
    compile_template = environment.compile

    def compile_cached(
        self: Any, source: str, name: str | None = None, filename: str | None = None, raw: bool = False
    ) -> Any:
        if filename is None or raw:
            return compile_template(self, source, name, filename, raw)
        place = folder / hashlib.sha256(f"{self.language}\0{filename}\0{source}".encode()).hexdigest()
        if place.exists():
            return marshal.loads(place.read_bytes())
        code: CodeType = compile_template(self, source, name, filename)
        written = place.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        written.write_bytes(marshal.dumps(code))
        written.replace(place)
        return code

    folder.mkdir(exist_ok=True)
    environment.compile = compile_cached


def run(module: str, arguments: list[str], output: str, environment: dict[str, str]) -> int:
    """Run a module as `python -m` does, with all output added to `output`; returns its exit code."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    into = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(into, 1)
    os.dup2(into, 2)
    os.environ.clear()
    os.environ.update(environment)
    if module != "pytest":
        gc.enable()
        os.setsid()  # which no interrupt from the keyboard reaches
    sys.argv = [module, *arguments]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "'.*' found in sys.modules", RuntimeWarning)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve(caller: socket.socket, task: dict[str, object]) -> None:
    """Carry out a task in this fork, and exit without Python's clean-up."""
    code = run(**task)  # type: ignore[arg-type]
    sys.stdout.flush()
    with suppress(OSError):
        caller.sendall(f"{code}\n".encode())
    os._exit(code)  # which slipcover intercepts to record what was covered


def main(path: str) -> None:
    """Fork for each connection."""
    load()
    share_templates(Path(path).with_name("templates"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt ends the forks, and the end of all ends this one
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            caller, _ = listener.accept()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            with caller, caller.makefile() as lines:
                asked = lines.readline()
                if not asked:
                    break
                if (pid := os.fork()) == 0:
                    listener.close()
                    serve(caller, json.loads(asked))
                caller.sendall(f"{pid}\n".encode())
    with suppress(ChildProcessError):
        while True:
            os.wait()


if __name__ == "__main__":
    main(sys.argv[1])
