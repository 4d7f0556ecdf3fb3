"""Access to conversations for reading and work: a caller's own, or everybody's for services and admins.

Services get nothing of an account that is stopped or closed; what admins read of it is recorded, as always.
"""

import logging

from webapp.accounts.auth import Identity
from webapp.accounts.service import get_user
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import write_transaction
from webapp.digests.service import existing_conversation
from webapp.errors import NotFound
from webapp.memories.showing import admin_view

log = logging.getLogger(__name__)


def reachable_conversation(identity: Identity, conversation_id: int) -> Conversation:
    """Return a conversation of the caller's, or anybody's for a service or an admin. Raises NotFound."""
    if identity.is_admin or identity.is_service:
        row = existing_conversation(conversation_id)
        require_user(identity, row.user_id)
        return row
    return get_conversation(identity.user_id, conversation_id)


def require_user(identity: Identity, user_id: int) -> None:
    """Raise NotFound unless this is the caller, a user for an admin, or an active account for a service."""
    if identity.is_admin or identity.is_service:
        if not get_user(user_id).is_active and not identity.is_admin:
            raise NotFound("There is no such account.")
    elif identity.user_id != user_id:
        raise NotFound("There is no such account.")


def note_look(identity: Identity, owner_id: int, action: str) -> None:
    """Record, and commit, that an admin is about to read what somebody else wrote."""
    if not identity.is_admin or owner_id == identity.user_id:
        return
    with write_transaction():
        admin_view.note_look(identity.user_id, owner_id, action)
    log.warning("admin read a conversation", extra={"admin_id": identity.user_id, "user_id": owner_id, "what": action})
