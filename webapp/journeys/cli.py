"""Journeys on the command line: `flask --app wsgi journeys load [--force]`, and `prepare` before a start."""

from collections.abc import Sequence
from pathlib import Path

import click
from flask.cli import AppGroup, with_appcontext
from flask_migrate import upgrade

from webapp.db.base import db, write_transaction
from webapp.db.migrations import connect_with_retry, make_database_file
from webapp.journeys.journey_files import FixtureError, folders, load_journeys

journeys = AppGroup("journeys", help="Guided conversations.")


@journeys.command("load")
@click.option(
    "--force", is_flag=True, help="Also update journeys that are already loaded, and archive those that are gone."
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="Folder to read, instead of the built-in journeys and JOURNEYS_FOLDER.",
)
def load(force: bool, folder: Path | None) -> None:
    """Load journeys from their JSON files. What users have said is kept."""
    _load(force, [folder] if folder else folders())


@click.command("prepare")
@click.option(
    "--wait", type=float, default=60, show_default=True, help="Seconds that the database may take to start, or inf."
)
@with_appcontext
def prepare(wait: float) -> None:
    """Update the database to this version: migrations, then new journeys. Safe to run at every start."""
    make_database_file(db.engine)
    connect_with_retry(db.engine, wait).close()
    upgrade()
    _load(False, folders())


def _load(force: bool, where: Sequence[Path]) -> None:
    try:
        with write_transaction():
            result = load_journeys(*where, force=force)
    except FixtureError as error:
        raise click.ClickException("nothing was loaded\n  " + "\n  ".join(error.problems)) from None
    for word, slugs in (("new", result.created), ("updated", result.updated), ("archived", result.archived)):
        for slug in slugs:
            click.echo(f"{word}: {slug}")
    for slug in result.differing:
        click.echo(f"differs from its file, use --force to change it: {slug}")
    if result.unchanged:
        click.echo(f"unchanged: {', '.join(result.unchanged)}")
