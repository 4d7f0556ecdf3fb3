"""Files attached in the composer and documents of spaces as original files: adding them, and viewing their pages."""

from contextlib import suppress
from typing import Any

from flask import flash, g, redirect, render_template, request, url_for
from markupsafe import Markup

from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import DomainError, NotFound
from webapp.extensions import app_settings
from webapp.files import api, documents, service
from webapp.files.api import limit_files, stream_of
from webapp.files.citations import Citable, link_citations, mentions_page, split_around
from webapp.files.drawing import page_tokens
from webapp.files.kinds import PDF
from webapp.files.models import File
from webapp.files.prompt_files import tokens_for_whole_files
from webapp.files.schemas import PictureQuery
from webapp.files.uploads import store_upload
from webapp.http.validation import PageQuery, parse_id, valid_fields
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, requested_cursor
from webapp.i18n.request_language import gettext as _, translate
from webapp.providers.model_choice import target_of
from webapp.spaces.service import require_member, view_space
from webapp.usage.token_counts import Weights, weights_of

blueprint = PageBlueprint("files_pages", __name__, access="user")


def reader_tokens(file: File) -> int:
    """Return what a file will take in a prompt, as the person's models count; pictures are counted by size."""
    if "weights" not in g:
        g.weights = weights_of(current_user_id())
    weights: Weights = g.weights
    seen = file.tokens if file.is_picture else file.picture_pages * page_tokens()
    return seen + weights.tokens(file.tokens - seen, file.characters)


def link_pages(html: Markup, content: str, conversation_id: int) -> Markup:
    """Return the HTML of a reply, with links for the pages of files that it names."""
    if not mentions_page(content):
        return html
    cache: dict[int, list[Citable]] = g.setdefault("citable", {})
    if conversation_id not in cache:
        cache[conversation_id] = service.citable(conversation_id) + documents.citable_documents(
            current_user_id(), conversation_id
        )
    files = cache[conversation_id]
    return Markup(link_citations(html, files, page_url)) if files else html  # noqa: S704 - sanitised before, escaped since


def page_url(file: Citable, page: int, words: str) -> str:
    """Return the URL of a page that a reply names."""
    if file.space_id is not None:
        return url_for(
            "document_files.page", space_id=file.space_id, document_id=file.file_id, number=page, words=words or None
        )
    return url_for("files_pages.show", file_id=file.file_id, page=page, words=words or None)


@blueprint.post("/files")
@limit_files
def attach() -> ViewResult:
    """Add the files chosen in the composer, and find those its draft names by id; each becomes a chip in it."""
    rows, problems = [], []
    for file_id in filter(None, map(parse_id, request.form.getlist("file_ids")[: service.MAX_ATTACHED])):
        with suppress(NotFound):  # deleted in the meantime
            rows.append(service.get_file(current_user_id(), file_id))
    for file in request.files.getlist("file")[: service.MAX_ATTACHED]:
        if not file.filename:
            continue
        try:
            rows.append(store_upload(current_user_id(), file.filename, stream_of(file)))
            db.session.commit()
        except DomainError as error:
            db.session.rollback()
            problems.append((file.filename[-60:], error.problem))
    for row in rows:
        db.session.refresh(row)
    model = target_of(request.form.get("model"))
    blind = model is not None and model.sees is False
    window = (model and model.context_window) or app_settings().context_tokens
    room = tokens_for_whole_files(window, app_settings().reply_tokens)
    return render_template("files/_chips.html", files=rows, problems=problems, room=room, blind=blind)


@blueprint.get("/files")
def index() -> ViewResult:
    page = service.list_files(current_user_id(), PageQuery(limit=50, cursor=requested_cursor()))
    return render_template("files/index.html", files=page.items, next_cursor=page.next_cursor)


@blueprint.get("/files/<int:file_id>")
def show(file_id: int) -> ViewResult:
    """Show a file, page by page, as text."""
    row = service.get_file(current_user_id(), file_id)
    number = max(1, request.args.get("page", 1, type=int))
    page = service.page_of(current_user_id(), file_id, min(number, row.pages)) if row.pages else None
    words = request.args.get("words", "")[:500]
    return render_template(
        "files/file.html",
        parts=split_around(page.text, words) if page else None,
        file=row,
        page=page,
        drawn=row.media_type == PDF or row.is_picture,
        words=words,
    )


def picture_query() -> PictureQuery:
    """Return which picture the URL asks for; invalid values are replaced by defaults."""
    return valid_fields(PictureQuery, request.args.to_dict())


@blueprint.get("/files/<int:file_id>/picture")
def picture(file_id: int) -> Any:
    """Return a picture, or a page of a PDF, as models and readers see it."""
    return api.file_picture(file_id, picture_query())


blueprint.get("/files/<int:file_id>/content", endpoint="content")(api.file_content)


@blueprint.post("/files/<int:file_id>/delete")
def delete(file_id: int) -> ViewResult:
    service.delete_file(current_user_id(), file_id)
    return commit_and_redirect(url_for(".index"), _("File deleted."))


documents_blueprint = PageBlueprint("document_files", __name__, access="user")


@documents_blueprint.post("/spaces/<int:space_id>/documents/files", endpoint="add")
@limit_files
def add_documents(space_id: int) -> ViewResult:
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
    return redirect(url_for("spaces_pages.document_list", space_id=space_id), 303)


@documents_blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/pages/<int:number>", endpoint="page")
def document_page(space_id: int, document_id: int, number: int) -> ViewResult:
    """Show one page, as it looks if it can be drawn, with certain words highlighted."""
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


@documents_blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/picture", endpoint="picture")
def document_picture(space_id: int, document_id: int) -> Any:
    """Return a page of a PDF as it looks."""
    return api.document_picture(space_id, document_id, picture_query())


documents_blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/content", endpoint="content")(
    api.document_content
)


blueprint.add_globals(
    link_pages=link_pages, reader_tokens=reader_tokens, max_file_bytes=lambda: app_settings().max_file_bytes
)
