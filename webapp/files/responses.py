"""Sends the bytes of a file, all or a range, as they come from storage."""

from urllib.parse import quote

from flask import Response, request

from webapp.errors import NotFound, require
from webapp.files.storage import file_storage, key_of


def content_of(digest: str, name: str, media_type: str) -> Response:
    """Content as a download; 206 for one range, 416 for one out of bounds. Raises NotFound, Unavailable."""
    key = key_of(digest)
    size = require(file_storage().size(key), "The content of this file is gone.")
    response = Response(mimetype=media_type)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers.set("Content-Disposition", "attachment", **_disposition(name))
    response.set_etag(digest)
    start, stop = 0, size
    request_range = request.range
    if (
        request_range is not None
        and request_range.units == "bytes"
        and len(request_range.ranges) == 1
        and _is_same(digest)
    ):
        byte_range = request_range.range_for_length(size)
        if byte_range is None:
            response.status_code = 416
            response.headers["Content-Range"] = f"bytes */{size}"
            return response
        start, stop = byte_range
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    elif digest in request.if_none_match:
        response.status_code = 304
        return response
    response.content_length = stop - start
    if request.method != "HEAD":
        try:
            response.response = file_storage().pieces(key, start, stop - start)
        except FileNotFoundError:
            raise NotFound("The content of this file is gone.") from None
    return response


def _is_same(digest: str) -> bool:
    """Return whether the requested range is of this content, not of earlier content at the same URL."""
    condition = request.if_range
    return condition.etag in (None, digest) and condition.date is None


def _disposition(name: str) -> dict[str, str]:
    """Return a name as RFC 6266 says: plain if that suffices, otherwise with an approximation for old programs."""
    if name.isascii():
        return {"filename": name}
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    return {"filename": plain, "filename*": f"UTF-8''{quote(name, safe='')}"}
