"""Bytes that no file names: left by a deletion while the storage was unavailable, or never given a row."""

from __future__ import annotations

import time
from itertools import islice

from webapp.db.base import db
from webapp.files.folder import digest_of
from webapp.files.storage import file_storage
from webapp.files.uploads import existing_contents, is_named

YOUNG_SECONDS = 3_600
"""Seconds: newer content may belong to a row that is not committed yet."""
AT_A_TIME = 500


def sweep_storage() -> int:
    """Delete content that no file names and the remains of interrupted writes; returns how many. Safe at any time.

    Anything with other keys is left alone. No connection is held while the storage works. Raises Unavailable.
    """
    storage, before = file_storage(), time.time() - YOUNG_SECONDS
    dropped = storage.drop_parts(before)
    old = ((key, digest) for key, written in storage.entries() if written < before and (digest := digest_of(key)))
    while keys := list(islice(old, AT_A_TIME)):
        named = existing_contents({digest for _, digest in keys})
        db.session.rollback()
        for key, digest in keys:
            if digest not in named and not _is_named_now(digest):
                storage.delete(key)
                dropped += 1
    return dropped


def _is_named_now(digest: str) -> bool:
    """Return whether the content was added again while others were being deleted."""
    found = is_named(digest)
    db.session.rollback()
    return found
