"""Documents of spaces as original files: adding, downloading, and viewing them page by page."""

from __future__ import annotations

from flask import Blueprint, Response, flash, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id, signed_in
from webapp.database import db
from webapp.errors import DomainError
from webapp.files import documents, service
from webapp.files.api import limit_files, send_document, send_document_picture, stream_of
from webapp.files.citing import in_three
from webapp.files.pages import asked_picture
from webapp.languages.speaking import gettext as _
from webapp.languages.speaking import translated
from webapp.spaces.service import require_member, view_space
from webapp.web import ViewResult

blueprint = Blueprint("document_files", __name__)


@blueprint.post("/spaces/<int:space_id>/documents/files")
@signed_in
@limit_files
def add(space_id: int) -> ViewResult:
    """Take in files as documents of a space."""
    require_member(current_user_id(), space_id)
    for file in request.files.getlist("file")[: service.MOST_ATTACHED]:
        if not file.filename:
            continue
        try:
            made = documents.take_into_space(current_user_id(), space_id, file.filename, stream_of(file))
            db.session.commit()
            flash(_("“%(title)s” has been added.", title=made.title), "message")
        except DomainError as error:
            db.session.rollback()
            said = (error.errors or [{"msg": error.detail}])[0]["msg"]
            flash(_("%(file)s: %(problem)s", file=file.filename[-60:], problem=translated(said)), "error")
    return redirect(url_for("documents_pages.index", space_id=space_id), 303)


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/pages/<int:number>")
@signed_in
def page(space_id: int, document_id: int, number: int) -> ViewResult:
    """One page, as it looks if it can be drawn, with certain words highlighted."""
    user_id = current_user_id()
    found = documents.page_of_document(user_id, space_id, document_id, number)
    words = request.args.get("words", "")[:500]
    return render_template(
        "spaces/document_page.html",
        space=view_space(user_id, space_id),
        document=found.document,
        page=found,
        parts=in_three(found.text, words),
        words=words,
        tab="documents",
    )


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/picture")
@signed_in
def picture(space_id: int, document_id: int) -> Response:
    """A page of a PDF as it looks."""
    return send_document_picture(space_id, document_id, asked_picture())


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/content")
@signed_in
def content(space_id: int, document_id: int) -> Response:
    """The original file."""
    return send_document(space_id, document_id)
