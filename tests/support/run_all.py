"""What `make test` runs after the set-up: lint, then both halves of the suite side by side.

MariaDB's half has the browser's tests and is shown as it goes; SQLite's runs meanwhile on servers of its own and is
shown when it is done. Each ends with pytest's own closing line. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run everything; the first exit code that is not 0."""
    began = time.monotonic()
    lint = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT, check=False)
    if lint.returncode:
        return lint.returncode
    pytest = [sys.executable, "-m", "pytest", "-q", *sys.argv[1:]]
    with tempfile.TemporaryFile("w+") as shown_later:
        sqlite = subprocess.Popen(
            [*pytest, "-m", "not browser", "-p", "no:cacheprovider"],
            cwd=ROOT,
            stdout=shown_later,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TEST_DB": "sqlite"},
        )
        try:
            print("== MariaDB, with the browser's tests", flush=True)
            mariadb = subprocess.run(pytest, cwd=ROOT, check=False)
            sqlite.wait()
        except BaseException:
            sqlite.terminate()
            sqlite.wait()
            raise
        shown_later.seek(0)
        print("\n== SQLite", flush=True)
        print(shown_later.read(), flush=True)
    print(f"== lint, MariaDB and SQLite took {time.monotonic() - began:.0f} s", flush=True)
    return mariadb.returncode or sqlite.returncode


if __name__ == "__main__":
    sys.exit(main())
