"""Commands of `flask --app wsgi`, run in the test's own process."""

from collections.abc import Mapping
from unittest import mock

from click.testing import CliRunner, Result
from flask.cli import FlaskGroup

from webapp.shell.command_line import CommandLine


def run_command(environ: Mapping[str, str], *words: str) -> Result:
    """Run one to its end in an application of its own, with this environment and no other."""
    with mock.patch.dict("os.environ", environ, clear=True), mock.patch("sys.argv", ["flask", *words]):
        return CliRunner().invoke(FlaskGroup(create_app=CommandLine), words)
