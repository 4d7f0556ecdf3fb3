"""JSON endpoints of files."""

from typing import BinaryIO, cast
from urllib.parse import quote

from flask import Response, request
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import PreconditionFailed

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id
from webapp.db.base import db
from webapp.errors import NotFound, require
from webapp.extensions import limiter
from webapp.files import service
from webapp.files.documents import add_to_space, page_of_document, picture_of_document
from webapp.files.schemas import (
    DocumentPageOut,
    FileAsDocument,
    FileList,
    FileOut,
    PageOut,
    PictureQuery,
    UploadedFile,
)
from webapp.files.storage import file_storage, key_of
from webapp.files.uploads import store_upload
from webapp.http.forms import read_body
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.http.views import accepts_files
from webapp.spaces.originals import original_of
from webapp.spaces.schemas import DocumentOut

blueprint = api_blueprint("files_api", __name__, tag="Files", access="user")

limit_files = limiter.shared_limit("60 per minute", scope="files", key_func=lambda: f"user:{current_user_id()}")


@blueprint.post("/files", status=201)
@limit_files
@accepts_files(UploadedFile)
@idempotency.idempotent
def create_file() -> FileOut:
    """Upload a file; it is read at once."""
    file = read_body().file
    return FileOut.from_row(store_upload(current_user_id(), file.filename or "file", stream_of(file)))


@blueprint.post("/spaces/<int:space_id>/documents/files", status=201)
@idempotency.idempotent
def add_file_to_space(space_id: Id, body: FileAsDocument) -> DocumentOut:
    """Make one of your files a document of a space: its text is found there page by page, and members can open it."""
    return add_to_space(current_user_id(), space_id, body.file_id, body.title)


@blueprint.get("/files")
def list_files(query: PageQuery) -> FileList:
    """List your files, newest first."""
    return FileList.of(service.list_files(current_user_id(), query).map(FileOut.from_row))


@blueprint.get("/files/<int:file_id>")
def get_file(file_id: Id) -> FileOut:
    """Return what is known about a file."""
    return FileOut.from_row(service.get_file(current_user_id(), file_id))


@blueprint.get(
    "/files/<int:file_id>/content",
    responses={200: {"description": "The file", "content": {"*/*": {}}}},
)
def file_content(file_id: Id) -> Response:
    """Download the original file."""
    row = service.get_file(current_user_id(), file_id)
    return content_of(row.digest, row.name, row.media_type)


@blueprint.get("/files/<int:file_id>/pages/<int:number>")
def file_page(file_id: Id, number: Id) -> PageOut:
    """Return the text of one page."""
    row = service.get_file(current_user_id(), file_id)
    page = service.page_of(current_user_id(), file_id, number)
    return PageOut(file_id=row.file_id, page=page.page, pages=row.pages, text=page.text)


@blueprint.get(
    "/files/<int:file_id>/picture",
    responses={200: {"description": "A JPEG", "content": {"image/jpeg": {}}}},
)
def file_picture(file_id: Id, query: PictureQuery) -> Response:
    """Return a picture as models see it: upright, scaled, without the camera's metadata; or a page of a PDF."""
    return _jpeg(service.picture_of(current_user_id(), file_id, query))


@blueprint.delete("/files/<int:file_id>")
def delete_file(file_id: Id) -> None:
    """Delete a file; conversations it was attached to lose it."""
    service.delete_file(current_user_id(), file_id)


@blueprint.get(
    "/spaces/<int:space_id>/documents/<int:document_id>/content",
    responses={200: {"description": "The original", "content": {"*/*": {}}}},
)
def document_content(space_id: Id, document_id: Id) -> Response:
    """Download the file that a document was read from, as a member; 404 where only the text is kept."""
    original = original_of(current_user_id(), space_id, document_id)
    return content_of(original.digest, original.file_name, original.media_type)


@blueprint.get("/spaces/<int:space_id>/documents/<int:document_id>/pages/<int:number>")
def document_page(space_id: Id, document_id: Id, number: Id) -> DocumentPageOut:
    """Return the text of one page of a document."""
    page = page_of_document(current_user_id(), space_id, document_id, number)
    return DocumentPageOut(document_id=document_id, page=page.number, pages=page.document.pages, text=page.text)


@blueprint.get(
    "/spaces/<int:space_id>/documents/<int:document_id>/picture",
    responses={200: {"description": "A JPEG", "content": {"image/jpeg": {}}}},
)
def document_picture(space_id: Id, document_id: Id, query: PictureQuery) -> Response:
    """Return a page of a PDF document, as it looks, with words highlighted."""
    return _jpeg(picture_of_document(current_user_id(), space_id, document_id, query))


def stream_of(file: FileStorage) -> BinaryIO:
    """Return the bytes of an upload, on disk if there are many."""
    return cast(BinaryIO, file.stream)


def _jpeg(data: bytes) -> Response:
    """Return a picture to be shown: it was created here, so nothing in it can run."""
    db.session.remove()
    return Response(data, mimetype="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


def content_of(digest: str, name: str, media_type: str) -> Response:
    """Return content as a download, since nothing uploaded is run as a page of ours. Raises NotFound, Unavailable."""
    db.session.remove()  # a large file takes a while, and needs no connection
    key = key_of(digest)
    size = require(file_storage().size(key), "This file’s content no longer exists.")
    response = Response(mimetype=media_type)
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers.set("Content-Disposition", "attachment", **_disposition(name))
    response.set_etag(digest)
    response.content_length = size
    ranges = request.range
    is_one = ranges is not None and ranges.units == "bytes" and len(ranges.ranges) == 1
    response.make_conditional(request, accept_ranges=is_one, complete_length=size)
    response.accept_ranges = "bytes"
    if response.status_code == 412:
        raise PreconditionFailed
    if request.method != "HEAD" and response.status_code != 304:
        try:
            response.response = file_storage().pieces(key, response.content_range.start or 0, response.content_length)
        except FileNotFoundError:
            raise NotFound("This file’s content no longer exists.") from None
    return response


def _disposition(name: str) -> dict[str, str]:
    """Return a name as RFC 6266 says: plain if that suffices, otherwise with an approximation for old programs."""
    if name.isascii():
        return {"filename": name}
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    return {"filename": plain, "filename*": f"UTF-8''{quote(name, safe='')}"}
