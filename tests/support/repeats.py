"""Which tests send SQLite nothing that other tests do not: `repeats.txt` names them, and they are left out there.

A test is worth running on SQLite besides MariaDB for what the application's statements are made of in it, and for how
they fail. This plugin records that while all tests run on SQLite, and picks the cheapest tests that together use every
keyword, function and operator on each table. Tests that are not listed run; new ones therefore do, until the list is
regenerated with

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
    r"|\S*_(race|conflict|(two|clicks|many)\S*_at_once|same_moment|twice|killed|dies_|while_|keeps_others|nothing_is_left))"
)
"""Tests about transactions, locks, order, cascades, dumps and search run on both, whatever they send."""

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
        sent[_now[0]] |= _constructs(statement)


def _note_error(context: Any) -> None:
    if _now:
        failed = type(context.original_exception).__name__
        sent[_now[0]] |= {f"{failed} {each}" for each in _constructs(context.statement or "")}


def _is_ours(frame: FrameType | None) -> bool:
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(OURS):
            return True
        if name.startswith(TESTS):
            return False
        frame = frame.f_back
    return True  # a library's thread


def _constructs(statement: str) -> set[str]:
    """Each keyword, function and operator with each table: what a database may do in a way of its own."""
    tables = set(re.findall(r"(?:FROM|JOIN|INTO|UPDATE|TABLE) (\w+)", statement))
    words = set(re.findall(r"\b[A-Z]+\b|\w+(?=\()|[^\w\s,.?()'\"]+", statement))
    return {f"{word} {table}" for word in words for table in tables or {""}}


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
