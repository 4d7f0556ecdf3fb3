"""Sending less: several style sheets in one response, text files and whole pages compressed."""

import gzip
import re
from functools import lru_cache
from pathlib import Path

from flask import Flask, Response, request

MIN_BYTES = 2_000
"""Bytes below which a page is sent as it is."""
FILE_WORTH_IT = 300
"""The same for a file, which is compressed only once: a page asks for forty modules of a kilobyte or two."""
COMPRESSIBLE_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
_SHEETS = re.compile(r"css/([a-z-]+(?:\+[a-z-]+)*)\.css")
# A script's comments on lines of their own, and a style sheet's with its indentation. To remove more needs a parser.
_COMMENT = re.compile(rb"^[ \t]*//.*\n|^[ \t]*/\*(?:[^*]|\*(?!/))*\*/[ \t]*\n", re.MULTILINE)
_STYLE_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)", re.DOTALL)
_INDENT = re.compile(rb"\n\s+")


def init_compression(app: Flask) -> None:
    """Compress whole pages for clients that accept gzip."""
    app.after_request(_compress_page)


def read_asset(folder: Path, filename: str, version: str) -> tuple[bytes, bytes | None, str] | None:
    """Return a static text file (`css/a+b.css`: several): bytes, compressed bytes if smaller, type; None for others."""
    media_type = COMPRESSIBLE_TYPES.get(Path(filename).suffix)
    return _read(folder, filename, version, media_type) if media_type else None


@lru_cache(maxsize=256)
def _read(folder: Path, filename: str, _version: str, media_type: str) -> tuple[bytes, bytes | None, str] | None:
    sheets = _SHEETS.fullmatch(filename)
    names = [f"css/{name}.css" for name in sheets.group(1).split("+")] if sheets else [filename]
    root = folder.resolve()
    paths = [(root / name).resolve() for name in names]
    if not all(path.is_relative_to(root) and path.is_file() for path in paths):
        return None
    text = b"\n".join(path.read_bytes() for path in paths)
    if not filename.startswith("vendor/"):
        is_style = media_type == COMPRESSIBLE_TYPES[".css"]
        text = _INDENT.sub(b"\n", _STYLE_COMMENT.sub(b"", text)) if is_style else _COMMENT.sub(b"", text)
    packed = gzip.compress(text, 9, mtime=0) if len(text) > FILE_WORTH_IT else None
    return text, packed, media_type


def reads_gzip() -> bool:
    """Return whether the caller accepts a compressed response."""
    return "gzip" in request.accept_encodings.values()


def _compress_page(response: Response) -> Response:
    """Compress a whole page of HTML; not one with a query, whose length could reveal the page's secrets."""
    if (
        request.method != "GET"
        or request.query_string
        or response.mimetype != "text/html"
        or response.is_streamed
        or response.direct_passthrough
        or "Content-Encoding" in response.headers
        or request.headers.get("HX-Request")
        or not reads_gzip()
    ):
        return response
    body = response.get_data()
    if len(body) > MIN_BYTES:
        response.set_data(gzip.compress(body, 4, mtime=0))
        response.headers["Content-Encoding"] = "gzip"
        response.headers.add("Vary", "Accept-Encoding")
    return response
