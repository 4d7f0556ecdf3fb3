"""Rows that conversations and memories depend on: settings, folders, spaces with their documents, the user's
journeys.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from sqlalchemy import insert, select

from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Folder
from webapp.db.base import db
from webapp.journeys.journey_files import JourneyFixture
from webapp.journeys.models import ConversationPoint, Journey, JourneyVersion
from webapp.spaces.chunks import PAGE_END, parts_of
from webapp.spaces.models import DocumentChunk, Space, SpaceDocument, SpaceMember, SpaceVersion
from webapp.spaces.originals import NONE
from webapp.spaces.schemas import MAX_DOCUMENTS
from webapp.transfer.restore.ids import RestoreBatch
from webapp.transfer.restore.values import attributes, moment

MOST_SLUG = 90


def settings(restoring: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """The person's name and settings."""
    for line in lines:
        user = db.session.get_one(User, restoring.user_id)
        if isinstance(line.get("name"), str) and line["name"].strip():
            user.name = line["name"].replace("\x00", "")[:200]
        if isinstance(line.get("settings"), dict):
            read = UserSettings.of(line["settings"]).model_dump(mode="json")
            read["dismissed_arrivals"] = {}  # they are ids of where it was exported
            user.settings = {name: value for name, value in read.items() if name in line["settings"]}
    db.session.flush()


def folders(restoring: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Folders for conversations."""
    rows = [Folder(user_id=restoring.user_id, **attributes(Folder, line, {"folder_id"})) for line in lines]
    db.session.add_all(rows)
    db.session.flush()
    restoring.note("folder", zip((line.get("folder_id") for line in lines), (r.folder_id for r in rows), strict=True))


def spaces(restoring: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """Spaces with their documents; their owner is now their only member. Jobs make the vectors."""
    for line in lines:
        row = Space(**attributes(Space, line, {"space_id"}))
        db.session.add(row)
        db.session.flush()
        at = row.created_at
        db.session.add(
            SpaceMember(
                space_id=row.space_id,
                user_id=restoring.user_id,
                role="owner",
                status="active",
                created_at=at,
                joined_at=at,
            )
        )
        db.session.add(SpaceVersion(space_id=row.space_id, version=1))
        db.session.flush()
        restoring.note("space", [(line.get("space_id"), row.space_id)])
        for document in list(line.get("documents") or ())[:MAX_DOCUMENTS]:
            _document(restoring, row.space_id, document)


def _document(restoring: RestoreBatch, space_id: int, line: dict[str, Any]) -> None:
    found = attributes(SpaceDocument, line, {"document_id", "space_id", "digest", "media_type", "file_name"})
    at = moment(line["created_at"])
    if found.get("pages") != found["content"].count(PAGE_END) + 1:
        found["pages"] = 0  # a text without pages, or a forged line
    original = restoring.originals.get(line.get("document_id") or 0, NONE)
    row = SpaceDocument(
        space_id=space_id,
        user_id=restoring.user_id,
        size=len(found["content"]),
        updated_at=at,
        **found,
        **original.columns,
    )
    db.session.add(row)
    db.session.flush()
    restoring.note("document", [(line.get("document_id"), row.document_id)])
    parts = parts_of(row.content, row.pages or 0, row.title, row.media_type)
    if parts:
        values = [
            {"document_id": row.document_id, "space_id": space_id, "position": position, "page": page, "content": part}
            for position, (page, part) in enumerate(parts)
        ]
        db.session.execute(insert(DocumentChunk), values)
        ids = select(DocumentChunk.document_chunk_id).where(DocumentChunk.document_id == row.document_id)
        made = db.session.scalars(ids.order_by(DocumentChunk.position)).all()
        before = line.get("parts") or []
        if len(before) == len(made):  # split as in the export, so that receipts find their parts again
            restoring.note("part", zip(before, made, strict=True))
    enqueue_after_commit("index_document", document_id=row.document_id)


def journeys(restoring: RestoreBatch, lines: list[dict[str, Any]]) -> None:
    """The user's own journeys, published or not, with all their versions. Raises ValueError for an invalid one."""
    for line in lines:
        slug = _free_slug(str(line.get("slug") or "journey"))
        found = attributes(Journey, line, {"journey_id", "slug", "source", "position"})
        for name in ("draft",):
            if found.get(name):
                found[name] = _definition(found[name], slug)
        row = Journey(slug=slug, source="editor", position=1_000, owner_id=restoring.user_id, **found)
        db.session.add(row)
        db.session.flush()
        restoring.note("journey", [(line.get("journey_id"), row.journey_id)])
        for version in line.get("versions") or ():
            values = attributes(JourneyVersion, version, {"version_id", "journey_id"})
            values["definition"] = _definition(values["definition"], slug)
            db.session.add(JourneyVersion(journey_id=row.journey_id, author_id=restoring.user_id, **values))
        made = []
        for point in line.get("points") or ():
            values = attributes(ConversationPoint, point, {"point_id", "journey_id"})
            made.append((point.get("point_id"), ConversationPoint(journey_id=row.journey_id, **values)))
        db.session.add_all([point for _, point in made])
        db.session.flush()
        restoring.note("point", [(old, point.point_id) for old, point in made])
        enqueue_after_commit("point_vectors")


def _definition(value: Any, slug: str) -> dict[str, Any]:
    try:
        JourneyFixture.model_validate({**value, "slug": slug})
    except (ValidationError, TypeError):
        raise ValueError("it is no journey that can be shown") from None
    return {**value, "slug": slug}


def _free_slug(wanted: str) -> str:
    slug, number = wanted, 1
    while db.session.scalar(select(Journey.journey_id).where(Journey.slug == slug)) is not None:
        number += 1
        slug = f"{wanted[:MOST_SLUG]}-{number}"
    return slug
