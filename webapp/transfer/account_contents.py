"""The contents of an account, counted for the page on which it is deleted."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import aliased

from webapp.conversations.models import Conversation
from webapp.db.base import count_rows, db
from webapp.files.models import File
from webapp.memories.models import Memory
from webapp.spaces.models import Space, SpaceDocument, SpaceMember


@dataclass(frozen=True)
class AccountContents:
    """The extent of a deletion; which spaces are deleted or go to another member; how many documents stay in spaces."""

    conversations: int
    memories: int
    files: int
    deleted_spaces: list[str]
    transferred_spaces: list[str]
    documents_left: int


def list_account_contents(user_id: int) -> AccountContents:
    """Return what somebody has, and what of it stays for others when they leave."""
    other = aliased(SpaceMember)
    owned = (
        select(Space.name, func.count(other.space_member_id))
        .join(SpaceMember, SpaceMember.space_id == Space.space_id)
        .outerjoin(
            other,
            (other.space_id == Space.space_id) & (other.status == "active") & (other.user_id != user_id),
        )
        .where(SpaceMember.user_id == user_id, SpaceMember.role == "owner")
        .group_by(Space.space_id, Space.name)
        .order_by(Space.name)
    )
    spaces = db.session.execute(owned).all()
    shared = select(SpaceMember.space_id).where(
        SpaceMember.user_id != user_id, SpaceMember.status == "active", SpaceMember.user_id.is_not(None)
    )
    return AccountContents(
        count_rows(Conversation.user_id == user_id, Conversation.deleted_at.is_(None)),
        count_rows(Memory.user_id == user_id),
        count_rows(File.user_id == user_id),
        [name for name, others in spaces if not others],
        [name for name, others in spaces if others],
        count_rows(SpaceDocument.user_id == user_id, SpaceDocument.space_id.in_(shared)),
    )
