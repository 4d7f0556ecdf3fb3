"""Imports and exports."""

from __future__ import annotations

from jobs.runner import job
from webapp.transfer import exporting, importing, learning, leaving, looking, undoing


@job("look_at_import")
def look_at_import(import_id: int) -> str:
    """Continue finding out what an uploaded file contains for a while."""
    return looking.look_at(import_id)


@job("import")
def run_import(import_id: int) -> str:
    """Continue an import for a while."""
    return importing.run(import_id)


@job("undo_import")
def undo_import(import_id: int) -> str:
    """Continue undoing an import for a while."""
    return undoing.run(import_id)


@job("export")
def make_export(export_id: int) -> str:
    """Continue writing the file of an export for a while."""
    return exporting.make(export_id)


@job("delete_account")
def delete_account(user_id: int) -> str:
    """Continue deleting an account for a while."""
    return leaving.delete_account(user_id)


@job("learn")
def learn(import_id: int) -> str:
    """Continue learning from an import for a few calls."""
    return learning.run(import_id)
