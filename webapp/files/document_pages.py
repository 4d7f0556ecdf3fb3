"""Documents of spaces as original files: adding, downloading, and viewing them page by page."""

from flask import Response, flash, redirect, render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import DomainError
from webapp.files import documents, service
from webapp.files.api import limit_files, send_document, send_document_picture, stream_of
from webapp.files.citations import split_around
from webapp.files.pages import requested_picture
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n.request_language import gettext as _, translate
from webapp.spaces.service import require_member, view_space

blueprint = PageBlueprint("document_files", __name__, access="user")


@blueprint.post("/spaces/<int:space_id>/documents/files")
@limit_files
def add(space_id: int) -> ViewResult:
    """Take in files as documents of a space."""
    require_member(current_user_id(), space_id)
    for file in request.files.getlist("file")[: service.MAX_ATTACHED]:
        if not file.filename:
            continue
        try:
            document = documents.upload_to_space(current_user_id(), space_id, file.filename, stream_of(file))
            db.session.commit()
            flash(_("“%(title)s” has been added.", title=document.title), "message")
        except DomainError as error:
            db.session.rollback()
            flash(_("%(file)s: %(problem)s", file=file.filename[-60:], problem=translate(error.problem)), "error")
    return redirect(url_for("documents_pages.index", space_id=space_id), 303)


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/pages/<int:number>")
def page(space_id: int, document_id: int, number: int) -> ViewResult:
    """One page, as it looks if it can be drawn, with certain words highlighted."""
    user_id = current_user_id()
    page = documents.page_of_document(user_id, space_id, document_id, number)
    words = request.args.get("words", "")[:500]
    return render_template(
        "spaces/document_page.html",
        space=view_space(user_id, space_id),
        document=page.document,
        page=page,
        parts=split_around(page.text, words),
        words=words,
        tab="documents",
    )


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/picture")
def picture(space_id: int, document_id: int) -> Response:
    """A page of a PDF as it looks."""
    return send_document_picture(space_id, document_id, requested_picture())


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/content")
def content(space_id: int, document_id: int) -> Response:
    return send_document(space_id, document_id)
