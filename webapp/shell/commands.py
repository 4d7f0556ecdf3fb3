"""Wires what `flask --app wsgi` runs: the commands of all domains, and migrations."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click
from flask import Flask
from flask.cli import AppGroup
from pydantic import ValidationError
from redis.exceptions import RedisError
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError

from webapp.accounts.cli import api_tokens, users
from webapp.admin.cli import backups, doctor
from webapp.db.base import db
from webapp.db.conflicts import forget_session
from webapp.db.engine import public_url
from webapp.db.failures import database_is_full
from webapp.db.migrations import init_migrations
from webapp.errors import DomainError, reason
from webapp.files.cli import files
from webapp.http.problems import field_errors
from webapp.journeys.cli import journeys, prepare
from webapp.memories.cli import memories
from webapp.readiness import current_revision, newest_revision
from webapp.retrieval.cli import embeddings
from webapp.transfer.cli import transfer

log = logging.getLogger(__name__)


class CommandGroup(AppGroup):
    """Commands that end with a sentence and exit code 1 if something is wrong other than the program itself."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a command by its name."""
        ctx.with_resource(_sentences())
        return super().get_command(ctx, name)


def register(app: Flask) -> None:
    """Register the commands."""
    app.cli = CommandGroup(app.name, app.cli.commands)
    init_migrations(app)
    for command in (api_tokens, backups, doctor, embeddings, files, journeys, memories, prepare, transfer, users):
        app.cli.add_command(command)


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except (ValidationError, DomainError, OSError, RedisError, DBAPIError) as error:
        sentence = _sentence(error)
        if not sentence:
            raise
        log.debug("the command failed", exc_info=True)
        raise click.ClickException(sentence) from None


def _sentence(error: Exception) -> str:
    """Return what is wrong with the input or the machine; empty if the program is."""
    if isinstance(error, ValidationError):
        return _in_line(field_errors(error))
    if isinstance(error, DomainError):
        return _in_line(error.errors or []) or str(error)
    if not isinstance(error, DBAPIError):
        return f"{'Redis: ' if isinstance(error, RedisError) else ''}{reason(error)}."
    advice = "" if database_is_full(error) or _is_current() else " Run flask --app wsgi prepare first."
    if not advice and not isinstance(error, InternalError | OperationalError):
        return ""
    return f"{public_url(db.engine)}: {reason(error)}.{advice}"


def _in_line(errors: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"{'.'.join(item['loc'])} {item['msg']}" for item in errors)


def _is_current() -> bool:
    """Return whether the database has no migration before it, as far as it lets anybody see."""
    forget_session()
    with suppress(DBAPIError):
        return current_revision() == newest_revision()
    return True
