"""The files that documents in spaces were read from: stored before the documents that name them are written."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from typing import Any

from webapp.errors import DomainError
from webapp.extensions import app_settings
from webapp.files.uploads import keep_after_commit, store_content
from webapp.spaces.originals import Original
from webapp.spaces.schemas import MAX_DOCUMENTS
from webapp.transfer.restore.ids import is_id
from webapp.transfer.sources import ImportRefused, Upload

log = logging.getLogger(__name__)


def originals_in(upload: Upload, lines: Iterable[dict[str, Any]]) -> dict[int, Original]:
    """Store the originals of the documents in some lines of spaces; returns them by document id in the export.

    Only bytes that are in the uploaded file are stored, under the digest they really have: a line that names the
    content of somebody else's file gets nothing of it. Of what cannot be taken in, only the text is restored. No
    connection is held.
    """
    found: dict[int, Original] = {}
    for document in _documents(lines):
        data = _bytes_of(upload, str(document.get("digest") or ""))
        if data is None:
            continue
        try:
            taken = store_content(str(document.get("file_name") or document.get("title") or "file"), data)
        except DomainError:
            log.info("original of a document not restored", exc_info=True)
            continue
        found[document["document_id"]] = Original(taken.digest, taken.media_type, taken.name)
    return found


def keep_originals(upload: Upload, originals: Mapping[int, Original]) -> None:
    """Store them again after the commit if they were deleted meanwhile, with the last other row that named them."""
    for digest in {original.digest for original in originals.values()}:
        if digest and f"files/{digest}" in upload.names:
            keep_after_commit(digest, partial(_member, upload, digest))


def _documents(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in lines:
        documents = line.get("documents")
        for document in documents[:MAX_DOCUMENTS] if isinstance(documents, list) else ():
            if isinstance(document, dict) and is_id(document.get("document_id")):
                yield document


def _bytes_of(upload: Upload, digest: str) -> BytesIO | None:
    if f"files/{digest}" not in upload.names:
        return None
    try:
        return _member(upload, digest)
    except ImportRefused:
        return None


def _member(upload: Upload, digest: str) -> BytesIO:
    with upload.open(f"files/{digest}") as file:
        return BytesIO(file.read(app_settings().max_file_bytes + 1))
