"""Runs code that reads or draws a file in a separate process, with time limits; that process limits its own memory."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import Any

from flask import has_app_context

from webapp.accounts.identity import current_identity
from webapp.errors import Unavailable
from webapp.i18n.marks import N_

SECONDS = 60
ROOT = Path(__file__).resolve().parents[2]
MAX_READERS, MAX_OF_ONE, MAX_ASKED = 3, 2, 8
"""How many files one process reads at a time, in all and of one person, and for how many requests of a person it does
or will: slow files hold up nobody else, and take no more threads."""
_asked, _reading = Counter[int | None](), Counter[int | None]()
_freed = Condition()


def run_bounded(module: str, *arguments: str, data: bytes | None = None) -> dict[str, Any]:
    """Return the JSON that a module writes for these arguments and input, or {"error": reason}. Raises Unavailable."""
    with _reader():
        try:
            process = subprocess.run(
                [sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                input=data,
                capture_output=True,
                timeout=SECONDS,
                check=False,
                env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
            )
            answer = json.loads(process.stdout)
        except subprocess.TimeoutExpired:
            return {"error": N_("It takes too long to read.")}
        except ValueError:
            return {"error": N_("The file is damaged, or needs too much memory to be read.")}
    return answer if isinstance(answer, dict) else {"error": N_("The file is damaged.")}


@contextmanager
def _reader() -> Iterator[None]:
    """Hold one of the readers for the person who asks; turns and jobs count as one. Raises Unavailable."""
    identity = current_identity() if has_app_context() else None
    person = identity.user_id if identity else None

    def is_free() -> bool:
        return _reading.total() < MAX_READERS and _reading[person] < MAX_OF_ONE

    with _freed:
        if person is not None and _asked[person] >= MAX_ASKED:
            raise Unavailable("Too many files are being read. Try again in a moment.")
        _asked[person] += 1
        has_reader = _freed.wait_for(is_free, SECONDS)
        _reading[person] += has_reader
        _asked[person] -= not has_reader
    if not has_reader:
        raise Unavailable("Too many files are being read. Try again in a moment.")
    try:
        yield
    finally:
        with _freed:
            _reading[person] -= 1
            _asked[person] -= 1
            _freed.notify_all()
