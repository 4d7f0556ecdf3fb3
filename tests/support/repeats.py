"""Which tests send SQLite nothing that other tests do not: `repeats.txt` names them, and they are left out there.

A test is worth running on SQLite besides MariaDB for the statements that the application sends in it, and for how
they fail. This plugin records them while all tests run on SQLite, and picks the cheapest tests that together send every
statement. Tests that are not listed run; new ones therefore do, until the list is regenerated with

    TEST_DB=sqlite python -m pytest -q -p tests.support.repeats -m "not browser"
"""

import re
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from sqlalchemy import Engine, event

ROOT = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name("repeats.txt")
OURS = tuple(f"{ROOT / name}/" for name in ("webapp", "jobs", "migrations"))
TESTS = f"{ROOT / 'tests'}/"

KEPT = re.compile(
    r"tests/(migrations|db/|accounts/test_idempotency|admin/test_backups|chat/test_faults"
    r"|transfer/test_restore\S*database"
    r"|(conversations|memories|retrieval)/\S*search|\S*test_order\.|\S*/test_ownership|\S*/test_hot_pages"
    r"|\S*_(race|conflict|(two|clicks|many)\S*_at_once|same_moment|twice|killed|dies_|while_|keeps_others))"
)
"""Tests about transactions, locks, order, dumps and search run on both, whatever they send."""

sent: dict[str, set[str]] = defaultdict(set)
seconds: dict[str, float] = defaultdict(float)
passed: set[str] = set()
only_here: set[str] = set()
"""Tests that MariaDB's run skips."""
_now: list[str] = []


@cache
def read_names() -> frozenset[str]:
    """The names, without parameters, of tests that only repeat on SQLite what others send there."""
    lines = LISTED.read_text().splitlines() if LISTED.exists() else []
    return frozenset(line for line in lines if line and not line.startswith("#"))


def name_of(item: pytest.Item) -> str:
    """The name of a test in the list."""
    return item.nodeid.partition("[")[0]


def pytest_configure() -> None:
    """Listen to what is sent. Imported as an ordinary module, this one only reads the list."""
    event.listen(Engine, "before_cursor_execute", _note)
    event.listen(Engine, "handle_error", _note_error)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note which test the statements belong to, and how long it takes."""
    _now[:] = [name_of(item)]
    if item.get_closest_marker("skipif"):
        only_here.add(name_of(item))
    began = time.process_time()
    try:
        return (yield)
    finally:
        seconds[name_of(item)] += time.process_time() - began


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note which tests have passed."""
    if report.when == "call" and report.passed:
        passed.add(report.nodeid.partition("[")[0])


def _note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
    if _now and _is_ours(sys._getframe(1)):
        sent[_now[0]].add(_shape(statement))


def _note_error(context: Any) -> None:
    if _now:
        sent[_now[0]].add(f"{type(context.original_exception).__name__}: {_shape(context.statement or '')}")


def _is_ours(frame: FrameType | None) -> bool:
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(OURS):
            return True
        if name.startswith(TESTS):
            return False
        frame = frame.f_back
    return True  # a library's thread


COLUMN = r'[\w."]+(?: AS [\w"]+)?'
VALUES = re.compile(r"\(\?(?:, \?)*\)(?:, \(\?(?:, \?)*\))*")


def _shape(statement: str) -> str:
    """The statement, regardless of which columns it reads or writes, and of the number of its values."""
    shape = re.sub(r"\?(, \?)+", "?", VALUES.sub("(?)", statement))
    shape = re.sub(rf"(SELECT|RETURNING) {COLUMN}(, {COLUMN})+", r"\1 columns", shape)
    return re.sub(r"(INTO \w+) \([^()]+\)", r"\1", re.sub(r"SET \w+=\?(, \w+=\?)*", "SET columns", shape))


def pytest_sessionfinish() -> None:
    """Choose tests, and write the names of the rest to the list."""
    if not passed:
        return
    chosen = {name for name in passed if KEPT.match(name)} | (passed & only_here)
    open_ones = set().union(*sent.values()) - set().union(*(sent[name] for name in chosen))
    left = passed - chosen
    while open_ones:
        best = max(left, key=lambda name: len(sent[name] & open_ones) / (seconds[name] + 0.02))
        if not sent[best] & open_ones:
            break
        chosen.add(best)
        left.discard(best)
        open_ones -= sent[best]
    head = "# Made by tests/support/repeats.py, which says what for.\n"
    LISTED.write_text(head + "".join(f"{name}\n" for name in sorted(left)))
    cost = sum(seconds[name] for name in chosen)
    print(f"\n{len(chosen)} of {len(passed)} stay: {cost:.0f} of {sum(seconds.values()):.0f} s")
