"""JSON endpoints of imports and exports."""

from typing import Any

from flask import request, send_file

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required, password_required, writes
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.extensions import limiter
from webapp.http.answers import commit_json
from webapp.http.forms import validate
from webapp.http.paging import PageQuery
from webapp.http.views import ViewResult, accepts_files, api_blueprint
from webapp.transfer import export_jobs, import_learning, service, storage
from webapp.transfer.models import Import
from webapp.transfer.schemas import (
    ExportList,
    ExportOut,
    ExportPath,
    ImportList,
    ImportOut,
    ImportPath,
    ItemList,
    ItemOut,
    ItemQuery,
    LearnFields,
    LearningOut,
    NewExport,
    PastedImport,
    StartImport,
)

blueprint = api_blueprint("transfer_api", __name__, tag="Import and export")

limit_transfers = limiter.shared_limit("60 per hour", scope="transfer", key_func=lambda: f"user:{current_user_id()}")


@blueprint.post("/imports", responses={202: ImportOut})
@login_required
@limit_transfers
@accepts_files
@idempotency.idempotent
def create_import() -> tuple[Any, int]:
    """Bring in an export: a `file` as multipart form data, or pasted `text` as JSON. It is looked at first."""
    if request.is_json:
        row = service.paste(current_user_id(), validate(PastedImport, request.get_json()))
    else:
        file = request.files.get("file")
        if file is None:
            raise Invalid.field("file", "is missing")
        row = service.upload(current_user_id(), file, request.form.get("format") or None)
    return idempotency.commit_json(ImportOut.of(row), 202)


@blueprint.get("/imports", responses={200: ImportList})
@login_required
def list_imports(query: PageQuery) -> dict[str, Any]:
    """Your imports, newest first."""
    page = service.list_imports(current_user_id(), query)
    listing = ImportList(imports=[ImportOut.of(row) for row in page.items], next_cursor=page.next_cursor)
    return listing.model_dump(mode="json")


@blueprint.get("/imports/<int:import_id>", responses={200: ImportOut})
@login_required
def get_import(path: ImportPath) -> dict[str, Any]:
    """Return how far an import is, and what is in its file."""
    return ImportOut.of(service.get_import(current_user_id(), path.import_id)).model_dump(mode="json")


@blueprint.get("/imports/<int:import_id>/items", responses={200: ItemList})
@login_required
def list_items(path: ImportPath, query: ItemQuery) -> dict[str, Any]:
    """Return what became of each part of an import, and why."""
    page = service.list_items(current_user_id(), path.import_id, query)
    listing = ItemList(items=[ItemOut.of(row) for row in page.items], next_cursor=page.next_cursor)
    return listing.model_dump(mode="json")


@blueprint.post("/imports/<int:import_id>/start", responses={202: ImportOut})
@login_required
def start_import(path: ImportPath, body: StartImport) -> ViewResult:
    """Take in what is in the file, or a part of it."""
    return commit_json(ImportOut.of(service.start(current_user_id(), path.import_id, body)), 202)


@blueprint.post("/imports/<int:import_id>/cancel", responses={202: ImportOut})
@login_required
def cancel_import(path: ImportPath) -> ViewResult:
    """Stop an import. What it has taken in stays until it is undone."""
    return commit_json(ImportOut.of(service.cancel(current_user_id(), path.import_id)), 202)


@blueprint.post("/imports/<int:import_id>/undo", responses={202: ImportOut})
@login_required
def undo_import(path: ImportPath) -> ViewResult:
    """Take back everything an import brought."""
    return commit_json(ImportOut.of(service.undo(current_user_id(), path.import_id)), 202)


@blueprint.get("/imports/<int:import_id>/learning", responses={200: LearningOut})
@login_required
def get_learning(path: ImportPath) -> dict[str, Any]:
    """Return what learning from the conversations of an import would cost, and how it stands."""
    return _learning(service.get_import(current_user_id(), path.import_id))


@blueprint.post("/imports/<int:import_id>/learning", responses={202: LearningOut})
@login_required
def start_learning(path: ImportPath, body: LearnFields) -> tuple[Any, int]:
    """Learn from the conversations of an import, or go on after a pause; what is found waits in review."""
    return _learning(import_learning.begin(current_user_id(), path.import_id, body), commit=True), 202


@blueprint.post("/imports/<int:import_id>/learning/pause", responses={202: LearningOut})
@login_required
def pause_learning(path: ImportPath) -> tuple[Any, int]:
    """Wait after the question that is being asked."""
    return _learning(import_learning.pause(current_user_id(), path.import_id), commit=True), 202


@blueprint.post("/imports/<int:import_id>/learning/stop", responses={202: LearningOut})
@login_required
def stop_learning(path: ImportPath) -> tuple[Any, int]:
    """Learn nothing more from this import."""
    return _learning(import_learning.stop(current_user_id(), path.import_id), commit=True), 202


@blueprint.post("/exports", responses={202: ExportOut})
@login_required
@password_required
@limit_transfers
@idempotency.idempotent
def create_export(body: NewExport) -> tuple[Any, int]:
    """Have your account, a conversation or your memories written to a file."""
    row = export_jobs.create_export(current_user_id(), body)
    return idempotency.commit_json(ExportOut.from_row(row), 202)


@blueprint.get("/exports", responses={200: ExportList})
@login_required
def list_exports(query: PageQuery) -> dict[str, Any]:
    """Your exports, newest first."""
    page = export_jobs.list_exports(current_user_id(), query)
    listing = ExportList(exports=[ExportOut.from_row(row) for row in page.items], next_cursor=page.next_cursor)
    return listing.model_dump(mode="json")


@blueprint.get("/exports/<int:export_id>", responses={200: ExportOut})
@login_required
def get_export(path: ExportPath) -> dict[str, Any]:
    """Return whether an export is ready."""
    return ExportOut.from_row(export_jobs.get_export(current_user_id(), path.export_id)).model_dump(mode="json")


@blueprint.get(
    "/exports/<int:export_id>/download",
    responses={200: {"description": "The file", "content": {"*/*": {}}}, 409: {"description": "Not made yet"}},
)
@login_required
@writes
def download_export(path: ExportPath) -> Any:
    """The file of an export."""
    return send_export(path.export_id)


def send_export(export_id: int) -> Any:
    """Return the file of one of the caller's exports, as a download."""
    row = export_jobs.download(current_user_id(), export_id)
    place, name, media_type = storage.path_of(row.stored_as or ""), row.filename, row.media_type
    db.session.commit()
    db.session.remove()  # a large file takes a while, and needs no connection
    return send_file(place, mimetype=media_type, as_attachment=True, download_name=name, max_age=0)


def _learning(row: Import, *, commit: bool = False) -> dict[str, Any]:
    status, progress, user_id, import_id = row.learn_status, row.learning, row.user_id, row.import_id
    if commit:
        db.session.commit()
    estimate = import_learning.estimate(user_id, import_id)
    return LearningOut(status=status, progress=progress, **estimate.model_dump()).model_dump(mode="json")
