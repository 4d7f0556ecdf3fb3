"""The common start of several commands: the server, and text from the arguments or through a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from webapp.cli.client import config
from webapp.cli.client.http import Server

as_json = click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")
in_space = click.option("--space", "space_id", type=click.IntRange(min=1), metavar="ID", help="In this space.")


def server(context: click.Context) -> Server:
    """Return the server that the command talks to. Raises Trouble without a token."""
    return Server(config.find(context.find_root().obj))


def read_piped_input() -> str:
    """Return what is piped in; empty in a terminal."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def words(parts: Sequence[str]) -> str:
    """Return the words of a command as one text; a lone `-` stands for piped input and is not a word."""
    return "" if tuple(parts) == ("-",) else " ".join(parts).strip()
