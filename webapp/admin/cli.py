"""Maintaining an installation from the command line: `flask --app wsgi doctor` and `… backup …`."""

from functools import partial
from pathlib import Path

import click
from flask.cli import AppGroup, with_appcontext

from webapp.admin.backups.archive import Manifest
from webapp.admin.backups.backup import check_backup, make_backup, note_backup
from webapp.admin.backups.forget import forget_again
from webapp.admin.backups.restore import other_key, restore
from webapp.admin.doctor.checks import CHECKS, run_checks
from webapp.admin.doctor.findings import in_lines, is_sound
from webapp.admin.doctor.proxy import proxy
from webapp.db.base import db
from webapp.db.engine import public_url

backups = AppGroup("backup", help="Back up and restore everything, in one file.")
_file = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command("doctor")
@click.option("--url", help="The address people use; checks what stands in front by going through it.")
@with_appcontext
def doctor(url: str | None) -> None:
    """Check keys, data, servers, clocks, queues, workers, disk, model, mail, proxy; exit code 1 for a fault."""
    findings = run_checks((*CHECKS, partial(proxy, url)) if url else CHECKS)
    for line in in_lines(findings):
        click.echo(line)
    if not url:
        click.echo("Not checked: what stands in front. Use --url https://your.site to check it.")
    if not is_sound(findings):
        raise SystemExit(1)


@backups.command("create")
@_file
@click.option("--empty", is_flag=True, help="Also if there are no accounts.")
def create(file: Path, empty: bool) -> None:
    """Write a backup of the database, the attachments and the kept secret, while everything runs."""
    manifest = make_backup(file, may_be_empty=empty)
    note_backup()
    click.echo(f"Read {public_url(db.engine)}.")
    _print_manifest(manifest)
    click.echo(
        f"{file} contains what people wrote and, unless SECRET_KEY is set, the key: keep it where only you can read it."
    )


@backups.command("check")
@_file
def check(file: Path) -> None:
    """Read a backup to its end and say what is in it."""
    _print_manifest(check_backup(file))


@backups.command("restore")
@_file
def restore_backup(file: Path) -> None:
    """Fill an empty installation, on this or another kind of database. Nothing else may be running."""
    manifest = restore(file)
    _print_manifest(manifest)
    if other_key(manifest):
        click.echo(
            "SECRET_KEY is not the one the backup was made with. Set that one before you start. Without it people have "
            "to sign in again, the keys of model servers have to be entered again, and what was forgotten stays "
            "forgotten only with the earlier TOMBSTONE_KEYS.",
            err=True,
        )
    click.echo(f"Restored into {public_url(db.engine)}. Empty a Redis that was used with other data, then start.")
    click.echo("If there is a newer backup, first: flask --app wsgi backup forget NEWER")


@backups.command("forget")
@_file
def forget(file: Path) -> None:
    """Forget again, after an older backup was restored, what had been forgotten when a newer FILE was made."""
    result = forget_again(file)
    click.echo(f"Forgotten again: {result.memories}")
    if result.gone:
        click.echo(f"Accounts that are not in {file}, so probably deleted since: {', '.join(result.gone)}")
    if result.unmatched:
        raise click.ClickException(
            f"{result.unmatched} things cannot be recognised: they were forgotten under another SECRET_KEY. "
            "Set it, or its TOMBSTONE_KEYS, and repeat."
        )


def _print_manifest(manifest: Manifest) -> None:
    click.echo(f"{manifest.made_at}, from {manifest.database} at {manifest.revision}:")
    accounts, rows = manifest.tables.get("users", 0), sum(manifest.tables.values())
    click.echo(
        f"Accounts: {accounts}, rows: {rows}, tables: {len(manifest.tables)}, attachments: {manifest.attachments}"
    )
