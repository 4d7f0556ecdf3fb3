"""Errors of the client and their exit codes."""

from __future__ import annotations

import click

FAILED, USAGE, REFUSED, UNKNOWN, AWAY = 1, 2, 3, 4, 5
"""Exit codes: the server refused; the command is wrong; the token is missing or insufficient; not found; the server
cannot be reached. 130 is Ctrl-C."""
INTERRUPTED = 130


class Trouble(click.ClickException):
    """A sentence for the caller, on standard error; the exit code; and the HTTP status if there was one."""

    def __init__(self, message: str, code: int = FAILED, *, status: int = 0) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]  # click's own errors say it per class
        self.status = status
