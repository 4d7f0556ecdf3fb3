"""What `make lint`, pre-commit and, before the tests, `make test` run: everything a program can check in the sources.

Arguments select checks by name: `lint.py ruff types`. Standard library only.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = [sys.executable, "-m"]

CHECKS = {
    "ruff": [*PYTHON, "ruff", "check", "--quiet", "."],
    "format": [*PYTHON, "ruff", "format", "--check", "--quiet", "."],
    "types": [*PYTHON, "mypy", "--no-error-summary"],
    "templates": [*PYTHON, "djlint", "templates", "--lint", "--quiet"],
    "spelling": [*PYTHON, "codespell_lib", "--quiet-level=3"],
}
REMEDIES = {"format": "`make format` formats.", "spelling": "A word of its own goes to ignore-words-list."}


def main(names: list[str]) -> int:
    """Run the checks, by default all, even after one has failed; returns 1 if any found something."""
    unknown = set(names) - set(CHECKS)
    if unknown:
        print(f"lint: there is no {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or CHECKS:
        began = time.monotonic()
        done = subprocess.run(CHECKS[name], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            failed.append(name)
            sys.stdout.buffer.write(done.stdout)
            print(f"lint: {name} found something. {REMEDIES.get(name, '')}", flush=True)
        else:
            print(f"lint: {name} is clean ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
