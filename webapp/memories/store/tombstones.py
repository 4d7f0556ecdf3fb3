"""A user's tombstones, their keys, and the check for something forgotten between reading and writing."""

import base64
import hmac
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from flask import current_app
from sqlalchemy import func, insert, select

from webapp.accounts.service import time_zone_of
from webapp.conversations.current_messages import earlier_versions
from webapp.conversations.models import Message
from webapp.db.base import db
from webapp.db.encryption import keyed_hash
from webapp.memories.models import MemoryTombstone, TombstoneKey
from webapp.memories.rules.state import SourceMessage
from webapp.memories.rules.tombstones import TombstoneSet, key_id, person_key
from webapp.memories.store import versions
from webapp.prompts.transcript import TranscriptMessage
from webapp.text.provenance import FORGOTTEN, forgotten_in

_HEX_KEY = re.compile(r"[0-9a-f]{64}")


def tombstone_set(user_id: int, *, tombstones: Mapping[str, str | None] | None = None) -> TombstoneSet:
    """Return a user's tombstones: all of them, or those in `tombstones` (digests with the names of their keys)."""
    if tombstones is None:
        rows = select(MemoryTombstone.digest, MemoryTombstone.key_id).where(MemoryTombstone.user_id == user_id)
        tombstones = dict(db.session.execute(rows).all())
    names, secrets = set(tombstones.values()), _secrets()
    elsewhere = names - {None} - {key_id(person_key(secret, user_id)) for secret in secrets}
    extra_keys = list(imported_keys(user_id).values()) if elsewhere else []
    return TombstoneSet(secrets, user_id, set(tombstones), imported_keys=extra_keys, is_old=None in names)


def read_again(messages: Sequence[SourceMessage], tombstones: TombstoneSet) -> tuple[SourceMessage, ...]:
    """Return messages as they are now: with the quotes of forgotten memories, wherever they stand, among their spans,
    and the versions whose place they took.
    """
    contents = {message.message_id: message.content for message in messages if message.role == "user"}
    rows = select(Message.message_id, Message.spans).where(Message.message_id.in_(contents))
    forgotten = {
        number: [*tombstones.quotes_in(contents[number]), *forgotten_in(stored)]
        for number, stored in db.session.execute(rows)
    }
    versions_of = earlier_versions(contents)
    return tuple(
        replace(
            item,
            spans=(*item.spans, *((start, end, FORGOTTEN) for start, end in forgotten.get(item.message_id, ()))),
            previous=tuple((row.message_id, row.content) for row in versions_of.get(item.message_id, ())),
        )
        for item in messages
    )


def readable_transcript(user_id: int, messages: Iterable[Message]) -> list[TranscriptMessage]:
    """Return the messages that are not empty for a model, without forgotten words, which it would retell."""
    redact, zone = tombstone_set(user_id).without_quotes, time_zone_of(user_id)
    return [
        TranscriptMessage(
            row.message_id, row.role, redact(row.content, row.provenance), row.created_at.astimezone(zone)
        )
        for row in messages
        if row.content.strip()
    ]


def keys_of(user_id: int) -> dict[str, bytes]:
    """Return the keys of a user's tombstones by name, for an export: this installation's and those brought along."""
    keys = (person_key(secret, user_id) for secret in _secrets())
    return {key_id(key): key for key in keys} | imported_keys(user_id)


def imported_keys(user_id: int) -> dict[str, bytes]:
    """Return the tombstone keys from a user's imports, by name, as far as a current secret opens them."""
    rows = db.session.execute(select(TombstoneKey.key_id, TombstoneKey.sealed).where(TombstoneKey.user_id == user_id))
    keys = {name: _unseal(sealed) for name, sealed in rows}
    return {name: key for name, key in keys.items() if key is not None}


def import_keys(user_id: int, keys: Collection[bytes]) -> None:
    """Store keys from a user's export."""
    existing = imported_keys(user_id)
    box = _box(_secrets()[0])
    for key in keys:
        if key_id(key) not in existing:
            db.session.merge(TombstoneKey(user_id=user_id, key_id=key_id(key), sealed=box.encrypt(key).decode()))
    db.session.flush()


def import_tombstones(user_id: int, rows: Iterable[Mapping[str, Any]]) -> int:
    """Store a user's tombstones (`digest`, `kind`, `key_id`, `created_at`) whose keys exist here; returns how many."""
    names = {None, *keys_of(user_id)}
    matched = {row["digest"]: row for row in rows if row["key_id"] in names}
    add_tombstones(user_id, matched)
    return len(matched)


def add_tombstones(user_id: int, tombstones: Mapping[str, Mapping[str, Any]]) -> int:
    """Store the tombstones (columns by digest) that a user does not have yet; return how many."""
    statement = select(MemoryTombstone.digest).where(MemoryTombstone.user_id == user_id)
    stored = set(db.session.scalars(statement.where(MemoryTombstone.digest.in_(tombstones))))
    fresh = [
        {**columns, "user_id": user_id, "digest": digest}
        for digest, columns in tombstones.items()
        if digest not in stored
    ]
    if fresh:
        db.session.execute(insert(MemoryTombstone), fresh)
    return len(fresh)


def default_key() -> bytes:
    """Return the tombstone key if none is set: derived from SECRET_KEY, so it changes with it."""
    return keyed_hash(b"memory tombstones").digest()


def _secrets() -> list[bytes]:
    """Return the keys of tombstones, newest first: those set (as 64 hexadecimal digits: bytes), or the derived one."""
    secrets = [key.strip() for key in current_app.extensions["settings"].tombstone_keys.split(",") if key.strip()]
    return [bytes.fromhex(key) if _HEX_KEY.fullmatch(key) else key.encode() for key in secrets] or [default_key()]


def _unseal(sealed: str) -> bytes | None:
    for secret in _secrets():
        try:
            return _box(secret).decrypt(sealed.encode())
        except InvalidToken:
            continue
    return None


def _box(secret: bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hmac.digest(secret, b"carried tombstone keys", "sha256")))


def watch(user_id: int) -> Callable[[], bool]:
    """Return a function that tells whether nothing was forgotten since this call.

    Call it before reading input for a model, and the result in the transaction that stores the output: it locks the
    user's memory. Callers that also lock a conversation lock that first.
    """
    newest = select(func.count(), func.max(MemoryTombstone.created_at)).where(MemoryTombstone.user_id == user_id)
    before = tuple(db.session.execute(newest).one())

    def still_holds() -> bool:
        versions.lock(user_id)
        return tuple(db.session.execute(newest).one()) == before

    return still_holds


def recent_tombstone_sets(user_ids: Collection[int], since: datetime) -> list[TombstoneSet]:
    """Return tombstones of users made since a time, passed somewhat early, as clocks differ."""
    rows = db.session.execute(
        select(MemoryTombstone.user_id, MemoryTombstone.digest, MemoryTombstone.key_id).where(
            MemoryTombstone.user_id.in_(user_ids), MemoryTombstone.created_at >= since
        )
    ).all()
    return [
        tombstone_set(user_id, tombstones={digest: name for owner, digest, name in rows if owner == user_id})
        for user_id in sorted({user_id for user_id, *_ in rows})
    ]
