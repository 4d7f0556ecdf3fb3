"""Storage for uploads and finished exports: a folder in `var_dir` that web and workers share, readable only by us."""

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from flask import current_app
from sqlalchemy import select
from werkzeug.datastructures import FileStorage

from webapp.db.base import after_commit, db
from webapp.extensions import app_settings
from webapp.transfer.models import Export, Import

MAX_AGE_SECONDS = 86_400
"""A file that is younger may belong to a row that is not committed yet."""


def folder() -> Path:
    """Return the folder, created if it is missing."""
    path = app_settings().var_dir.absolute() / "transfer"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def store(upload: FileStorage | str) -> tuple[str, int]:
    """Store an upload, or a pasted text, under a name of our own; returns that name and the size in bytes."""
    with open_new_file() as (name, file):
        if isinstance(upload, str):
            file.write(upload.encode("utf-8", "replace"))
        else:
            upload.save(file)
    return name, path_of(name).stat().st_size


@contextmanager
def open_new_file() -> Iterator[tuple[str, BinaryIO]]:
    """Yield a new file to write, with its name; nothing is left of it if writing fails."""
    name = secrets.token_hex(16)
    path = folder() / name
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield name, file
    except BaseException:
        with suppress(FileNotFoundError):
            path.unlink()
        raise


def path_of(name: str) -> Path:
    """Return the path of a stored file."""
    return folder() / Path(name).name


def drop_file_of(row: Import | Export) -> None:
    """Delete the file of an import or an export once that is committed: until then it may be needed again."""
    after_commit(partial(drop, row.stored_as))
    row.stored_as = None


def drop(name: str | None) -> None:
    """Delete a stored file, if it is there."""
    if name:
        try:
            path_of(name).unlink()
        except FileNotFoundError:
            pass
        except OSError:
            current_app.logger.warning("stored file not deleted", exc_info=True)


def sweep() -> int:
    """Delete old files that no row names, as a process that is killed leaves them; return how many."""
    before = time.time() - MAX_AGE_SECONDS
    old = {path.name for path in folder().iterdir() if path.stat().st_mtime < before}
    left = old.difference(*(db.session.scalars(select(model.stored_as)) for model in (Import, Export)))
    db.session.rollback()
    for name in left:
        drop(name)
    return len(left)
