"""Commands of `flask --app wsgi` in the test's own process."""

from collections.abc import Mapping
from unittest import mock

from click.testing import CliRunner, Result
from flask import Flask
from flask.cli import FlaskGroup

from webapp.config import Settings
from webapp.shell import commands
from webapp.shell.command_line import CommandLine
from webapp.shell.factory import build


def run_command(environ: Mapping[str, str], *words: str) -> Result:
    """Run one to its end in an application of its own, with this environment and no other."""
    with mock.patch.dict("os.environ", environ, clear=True), mock.patch("sys.argv", ["flask", *words]):
        return CliRunner().invoke(FlaskGroup(create_app=CommandLine), words)


def command_app(settings: Settings) -> Flask:
    """An application as commands have it: without routes, whose rules take five times as long to make as the rest."""
    app = build(settings)
    commands.register(app)
    return app
