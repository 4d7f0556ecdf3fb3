"""What `make test` runs after the set-up: lint and the suite in parts, four at a time; with `--slow`, with coverage.

The suite runs on MariaDB, and what depends on the database runs on SQLite as well; browser tests run on MariaDB. Each
part is a pytest process with its own servers, forked from one that has loaded the application (forks.py), and its
output is shown when it has ended. If only a few tests failed, they are tried once more when nothing else is running:
what fails again fails, and what passes then is named. Arguments go to pytest: `--slow` runs what is otherwise left out.
Standard library only.
"""

import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
AT_ONCE = 4
"""Two more than the processors of the machine on which it has to be fast; with three more it was no faster."""
TESTS_FAILED, NO_TESTS = 1, 5
"""pytest's exit codes if tests failed, and if there was nothing to run, as when -k selects tests of other parts."""
FEW = 5
"""The most failed tests of a part that are tried again: if there are more, it is broken, not flaky."""
COVERAGE = "coverage.json"
MEASURED, LEAST_COVERED = "webapp,jobs", 90
"""The packages that the tests have to cover, and the least percentage of their lines and branches."""

# Folders and files that form a part together; what is in none forms five more, and the browser's tests two. Each part
# costs a few seconds of CPU in itself, for its servers; small ones at the end keep both processors busy to the last.
BROWSER, RESTS = "browser", 5
WALKS = ("openapi", "test_access_matrix.py", "test_large_numbers.py")
"""Walks through every route: they pass lines that they do not prove, and counting those costs an eighth more."""
GROUPS = (
    ("transfer", "spaces", "summaries"),
    ("memories", "retrieval"),
    ("chat", "jobs", "fixtures"),
    WALKS,
    ("files", "conversations"),
    ("migrations", "journeys", "cli"),
)

# With nothing that could be different on SQLite: they are not even collected there, which costs some a second or more.
WITHOUT_DATABASE = {"browser", "cli", "fakemodel", "llm", "markdown", "network", "openapi", "text"}
WITHOUT_DATABASE |= {"test_architecture.py", "test_patterns.py"}


@dataclass
class Part:
    """Some tests on one database, or lint, which has no paths; `output` and `code` are set once it has ended."""

    name: str
    paths: list[str]
    sqlite: bool = False
    output: str = ""
    code: int = TESTS_FAILED
    seconds: float = field(default=0.0)
    unsteady: list[str] = field(default_factory=list)
    """Tests that failed among the others and passed alone."""

    @property
    def is_measured(self) -> bool:
        """Only where the code runs in the tests' own process, and only once: SQLite's tests also run on MariaDB."""
        return not self.sqlite and not self.paths[0].startswith(tuple(f"tests/{name}" for name in (BROWSER, *WALKS)))

    @property
    def folder(self) -> str:
        """The name of the folder for its data."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.name)


def parts() -> list[Part]:
    """The whole suite, in the order in which parts are started: the longest first, small ones at the end."""
    paths = [path for path in sorted(TESTS.iterdir()) if any(path.rglob("test_*.py")) or path.match("test_*.py")]
    grouped = {BROWSER, *(name for group in GROUPS for name in group)}
    rest = [f"tests/{path.name}" for path in paths if path.name not in grouped]
    rests = [Part(f"MariaDB: the rest, {part + 1} of {RESTS}", rest[part::RESTS]) for part in range(RESTS)]
    groups = [Part(f"MariaDB: {', '.join(group)}", [f"tests/{name}" for name in group]) for group in GROUPS]
    in_browser = [f"tests/{BROWSER}/{path.name}" for path in sorted((TESTS / BROWSER).glob("test_*.py"))]
    halves = [Part(f"MariaDB: {BROWSER}, {half + 1} of 2", in_browser[half::2]) for half in (0, 1)]
    on_sqlite = Part(
        "SQLite: what depends on the database",
        [f"tests/{path.name}" for path in paths if path.name not in WITHOUT_DATABASE],
        sqlite=True,
    )
    return [*halves, on_sqlite, *groups, *rests[:-2], Part("lint", []), *rests[-2:]]


def _pytest(part: Part, arguments: list[str], data: Path) -> list[str]:
    """The arguments for pytest to run its tests, and to note in `data` which failed."""
    return ["-q", "-o", f"cache_dir={data / part.folder}", *part.paths, *arguments]


def _environment(*, sqlite: bool = False) -> dict[str, str]:
    environment = dict(os.environ)
    # Ten processes, and as many started by tests, load the same thousand modules: each would compile them again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("TEST_DB", None)
    return {**environment, "TEST_DB": "sqlite"} if sqlite else environment


class Forks:
    """A process that others are forked from (forks.py), under slipcover or not."""

    def __init__(self, data: Path, *, is_measured: bool) -> None:
        self.is_measured = is_measured
        self._data = data
        self.path = str(data / f"socket-{self.is_measured}")
        self._log = data / f"forks-{self.is_measured}.log"
        # Probes that were hit often are not removed again: that would go through every module, thousands of times.
        measuring = ["-m", "slipcover", "--branch", "--threshold=1000000000", f"--source={MEASURED}"]
        measuring += ["--json", f"--out={data / COVERAGE}"]
        script = [*(measuring if is_measured else ()), "tests/support/forks.py", self.path]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                # It ends with this process, however that ends.
                ["setpriv", "--pdeathsig", "KILL", sys.executable, *script],
                cwd=ROOT,
                env=_environment(),
                stdout=log,
                stderr=log,
            )

    def run(self, name: str, arguments: list[str], environment: dict[str, str]) -> tuple[str, int]:
        """The output of pytest with these arguments, and its exit code."""
        output = self._data / f"{name}.log"
        task = {"module": "pytest", "arguments": arguments, "output": str(output), "environment": environment}
        code = ""
        with suppress(OSError), self._connect() as connection, connection.makefile("rw") as lines:
            lines.write(json.dumps(task) + "\n")
            lines.flush()
            lines.readline()  # the process id
            code = lines.readline()
        written = (output if output.exists() else self._log).read_text(errors="replace")
        return (written, int(code)) if code else (f"{written}\nThe process died.", TESTS_FAILED)

    def close(self) -> None:
        """End it: with every fork, unless their coverage is to be waited for."""
        if self.is_measured:
            with suppress(OSError):
                self._connect().close()
        else:
            self._process.kill()
        self._process.wait()

    def _connect(self) -> socket.socket:
        """A connection, once it listens. Raises OSError if it has ended before."""
        connection = socket.socket(socket.AF_UNIX)
        while connection.connect_ex(self.path):
            if self._process.poll() is not None:
                connection.close()
                raise ConnectionError
            time.sleep(0.05)
        return connection


def run_part(part: Part, arguments: list[str], data: Path, forks: Mapping[bool, Forks] | None = None) -> None:
    """Run a part to its end; an interrupt ends it, too. `forks` are those that are not measured, and those that are."""
    began = time.monotonic()
    environment = _environment(sqlite=part.sqlite)
    if part.paths and forks:
        environment["TEST_FORKS"] = forks[False].path
        # Modules loaded before pytest do not get their asserts rewritten.
        quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        wanted = [*_pytest(part, arguments, data), *quiet]
        part.output, part.code = forks.get(part.is_measured, forks[False]).run(part.folder, wanted, environment)
    else:
        command = ["-m", "pytest", *_pytest(part, arguments, data)] if part.paths else ["tests/support/lint.py"]
        done = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        part.output, part.code = done.stdout, done.returncode
    part.seconds = time.monotonic() - began


def try_again(part: Part, arguments: list[str], data: Path) -> None:
    """Run failed tests once more, with the machine to themselves; only those that fail again have failed."""
    noted = data / part.folder / "v" / "cache" / "lastfailed"
    failed = sorted(json.loads(noted.read_text())) if noted.exists() else []
    if part.code != TESTS_FAILED or not 0 < len(failed) <= FEW:
        return
    print(f"\n== {part.name}: once more, alone: {', '.join(failed)}", flush=True)
    command = [sys.executable, "-m", "pytest", *_pytest(part, ["--last-failed", *arguments], data)]
    part.code = subprocess.run(command, cwd=ROOT, env=_environment(sqlite=part.sqlite), check=False).returncode
    again = set(json.loads(noted.read_text())) if noted.exists() else set()
    part.unsteady = [test for test in failed if test not in again]


def run_tests(arguments: list[str], data: Path) -> list[Part]:
    """Run all parts, four at a time, and show each as it ends."""
    todo: queue.SimpleQueue[Part] = queue.SimpleQueue()
    every = parts()
    for each in every:
        todo.put(each)
    shown = threading.Lock()
    # Counting what is covered costs an eighth more, and tells something new only now and then.
    kinds = (False, True) if "--slow" in arguments else (False,)
    forks = {is_measured: Forks(data, is_measured=is_measured) for is_measured in kinds}

    def work() -> None:
        while True:
            try:
                part = todo.get_nowait()
            except queue.Empty:
                return
            print(f"== {part.name}: begun", flush=True)
            run_part(part, arguments, data, forks)
            with shown:
                print(f"\n== {part.name} ({part.seconds:.0f} s)\n{part.output}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:  # an interrupt, which has also reached the running parts
        while not todo.empty():
            todo.get_nowait()
        raise
    finally:
        for each in forks.values():
            each.close()
    for part in every:
        try_again(part, arguments, data)
    return every


def report_coverage(data: Path, *, enforced: bool) -> int:
    """Print what the parts on MariaDB cover together; returns 0 unless that is enforced and too little, or unknown."""
    if not (data / COVERAGE).exists():
        print("== Coverage: nothing was measured", flush=True)
        return 1
    found = json.loads((data / COVERAGE).read_text())
    covered = {name: each["summary"]["percent_covered"] for name, each in found["files"].items()}
    total = found["summary"]["percent_covered"]
    print("== Coverage of lines and branches, on MariaDB, without child processes; files below it", flush=True)
    for name, percent in sorted(covered.items()):
        if percent < LEAST_COVERED:
            print(f"{percent:6.1f} %  {name}")
    print(f"{total:6.1f} %  of {MEASURED} ({LEAST_COVERED} % at least)", flush=True)
    return int(enforced and total < LEAST_COVERED)


def main() -> int:
    """Run everything; returns the first exit code that is not 0."""
    began = time.monotonic()
    arguments = sys.argv[1:]
    # In /tmp, whatever TMPDIR says: the path of a Unix socket has to be short.
    with tempfile.TemporaryDirectory(prefix="commonplace-suite-", dir="/tmp") as folder:
        ran = run_tests(arguments, Path(folder))
        codes = [part.code for part in ran if part.paths and part.code != NO_TESTS]
        lint = next(part.code for part in ran if not part.paths)
        whole = not any(not argument.startswith("--") or argument.startswith("-k") for argument in arguments)
        covered = report_coverage(Path(folder), enforced=whole) if "--slow" in arguments else 0
    times = "; ".join(f"{part.name} {part.seconds:.0f} s" for part in ran)
    print(f"== {times}; {time.monotonic() - began:.0f} s in all", flush=True)
    for test in [test for part in ran for test in part.unsteady]:
        print(f"== UNSTEADY: {test} failed beside the others and passed alone; mend it", flush=True)
    if not codes:
        return lint or NO_TESTS
    return next((code for code in (lint, *codes) if code), covered)


if __name__ == "__main__":
    sys.exit(main())
