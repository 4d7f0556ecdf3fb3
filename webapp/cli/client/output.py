"""Output: columns in a terminal, lines with tabs in pipes, JSON on request."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return a text without what could control a terminal: escapes, other control characters, changes of direction."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 0) -> str:
    """Return a text on one line of at most `limit` characters; 0 means no limit."""
    line = " ".join(clean(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def say(text: str, *, end: str = "\n") -> None:
    """Write to standard output, unbuffered."""
    click.echo(clean(text) + end, nl=False)


def note(text: str) -> None:
    """Print something besides the result: on standard error, and only in a terminal."""
    if sys.stderr.isatty():
        click.echo(clean(text), err=True)


def dump(value: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def show(value: Any, as_json: bool, line: str) -> None:
    """Print a value as JSON if that was asked for, otherwise a line about it."""
    if as_json:
        dump(value)
    else:
        say(line)


def table(value: Any, as_json: bool, columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Print a value as JSON if that was asked for, otherwise the rows about it: in columns with their names in a
    terminal, else with tabs; if there are none, note `empty`."""
    lines = [[one_line(str(cell)) for cell in row] for row in rows]
    if as_json:
        dump(value)
    elif not lines:
        note(empty)
    elif sys.stdout.isatty():
        lines.insert(0, [*columns])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            click.echo("  ".join(map(str.ljust, line, widths)).rstrip())
    else:
        for line in lines:
            click.echo("\t".join(line))
