"""Ends exports that may contain what was forgotten or is no longer shared: a new one is made in a minute."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import select

from webapp.db.base import after_commit, db
from webapp.memories.store.copies import statements_withdrawn
from webapp.memories.store.forgetting import being_forgotten
from webapp.transfer import storage
from webapp.transfer.models import Export


def init_outdated() -> None:
    """React to what is forgotten or withdrawn."""
    being_forgotten.connect(_outdate)
    statements_withdrawn.connect(_outdate)


def _outdate(_sender: Any, *, user_id: int, **_: Any) -> None:
    """End the user's exports, including those being written."""
    rows = db.session.scalars(
        select(Export).where(Export.user_id == user_id, Export.status.in_(("waiting", "ready"))).with_for_update()
    ).all()
    for row in rows:
        if row.stored_as:
            after_commit(partial(storage.drop, row.stored_as))
        row.status, row.stored_as = "expired", None
