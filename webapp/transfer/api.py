"""JSON endpoints of imports and exports."""

from typing import Any

from flask import send_file
from werkzeug.exceptions import PreconditionFailed

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, password_required, writes
from webapp.db.base import db
from webapp.extensions import limiter
from webapp.http.forms import read_body
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.http.views import accepts_files
from webapp.transfer import export_jobs, import_learning, service, storage
from webapp.transfer.models import Import
from webapp.transfer.schemas import (
    ExportList,
    ExportOut,
    ImportList,
    ImportOut,
    ItemList,
    ItemOut,
    ItemQuery,
    LearnFields,
    LearningOut,
    NewExport,
    PastedImport,
    StartImport,
    UploadedExport,
)

blueprint = api_blueprint("transfer_api", __name__, tag="Import and export", access="user")

limit_transfers = limiter.shared_limit("60 per hour", scope="transfer", key_func=lambda: f"user:{current_user_id()}")


@blueprint.post("/imports", status=202)
@limit_transfers
@accepts_files(UploadedExport, PastedImport)
@idempotency.idempotent
def create_import() -> ImportOut:
    """Bring in an export: a `file` as multipart form data, or pasted `text` as JSON. It is looked at first."""
    body = read_body()
    if isinstance(body, PastedImport):
        return ImportOut.of(service.paste(current_user_id(), body))
    return ImportOut.of(service.upload(current_user_id(), body.file, body.format or None))


@blueprint.get("/imports")
def list_imports(query: PageQuery) -> ImportList:
    """Your imports, newest first."""
    return ImportList.of(service.list_imports(current_user_id(), query).map(ImportOut.of))


@blueprint.get("/imports/<int:import_id>")
def get_import(import_id: Id) -> ImportOut:
    """Return how far an import is, and what is in its file."""
    return ImportOut.of(service.get_import(current_user_id(), import_id))


@blueprint.get("/imports/<int:import_id>/items")
def list_items(import_id: Id, query: ItemQuery) -> ItemList:
    """Return what became of each part of an import, and why."""
    return ItemList.of(service.list_items(current_user_id(), import_id, query).map(ItemOut.of))


@blueprint.post("/imports/<int:import_id>/start", status=202)
def start_import(import_id: Id, body: StartImport) -> ImportOut:
    """Take in what is in the file, or a part of it."""
    return ImportOut.of(service.start(current_user_id(), import_id, body))


@blueprint.post("/imports/<int:import_id>/cancel", status=202)
def cancel_import(import_id: Id) -> ImportOut:
    """Stop an import. What it has taken in stays until it is undone."""
    return ImportOut.of(service.cancel(current_user_id(), import_id))


@blueprint.post("/imports/<int:import_id>/undo", status=202)
def undo_import(import_id: Id) -> ImportOut:
    """Take back everything an import brought."""
    return ImportOut.of(service.undo(current_user_id(), import_id))


@blueprint.get("/imports/<int:import_id>/learning")
def get_learning(import_id: Id) -> LearningOut:
    """Return what learning from the conversations of an import would cost, and how it stands."""
    return _learning_out(service.get_import(current_user_id(), import_id))


@blueprint.post("/imports/<int:import_id>/learning", status=202)
def start_learning(import_id: Id, body: LearnFields) -> LearningOut:
    """Learn from the conversations of an import, or go on after a pause; what is found waits in review."""
    return _learning_out(import_learning.begin(current_user_id(), import_id, body))


@blueprint.post("/imports/<int:import_id>/learning/pause", status=202)
def pause_learning(import_id: Id) -> LearningOut:
    """Wait after the question that is being asked."""
    return _learning_out(import_learning.stop(current_user_id(), import_id, for_good=False))


@blueprint.post("/imports/<int:import_id>/learning/stop", status=202)
def stop_learning(import_id: Id) -> LearningOut:
    """Learn nothing more from this import."""
    return _learning_out(import_learning.stop(current_user_id(), import_id, for_good=True))


@blueprint.post("/exports", status=202)
@password_required
@limit_transfers
@idempotency.idempotent
def create_export(body: NewExport) -> ExportOut:
    """Export your account, a conversation or your memories to a file."""
    return ExportOut.from_row(export_jobs.create_export(current_user_id(), body))


@blueprint.get("/exports")
def list_exports(query: PageQuery) -> ExportList:
    """Your exports, newest first."""
    return ExportList.of(export_jobs.list_exports(current_user_id(), query).map(ExportOut.from_row))


@blueprint.get("/exports/<int:export_id>")
def get_export(export_id: Id) -> ExportOut:
    """Return whether an export is ready."""
    return ExportOut.from_row(export_jobs.get_export(current_user_id(), export_id))


@blueprint.get(
    "/exports/<int:export_id>/download",
    responses={200: {"description": "The file", "content": {"*/*": {}}}, 409: {"description": "Not made yet"}},
)
@writes
def download_export(export_id: Id) -> Any:
    """The file of an export."""
    return send_export(export_id)


def send_export(export_id: int) -> Any:
    """Return the file of one of the caller's exports, as a download."""
    row = export_jobs.download(current_user_id(), export_id)
    place, name, media_type = storage.path_of(row.stored_as or ""), row.filename, row.media_type
    db.session.commit()
    db.session.remove()  # a large file takes a while, and needs no connection
    response = send_file(place, mimetype=media_type, as_attachment=True, download_name=name, max_age=0)
    if response.status_code == 412:  # which Werkzeug sends with the file
        response.close()
        raise PreconditionFailed
    return response


def _learning_out(row: Import) -> LearningOut:
    estimate = import_learning.estimate(row.user_id, row.import_id)
    return LearningOut(status=row.learn_status, progress=row.learning, **estimate.model_dump())
