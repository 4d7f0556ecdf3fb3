"""Imports and exports."""

from jobs.runner import job
from webapp.transfer import account_erasure, export_jobs, import_jobs, import_learning, import_undo, preview


@job("look_at_import")
def look_at_import(import_id: int) -> str:
    """Continue finding out what an uploaded file contains for a while."""
    return preview.look_at(import_id)


@job("import")
def run_import(import_id: int) -> str:
    """Continue an import for a while."""
    return import_jobs.run(import_id)


@job("undo_import")
def undo_import(import_id: int) -> str:
    """Continue undoing an import for a while."""
    return import_undo.run(import_id)


@job("export")
def make_export(export_id: int) -> str:
    """Continue writing the file of an export for a while."""
    return export_jobs.make(export_id)


@job("delete_account")
def delete_account(user_id: int) -> str:
    """Continue deleting an account for a while."""
    return account_erasure.delete_account(user_id)


@job("learn")
def learn(import_id: int) -> str:
    """Continue learning from an import for a few calls."""
    return import_learning.run(import_id)
