"""What is shown: tables in a terminal where rich is installed, plain lines in pipes, JSON where asked for."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """A text without what could command a terminal: escapes, other control characters, turned directions."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def one_line(text: str, most: int = 0) -> str:
    """A text in one line of at most `most` characters; 0 is no limit."""
    line = " ".join(clean(text).split())
    return line if not most or len(line) <= most else line[: most - 1] + "…"


def say(text: str, *, end: str = "\n") -> None:
    """Write to standard output, at once."""
    click.echo(clean(text) + end, nl=False)


def note(text: str) -> None:
    """Say something beside the result: on standard error, and only to a person."""
    if sys.stderr.isatty():
        click.echo(clean(text), err=True)


def dump(value: Any) -> None:
    """One JSON document."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Rows under their columns in a terminal, else one row a line with tabs; `empty` is said to a person if none."""
    lines = [[one_line(str(cell)) for cell in row] for row in rows]
    if not lines:
        note(empty)
    elif not sys.stdout.isatty() or not _with_rich(columns, lines):
        for line in lines:
            click.echo("\t".join(line))


def _with_rich(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))
    Console().print(shown)
    return True
