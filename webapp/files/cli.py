"""Looking after the bytes of files on the command line: `flask --app wsgi files …`."""

import click
from flask.cli import AppGroup, with_appcontext

from webapp.errors import Unavailable
from webapp.extensions import app_settings
from webapp.files.storage import Folder, file_storage

files = AppGroup("files", help="The bytes of attachments.")


@files.command("move")
@with_appcontext
def move() -> None:
    """Move what is in VAR_DIR/files into the configured bucket; safe to run again, and while everything runs."""
    if not app_settings().s3_bucket:
        raise click.ClickException("No bucket is set: name one in S3_BUCKET.")
    folder, moved = Folder(app_settings().var_dir.absolute() / "files"), 0
    try:
        for key, _ in list(folder.entries()):
            if ".pictures/" in key:
                continue  # drawn again when they are asked for
            if file_storage().size(key) is None:
                with folder.path(key).open("rb") as data, file_storage().store(key, data):
                    moved += 1
            folder.delete(key)
    except Unavailable as error:
        raise click.ClickException(f"{moved} files were moved, then the bucket could not be reached.") from error
    click.echo(f"{moved} files are now in {app_settings().s3_bucket}.")
