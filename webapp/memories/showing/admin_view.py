"""The admin's view of somebody's memories, which is recorded."""

import logging

from webapp.accounts.service import get_user, names_of
from webapp.audit import service as audit
from webapp.audit.actions import Action
from webapp.http.validation import Page
from webapp.memories.models import Memory
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
    """Record that an admin, also on the command line, viewed or changed somebody's data, for that person to see."""
    actor = audit.current_actor()
    if actor == audit.SYSTEM:
        actor = audit.Actor("person", admin_id, names_of([admin_id])[admin_id])
    audit.record(user_id, Action.ADMIN_CHANGED if is_change else Action.ADMIN_LOOKED, action, actor=actor)
