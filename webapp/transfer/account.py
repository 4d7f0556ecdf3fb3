"""Everything in an account as the files of an export: manifest, JSON lines, PDFs, files, and a schema for all of it."""

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select

from webapp.accounts.models import User
from webapp.db.base import db, now
from webapp.files.models import File
from webapp.files.storage import file_storage, key_of
from webapp.journeys.models import ConversationReport
from webapp.spaces.models import SpaceDocument
from webapp.transfer.account_rows import own_conversations, own_spaces, report_path
from webapp.transfer.account_tables import PARTS
from webapp.transfer.export_rows import ExportFile, goes_out
from webapp.transfer.readers.commonplace import FORMAT

VERSION = 3
"""3: documents in spaces have their pages and their originals."""


def manifest(user_id: int) -> dict[str, Any]:
    """Return what the export contains, and whose it is."""
    user = db.session.get_one(User, user_id)
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": now().isoformat(),
        "account": {"name": user.name, "email": user.email, "settings": user.settings or {}},
        "files": {name: part.description for name, part in PARTS.items()},
    }


def lines(user_id: int, name: str) -> Iterator[str]:
    """Yield the lines of one file of the export, each a JSON object; read from the tables a batch at a time."""
    for row in PARTS[name].read(user_id):
        yield json.dumps(row, ensure_ascii=False, default=_plain) + "\n"


def reports(user_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield the PDF summaries of the user's journeys."""
    rows = db.session.execute(
        select(ConversationReport.conversation_id, ConversationReport.pdf).where(
            ConversationReport.conversation_id.in_(own_conversations(user_id)), ConversationReport.pdf.is_not(None)
        )
    )
    for conversation_id, pdf in rows:
        yield report_path(conversation_id), pdf


def stored_files(user_id: int) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The bytes of the user's files, and of the originals of documents in their spaces: the name in the export and the
    content, in pieces; each content once.

    No connection is held meanwhile.
    """
    files = select(File.digest).where(File.user_id == user_id).order_by(File.file_id)
    documents = (
        select(SpaceDocument.digest)
        .where(SpaceDocument.space_id.in_(own_spaces(user_id)), SpaceDocument.digest.is_not(None))
        .order_by(SpaceDocument.document_id)
    )
    digests = [*db.session.scalars(files), *db.session.scalars(documents)]
    db.session.rollback()
    for digest in dict.fromkeys(digests):
        with suppress(FileNotFoundError):
            yield f"files/{digest}", file_storage().pieces(key_of(digest))


def schema() -> dict[str, Any]:
    """Return a JSON schema for each file of the export."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Commonplace export, version {VERSION}",
        "$defs": {name: {"description": part.description, **_shape(part)} for name, part in PARTS.items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _shape(part: ExportFile) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    properties: dict[str, Any] = {}
    for column in part.model.__table__.columns:
        if not goes_out(column):
            continue
        kind = kinds.get(column.type.python_type, "string")
        if not isinstance(column.type, JSON):
            properties[column.name] = {"type": [kind, "null"] if column.nullable else kind}
    return {
        "type": "object",
        "properties": properties
        | {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in part.extra.items()},
    }
