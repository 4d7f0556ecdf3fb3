"""A conversation that continues from a message of another one."""

from collections.abc import Sequence

from sqlalchemy import select

from webapp.conversations.current_messages import current, with_last_answers
from webapp.conversations.messages import add_past_messages, get_message, order_by_index
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation, get_conversation
from webapp.db.base import db
from webapp.errors import Conflict

MAX_COPIED = 2_000
"""The most messages a branch may begin with."""
_COPIED_COLUMNS = (
    *("role", "content", "created_at", "tool_calls", "suggested_values", "status", "error_code", "error_detail"),
    *("model", "prompt_version", "prompt_tokens", "completion_tokens", "spans", "is_tainted"),
)


def branch(user_id: int, message_id: int) -> tuple[Conversation, dict[int, Message]]:
    """Return a conversation with copies up to a message, and these by their originals' ids. Raises Conflict."""
    last = get_message(user_id, message_id)
    source = get_conversation(user_id, last.conversation_id)
    if last.superseded_by_id is not None:
        raise Conflict("This is an earlier version. Switch to it first.")
    statement = order_by_index(select(Message)).where(current(source.conversation_id), Message.message_id <= message_id)
    # A copy has no versions to go back to.
    rows = with_last_answers(db.session.scalars(statement.order_by(Message.message_id).limit(MAX_COPIED + 1)))
    if any(row.status == "streaming" for row in rows):
        raise Conflict("A reply is being written. Stop it first.")
    if len(rows) > MAX_COPIED:
        raise Conflict("A branch can begin with at most %(most_copied)s messages.", most_copied=f"{MAX_COPIED:,}")
    copy = create_conversation(
        user_id,
        NewConversation(space_id=source.space_id, persona=source.persona, is_temporary=source.is_temporary),
    )
    if source.title:
        copy.title, copy.title_source = f"{source.title[:245]} (branch)", "auto"
    copy.uses_memory, copy.makes_memory = source.uses_memory, source.makes_memory
    copy.model, copy.parameters, copy.uses_web = source.model, source.parameters, source.uses_web
    copy.folder_id, copy.tag_lines = source.folder_id, source.tag_lines
    return copy, _copy(rows, copy)


def _copy(rows: Sequence[Message], target: Conversation) -> dict[int, Message]:
    copies: dict[int, Message] = {}
    for row in rows:
        copies[row.message_id] = copy = Message(**{name: getattr(row, name) for name in _COPIED_COLUMNS})
        if row.role == "user":
            copy.custom_payload = row.custom_payload
    add_past_messages(target, [*copies.values()])
    for row in rows:
        question_copy = copies.get(row.reply_to_id) if row.reply_to_id else None
        copies[row.message_id].reply_to_id = question_copy.message_id if question_copy else None
    db.session.flush()
    return copies
