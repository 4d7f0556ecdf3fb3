"""The health view of memories, and the admin's view of somebody's memories, which is recorded."""

import logging

import numpy as np
from sqlalchemy import false

from webapp.accounts.service import get_user
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.db.base import db, now
from webapp.http.paging import Page
from webapp.memories.models import AdminAccess, Memory
from webapp.memories.rules.health import Checkup, Finding, Groups, examine
from webapp.memories.schemas import MemoryQuery
from webapp.memories.search import find_memories
from webapp.memories.service import visible

log = logging.getLogger(__name__)

EXAMINED = 5_000
"""How many open memories a check-up looks at, last changed first: it compares pairs, which grows quadratically."""


def check_health(user_id: int) -> dict[Finding, Groups]:
    """Return what the user may want to tidy up among the open memories."""
    rows = db.session.scalars(
        visible(user_id)
        .where(Memory.is_archived == false(), Memory.is_closed == false())
        .order_by(Memory.updated_at.desc(), Memory.memory_id.desc())
        .limit(EXAMINED)
    )
    return examine([_checkup(row) for row in rows], now())


def view_as_admin(admin_id: int, user_id: int, query: MemoryQuery) -> Page[Memory]:
    """A page of somebody's memories for an admin; every access is recorded. Raises NotFound. The caller commits."""
    get_user(user_id)
    note_look(admin_id, user_id, "memories")
    log.warning("admin viewed memories", extra={"admin_id": admin_id, "user_id": user_id})
    return find_memories(user_id, query)


def note_look(admin_id: int, user_id: int, action: str, *, is_change: bool = False) -> None:
    """Record that an admin viewed or changed somebody's data, for the site and for that person to see."""
    db.session.add(AdminAccess(admin_id=admin_id, user_id=user_id, what=action[:50]))
    audit.record(user_id, Action.ADMIN_CHANGED if is_change else Action.ADMIN_LOOKED, action)


def _checkup(row: Memory) -> Checkup:
    return Checkup(
        ref=row.memory_id,
        memory_type=row.memory_type,
        content=row.content,
        origin="user" if row.edited_by_user else row.origin,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_used_at=row.last_accessed_at,
        access_count=row.access_count,
        evidence_count=row.evidence_count,
        fact_key=row.fact_key,
        is_pinned=bool(row.is_pinned),
        needs_review=row.needs_review,
        until=row.until,
        embedding=np.frombuffer(row.embedding, dtype=np.float32) if row.embedding else None,
    )
