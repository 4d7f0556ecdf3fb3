"""Rows that conversations and memories depend on: settings, spaces, documents, files, journeys."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.background.queues import enqueue_after_commit
from webapp.db.base import add_row, db
from webapp.errors import DomainError
from webapp.files.uploads import keep_after_commit, store_content
from webapp.journeys.authoring import free_slug
from webapp.journeys.definitions import slug_from
from webapp.journeys.journey_files import JourneyFixture
from webapp.journeys.models import ConversationPoint, Journey, JourneyVersion
from webapp.spaces.chunks import PAGE_END, parts_of
from webapp.spaces.documents import add_parts
from webapp.spaces.models import DocumentChunk, Space, SpaceDocument, SpaceMember, SpaceVersion
from webapp.spaces.originals import Original
from webapp.spaces.schemas import MAX_DOCUMENTS
from webapp.transfer.archives import ImportRefused
from webapp.transfer.restore.values import RestoreBatch, attributes, is_id, required_instant
from webapp.transfer.sources import Upload

log = logging.getLogger(__name__)


def settings(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the person's name and settings."""
    for line in lines:
        user = db.session.get_one(User, batch.user_id)
        if isinstance(line.get("name"), str) and line["name"].strip():
            user.name = line["name"].replace("\x00", "")[:200]
        if isinstance(line.get("settings"), dict):
            read = UserSettings.of(line["settings"]).model_dump(mode="json")
            read["dismissed_arrivals"] = {}  # they are ids of where it was exported
            user.settings = {name: value for name, value in read.items() if name in line["settings"]}
    db.session.flush()


def spaces(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore spaces with their documents; their owner is now their only member. Jobs make the vectors."""
    for line in lines:
        row = add_row(Space(**attributes(Space, line, {"space_id"})))
        created_at = row.created_at
        db.session.add(
            SpaceMember(
                space_id=row.space_id,
                user_id=batch.user_id,
                role="owner",
                status="active",
                created_at=created_at,
                joined_at=created_at,
            )
        )
        add_row(SpaceVersion(space_id=row.space_id, version=1))
        batch.note("space", [(line.get("space_id"), row.space_id)])
        for document in list(line.get("documents") or ())[:MAX_DOCUMENTS]:
            _document(batch, row.space_id, document)


def _document(batch: RestoreBatch, space_id: int, line: dict[str, Any]) -> None:
    fields = attributes(SpaceDocument, line, {"document_id", "space_id", "digest", "media_type", "file_name"})
    created_at = required_instant(line["created_at"])
    if fields.get("pages") != fields["content"].count(PAGE_END) + 1:
        fields["pages"] = 0  # a text without pages, or a forged line
    row = SpaceDocument(
        space_id=space_id,
        user_id=batch.user_id,
        size=len(fields["content"]),
        updated_at=created_at,
        **fields,
        **batch.originals.get(line.get("document_id") or 0, Original())._asdict(),
    )
    add_row(row)
    batch.note("document", [(line.get("document_id"), row.document_id)])
    add_parts(row.document_id, space_id, parts_of(row.content, row.pages or 0, row.title, row.media_type))
    ids = select(DocumentChunk.document_chunk_id).where(DocumentChunk.document_id == row.document_id)
    chunk_ids = db.session.scalars(ids.order_by(DocumentChunk.position)).all()
    before = line.get("parts") or []
    if len(before) == len(chunk_ids):  # split as in the export, so that receipts find their parts again
        batch.note("part", zip(before, chunk_ids, strict=True))
    enqueue_after_commit("index_document", document_id=row.document_id)


def journeys(batch: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Restore the user's own journeys with all their versions. Raises ValueError for an invalid one."""
    for line in lines:
        slug = free_slug(slug_from(str(line.get("slug") or "")))
        fields = attributes(Journey, line, {"journey_id", "slug", "source", "position"})
        if fields.get("draft"):
            fields["draft"] = _definition(fields["draft"], slug)
        row = add_row(Journey(slug=slug, source="editor", position=1_000, owner_id=batch.user_id, **fields))
        batch.note("journey", [(line.get("journey_id"), row.journey_id)])
        for version in line.get("versions") or ():
            values = attributes(JourneyVersion, version, {"version_id", "journey_id"})
            values["definition"] = _definition(values["definition"], slug)
            db.session.add(JourneyVersion(journey_id=row.journey_id, author_id=batch.user_id, **values))
        rows = []
        for point in line.get("points") or ():
            values = attributes(ConversationPoint, point, {"point_id", "journey_id"})
            rows.append((point.get("point_id"), ConversationPoint(journey_id=row.journey_id, **values)))
        db.session.add_all([point for _, point in rows])
        db.session.flush()
        batch.note("point", [(old, point.point_id) for old, point in rows])


def _definition(value: Any, slug: str) -> dict[str, Any]:
    try:
        JourneyFixture.model_validate({**value, "slug": slug})
    except (ValidationError, TypeError):
        raise ValueError("it is no journey that can be shown") from None
    return {**value, "slug": slug}


def originals_in(upload: Upload, lines: Iterable[dict[str, Any]]) -> dict[int, Original]:
    """Store the documents' originals in some lines of spaces; return them by document id in the export.

    Only bytes in the uploaded file, under their real digest, so that no line gets at somebody else's file.
    """
    originals: dict[int, Original] = {}
    for document in _documents(lines):
        digest = str(document.get("digest") or "")
        if not upload.has(f"files/{digest}"):
            continue
        try:
            name = str(document.get("file_name") or document.get("title") or "file")
            content = store_content(name, _bytes_of(upload, digest))
        except (DomainError, ImportRefused):
            log.info("original of a document not restored", exc_info=True)
            continue
        originals[document["document_id"]] = Original(content.digest, content.media_type, content.name)
    return originals


def keep_originals(upload: Upload, originals: Mapping[int, Original]) -> None:
    """Store files again after the commit if they were deleted meanwhile, with the last other row that named them."""
    for digest in {original.digest for original in originals.values()}:
        if digest and f"files/{digest}" in upload.names:
            keep_after_commit(digest, partial(_bytes_of, upload, digest))


def _documents(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for line in lines:
        documents = line.get("documents")
        for document in documents[:MAX_DOCUMENTS] if isinstance(documents, list) else ():
            if isinstance(document, dict) and is_id(document.get("document_id")):
                yield document


def _bytes_of(upload: Upload, digest: str) -> BytesIO:
    return BytesIO(upload.read(f"files/{digest}"))
