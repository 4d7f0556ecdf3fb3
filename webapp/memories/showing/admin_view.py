"""The admin's view of somebody's memories, which is recorded."""

import logging

from webapp.accounts.service import get_user
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.db.base import db
from webapp.http.validation import Page
from webapp.memories.models import AdminAccess, Memory
from webapp.memories.schemas import MemoryQuery
from webapp.memories.search import find_memories

log = logging.getLogger(__name__)


def view_as_admin(admin_id: int, user_id: int, query: MemoryQuery) -> Page[Memory]:
    """Return a page of somebody's memories for an admin, recording the access. Raises NotFound."""
    get_user(user_id)
    note_look(admin_id, user_id, "memories")
    log.warning("admin viewed memories", extra={"admin_id": admin_id, "user_id": user_id})
    return find_memories(user_id, query)


def note_look(admin_id: int, user_id: int, action: str, *, is_change: bool = False) -> None:
    """Record that an admin viewed or changed somebody's data, for the site and for that person to see."""
    db.session.add(AdminAccess(admin_id=admin_id, user_id=user_id, what=action[:50]))
    audit.record(user_id, Action.ADMIN_CHANGED if is_change else Action.ADMIN_LOOKED, action)
