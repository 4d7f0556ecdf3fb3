"""The application as the `flask` program finds it in wsgi.py: its commands by name, itself once one of them runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import click
from flask import Flask, current_app
from flask.cli import AppGroup
from flask.ctx import AppContext

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

SUMMARIES = {
    "backup": "Back up and restore everything, in one file.",
    "db": "Perform database migrations.",
    "doctor": "Check keys, data, servers, clocks, queues, workers, disk, model, mail, proxy; exit code 1 for a fault.",
    "embeddings": "Vectors for search.",
    "files": "The bytes of attachments.",
    "journeys": "Guided conversations.",
    "memories": "Memories.",
    "openapi": "Export the OpenAPI Specification to console or a file",
    "prepare": "Update the database to this version: migrations, then new journeys. Safe to run at every start.",
    "token": "API tokens.",
    "transfer": "Imports and exports.",
    "user": "Accounts.",
}
"""What the commands of the application say of themselves (tests/shell/test_command_line.py compares)."""
_ABOUT_ROUTES = {"openapi", "routes", "run", "shell"}
"""Commands that want to see what is served; the others load no routes."""


class CommandLine(Flask):
    """Stands for the application, which takes seconds to load: lists its commands, and loads it for anything else."""

    def __init__(self) -> None:
        super().__init__("webapp", static_folder=None)
        self.cli = _Listing(self)

    @cached_property
    def application(self) -> Flask:
        """Return the application itself."""
        from webapp.config import ConfigError  # noqa: PLC0415  (seconds of loading that help does without)
        from webapp.shell.factory import build  # noqa: PLC0415

        if _ABOUT_ROUTES.isdisjoint(sys.argv):
            from webapp.shell.commands import register  # noqa: PLC0415
        else:
            from webapp.shell.routes import register  # type: ignore[assignment]  # noqa: PLC0415
        try:
            app = build()
        except ConfigError as error:
            raise click.ClickException(str(error)) from None
        register(app)
        return app

    def app_context(self) -> AppContext:
        """Return the context of the application."""
        return self.application.app_context()

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request with the application, for `flask run`."""
        return self.application.wsgi_app(environ, start_response)


class _Listing(AppGroup):
    def __init__(self, app: CommandLine) -> None:
        super().__init__()
        self._app = app

    def list_commands(self, ctx: click.Context) -> list[str]:
        # For help alone: a context of ours keeps Flask from asking for the application's for each name.
        ctx.with_resource(AppContext(self._app))
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if current_app._get_current_object() is self._app:  # type: ignore[attr-defined]  # a proxy, typed as what it stands for
            return click.Command(name, help=SUMMARIES[name])
        return self._app.application.cli.get_command(ctx, name)
