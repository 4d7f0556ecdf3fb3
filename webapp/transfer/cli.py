"""Imports and exports from the command line: `flask --app wsgi transfer …`."""

import shutil
from pathlib import Path

import click
from flask.cli import AppGroup

from webapp.accounts.cli import email_option
from webapp.accounts.service import find_user
from webapp.background.time_slices import ENDLESS
from webapp.db.base import write_transaction
from webapp.http.validation import MAX_ID
from webapp.transfer import export_jobs, import_jobs, import_learning, preview, service, storage
from webapp.transfer.pages import COUNT_LABELS
from webapp.transfer.readers import READERS
from webapp.transfer.schemas import NewExport, StartImport

transfer = AppGroup("transfer", help="Imports and exports.")


@transfer.command("export")
@email_option
@click.option("--what", type=click.Choice(("account", "memories")), default="account", show_default=True)
@click.option("--format", "form", help="Of memories: markdown, text, json or mem.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.argument("path", type=click.Path(dir_okay=False, writable=True, path_type=Path))
def export(email: str, what: str, form: str | None, force: bool, path: Path) -> None:
    """Write an account with the spaces it owns, or its memories, to a file. The account's activity shows it."""
    if path.exists() and not force:
        raise click.ClickException(f"{path} already exists. Use --force to overwrite it.")
    user_id = find_user(email).user_id
    with write_transaction():
        fields = NewExport.model_validate({"what": what, "format": form})
        export_id = export_jobs.create_export(user_id, fields, by_job=False).export_id
    export_jobs.make(export_id, seconds=ENDLESS)
    with write_transaction():
        stored = export_jobs.download(user_id, export_id).stored_as or ""
    path.touch(0o600)
    path.chmod(0o600)
    shutil.copyfile(storage.path_of(stored), path)
    click.echo(f"{path}: {path.stat().st_size:,} bytes")


@transfer.command("import")
@email_option
@click.option("--format", "form", type=click.Choice(tuple(READERS)), help="What the file is; recognised if left out.")
@click.option(
    "--restore/--no-restore", default=None, help="Restore a Commonplace export as it was, or import it like any other."
)
@click.option("--learn", is_flag=True, help="Learn from the conversations afterwards, in a job.")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_file(email: str, form: str | None, restore: bool | None, learn: bool, path: Path) -> None:
    """Import a file for somebody, from the first part to the last, and print the result."""
    user_id = find_user(email).user_id
    with path.open("rb") as source, storage.open_new_file() as (name, file):
        shutil.copyfileobj(source, file)
    with write_transaction():
        row = service.add_stored(user_id, path.name, name, path.stat().st_size, form, by_job=False)
        import_id = row.import_id
    if preview.inspect_upload(import_id, seconds=ENDLESS) != "ready":
        raise click.ClickException(service.get_import(user_id, import_id).error or "It cannot be taken in.")
    with write_transaction():
        service.start(user_id, import_id, StartImport(restore=restore, learn=learn or None))
    import_jobs.run(import_id, seconds=ENDLESS)
    row = service.get_import(user_id, import_id)
    for key, label in COUNT_LABELS.items():
        if row.counts.get(key):
            click.echo(f"{row.counts[key]:>8,} {label}")
    if row.error:
        click.echo(row.error, err=True)
    if row.status != "done":
        raise click.ClickException(f"The import is {row.status}.")


@transfer.command("estimate")
@email_option
@click.argument("import_id", type=click.IntRange(1, MAX_ID))
def estimate(email: str, import_id: int) -> None:
    """Print what learning from an import is likely to take: conversations, calls, tokens in and out, dollars."""
    estimate = import_learning.estimate(find_user(email).user_id, import_id)
    dollars = "unknown" if estimate.dollars is None else f"{estimate.dollars:.2f}"
    click.echo(
        f"{estimate.conversations}\t{estimate.calls}\t{estimate.input_tokens}\t{estimate.output_tokens}\t{dollars}"
    )
