"""Runs code that reads or draws a file in a separate process, with time limits; that process limits its own memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from webapp.errors import Unavailable
from webapp.i18n.marks import N_

SECONDS = 60
ROOT = Path(__file__).resolve().parents[2]
_readers = BoundedSemaphore(2)
"""How many files one process reads at a time; later ones wait."""


def run_bounded(
    module: str, *arguments: str, seconds: float | None = None, data: bytes | None = None
) -> dict[str, Any]:
    """Return the JSON that a module writes for these arguments and input, or {"error": reason}. Raises Unavailable."""
    limit = seconds or SECONDS
    if not _readers.acquire(timeout=limit):
        raise Unavailable("Too many files are being read. Try again in a moment.")
    try:
        process = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            input=data,
            capture_output=True,
            timeout=limit,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        )
        answer = json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        return {"error": N_("It takes too long to read.")}
    except ValueError:
        return {"error": N_("The file is damaged, or needs too much memory to be read.")}
    finally:
        _readers.release()
    return answer if isinstance(answer, dict) else {"error": N_("The file is damaged.")}
