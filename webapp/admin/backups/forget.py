"""Forgetting again, after an older backup was restored, what had been forgotten when a newer one was made."""

import json
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select

from webapp.accounts.models import User
from webapp.admin.backups.archive import BackupError, open_archive, read_manifest, read_table
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.memories.models import Memory, TombstoneKey
from webapp.memories.store import forgetting
from webapp.memories.store.tombstones import import_tombstones
from webapp.text.provenance import FORGOTTEN


@dataclass
class RepeatReport:
    """The memories that were forgotten again, the tombstones whose key does not exist here, and the addresses of
    accounts that the newer backup does not have."""

    memories: int = 0
    unmatched: int = 0
    gone: tuple[str, ...] = ()


def forget_again(path: Path) -> RepeatReport:
    """Forget what had been forgotten when a newer backup of this installation was made. Raises BackupError."""
    with open_archive(path) as archive:
        read_manifest(archive)
        people, gone = _people(archive)
        if not people:
            raise BackupError(f"{path} knows nobody who is here: it is of another installation.")
        return _forget(archive, people, RepeatReport(gone=gone))


def _forget(archive: zipfile.ZipFile, people: set[int], result: RepeatReport) -> RepeatReport:
    tombstones, keys, marks = (
        _by_person(archive, "memory_tombstones", people),
        _by_person(archive, "tombstone_keys", people),
        list(_marked_messages(archive)),
    )
    for user_id, rows in tombstones.items():
        with write_transaction():
            for key in keys[user_id]:
                db.session.merge(TombstoneKey(**key))
            db.session.flush()
            result.unmatched += len(rows) - import_tombstones(user_id, rows)
            ids = db.session.scalars(select(Memory.memory_id).where(Memory.user_id == user_id)).all()
            result.memories += forgetting.repeat(user_id, ids).memories
    for message_id, content, spans in marks:
        with write_transaction():
            message = db.session.get(Message, message_id)
            if message is not None and message.content == content:
                message.spans = spans
    return result


def _people(archive: zipfile.ZipFile) -> tuple[set[int], tuple[str, ...]]:
    """Return the ids of the people here who are in the backup, and the addresses of the others.

    No id is given twice in an installation, and in no other at that moment.
    """
    known = {
        (row["user_id"], datetime.fromisoformat(row["created_at"]).replace(tzinfo=UTC))
        for row in _rows(archive, "users")
    }
    here = db.session.execute(select(User.user_id, User.created_at, User.email).order_by(User.email)).all()
    people = {user_id for user_id, since, _ in here if (user_id, since) in known}
    return people, tuple(email for user_id, _, email in here if user_id not in people)


def _by_person(archive: zipfile.ZipFile, table: str, people: set[int]) -> dict[int, list[dict[str, Any]]]:
    rows = defaultdict(list)
    for row in _rows(archive, table):
        if row["user_id"] in people:
            moment = datetime.fromisoformat(row["created_at"]).replace(tzinfo=UTC)
            rows[row["user_id"]].append({**row, "created_at": moment})
    return rows


def _marked_messages(archive: zipfile.ZipFile) -> Iterator[tuple[int, str, list[Any]]]:
    """Yield the messages with forgotten words: id, content and spans."""
    for row in _rows(archive, "messages"):
        spans = json.loads(row["spans"] or "[]")
        if any(origin == FORGOTTEN for *_, origin in spans):
            yield row["message_id"], row["content"], spans


def _rows(archive: zipfile.ZipFile, table: str) -> Iterator[dict[str, Any]]:
    with read_table(archive, table) as (columns, rows):
        for row in rows:
            yield dict(zip(columns, row, strict=True))
