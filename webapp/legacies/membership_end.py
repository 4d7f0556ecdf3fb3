"""The end of a membership, or of an account with all of its memberships: what a member had in a space becomes theirs
alone, and the others lose what it told them."""

from sqlalchemy import select, update

from webapp.accounts.signals import account_ending
from webapp.conversations.models import Conversation
from webapp.db.base import count_rows, db
from webapp.i18n.marks import say_n
from webapp.memories.models import Memory
from webapp.memories.store import forgetting, versions
from webapp.memories.store.journal import record_changes
from webapp.memories.store.reach import Reach, lock_withdrawal, reach_of, withdraw
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.retrieval.models import ConversationChunk
from webapp.spaces.members import leave_all, lock_spaces
from webapp.spaces.models import Space
from webapp.spaces.signals import Consequence, collect_consequences, membership_ending

IS_SHARED = Memory.visibility == "shared"


@collect_consequences.connect
def _consequence_texts(_sender: object, *, space: Space, user_id: int) -> list[Consequence]:
    """Return what will happen, in words; only the member's own things are counted."""
    conversations = count_rows(
        Conversation.user_id == user_id, Conversation.space_id == space.space_id, Conversation.deleted_at.is_(None)
    )
    own = Memory.user_id == user_id, Memory.space_id == space.space_id
    memories, shared = count_rows(*own), count_rows(*own, IS_SHARED)
    return [
        Consequence(
            "conversations",
            conversations,
            say_n(
                "One of your conversations in %(name)s will become personal.",
                "%(num)s of your conversations in %(name)s will become personal.",
                conversations,
                name=space.name,
                num=conversations or "No",
            ),
        ),
        Consequence(
            "memories",
            memories,
            say_n(
                "One of your memories will be moved to your own archive.",
                "%(num)s of your memories will be moved to your own archive.",
                memories,
                num=memories or "No",
            ),
        ),
        Consequence(
            "shared",
            shared,
            say_n(
                "%(num)s memory you share here will be yours alone again.",
                "%(num)s memories you share here will be yours alone again.",
                shared,
                num=shared or "No",
            ),
        ),
    ]


@membership_ending.connect
def _on_membership_ending(_sender: object, *, space: Space, user_id: int, forget: bool) -> Reach:
    """Conversations become personal. Memories, which are about the subject of the space and not about the user, are
    archived among the personal ones, private; or forgotten, if the user says so. Others lose what they were told."""
    space_id = space.space_id
    db.session.execute(
        update(Conversation)
        .where(Conversation.user_id == user_id, Conversation.space_id == space_id)
        .values(space_id=None, persona=None, updated_at=Conversation.updated_at)
        .execution_options(synchronize_session=False)
    )
    conditions = Memory.user_id == user_id, Memory.space_id == space_id
    shared = db.session.scalars(select(Memory.memory_id).where(*conditions, IS_SHARED)).all()
    if shared:
        lock_withdrawal(user_id, shared)
    versions.begin_change(user_id)
    db.session.execute(
        update(ConversationChunk)
        .where(ConversationChunk.user_id == user_id, ConversationChunk.space_id == space_id)
        .values(space_id=None)
        .execution_options(synchronize_session=False)
    )
    rows = db.session.scalars(
        select(Memory)
        .where(*conditions)
        .order_by(Memory.memory_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    reach = Reach()
    if forget and rows:
        forgetting.forget(user_id, [row.memory_id for row in rows], cause="space_ended")
    elif rows:
        reach = withdraw(user_id, [row for row in rows if row.visibility == "shared"])
        for row in rows:
            row.space_id, row.visibility, row.is_archived, row.is_pinned = None, "private", True, False
        record_changes(user_id, "space_ended", rows, {"archived": len(rows)})
    changes.note(user_id, Change("memories"))  # everything of theirs in the space has moved
    return reach


@account_ending.connect
def _on_account_ending(_sender: object, *, user_id: int) -> dict[str, int]:
    """End an account's memberships in all spaces; return what others lose by it."""
    lock_spaces(user_id)
    shared = select(Memory.memory_id).where(Memory.user_id == user_id, IS_SHARED)
    lock_withdrawal(user_id, db.session.scalars(shared).all())
    reach = reach_of(leave_all(user_id))
    return {"replies_of_others": reach.replies, "quoted_by_others": reach.quoted}
