"""Pages of a space's documents: the list with progress, one document, and pasting."""

from flask import render_template, request, url_for

from webapp.accounts.auth import current_user_id
from webapp.http.forms import on_form, read_form
from webapp.http.validation import PageQuery
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.spaces import documents, service
from webapp.spaces.chunks import PAGE_END
from webapp.spaces.schemas import NewDocument

blueprint = PageBlueprint("documents_pages", __name__, access="user")

LABELS = N_({"title": "The title", "content": "The text"})


@blueprint.get("/spaces/<int:space_id>/documents")
def index(space_id: int) -> ViewResult:
    return _index(space_id)


@blueprint.post("/spaces/<int:space_id>/documents")
@on_form(lambda errors, space_id: _index(space_id, errors), LABELS, otherwise="content")
def add(space_id: int) -> ViewResult:
    service.require_member(current_user_id(), space_id)
    document = documents.add_document(current_user_id(), space_id, read_form(NewDocument))
    return commit_and_redirect(
        url_for(".index", space_id=space_id), _("“%(title)s” has been added.", title=document.title)
    )


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>")
def show(space_id: int, document_id: int) -> ViewResult:
    """A document; for HTMX, its line in the list with its progress."""
    user_id = current_user_id()
    document = documents.view_document(user_id, space_id, document_id)
    space = service.view_space(user_id, space_id)
    if wants_partial():
        return render_template("spaces/_document.html", space=space, document=document)
    text = documents.text_of(user_id, space_id, document_id)
    return render_template(
        "spaces/document.html", space=space, document=document, pages=text.split(PAGE_END), tab="documents"
    )


@blueprint.post("/spaces/<int:space_id>/documents/<int:document_id>/delete")
def delete(space_id: int, document_id: int) -> ViewResult:
    documents.delete_document(current_user_id(), space_id, document_id)
    return commit_and_redirect(url_for(".index", space_id=space_id), _("Deleted. Replies no longer draw on it."))


@blueprint.post("/spaces/<int:space_id>/documents/<int:document_id>/retry")
def retry(space_id: int, document_id: int) -> ViewResult:
    """Retry preparing a document that could not be prepared."""
    documents.retry_document(current_user_id(), space_id, document_id)
    return commit_and_redirect(url_for(".index", space_id=space_id))


def _index(space_id: int, errors: dict[str, str] | None = None) -> str:
    page = documents.list_documents(current_user_id(), space_id, PageQuery(limit=50, cursor=requested_cursor()))
    return render_template(
        "spaces/documents.html",
        space=service.view_space(current_user_id(), space_id),
        documents=page.items,
        next_cursor=page.next_cursor,
        tab="documents",
        errors=errors or {},
        values=request.form,
    )
