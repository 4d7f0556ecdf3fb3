"""The rows a prompt is made from."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, func, select, true
from sqlalchemy.orm import aliased, load_only

from webapp.accounts.models import User
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.prompts import service as prompts
from webapp.retrieval.changes import PassageMarks, mark_columns
from webapp.retrieval.models import ConversationChunk
from webapp.tools.models import ToolServer

PROMPT = "chat"


class PromptRows(NamedTuple):
    """The rows a prompt is made from. `question` is the text of the user's message, `request` what came with it,
    `tool_servers` how many the owner can use, `has_chunks` whether there are summaries, `active` the prompt's version
    and text."""

    reply: Message
    conversation: Conversation
    owner: User
    question: str | None
    request: dict[str, Any] | None
    tool_servers: int
    has_chunks: bool
    marks: PassageMarks
    active: Sequence[Any]


def read_rows(turn_id: int) -> PromptRows | None:
    """Read what the prompt of a reply is made from, in one statement; None if there is no such reply."""
    row = db.session.execute(_statement(), {"turn": turn_id}).one_or_none()
    if row is None:
        return None
    reply, conversation, owner, question, request, tool_servers, has_chunks, *rest = row
    split = len(PassageMarks._fields)
    marks, active = PassageMarks(*rest[:split]), rest[split:]
    return PromptRows(reply, conversation, owner, question, request, tool_servers, has_chunks, marks, active)


@cache
def _statement() -> Select[*tuple[Any, ...]]:
    question = aliased(Message)
    tool_servers = (
        select(func.count())
        .select_from(ToolServer)
        .where(
            (ToolServer.user_id == Conversation.user_id) | ToolServer.user_id.is_(None), ToolServer.is_enabled == true()
        )
        .correlate(Conversation)
        .scalar_subquery()
    )
    return (
        select(
            Message,
            Conversation,
            User,
            question.content,
            question.custom_payload,
            tool_servers,
            select(ConversationChunk.chunk_id)
            .where(ConversationChunk.conversation_id == Conversation.conversation_id)
            .correlate(Conversation)
            .exists(),
            *mark_columns(Conversation.user_id, Conversation),
            *prompts.active_columns(PROMPT),
        )
        .outerjoin(question, (question.message_id == Message.reply_to_id) & question.superseded_by_id.is_(None))
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .join(User, User.user_id == Conversation.user_id)
        .where(Message.message_id == bindparam("turn"))
        # Columns that few prompts need are loaded on demand: setting up a column costs more than reading it.
        .options(
            load_only(
                Message.conversation_id,
                Message.status,
                Message.superseded_by_id,
                Message.model,
                Message.role,
                Message.reply_to_id,
                Message.parent_id,
                Message.custom_payload,
                Message.is_tainted,
            ),
            load_only(
                Conversation.user_id,
                Conversation.message_count,
                Conversation.uses_memory,
                Conversation.is_temporary,
                Conversation.deleted_at,
                Conversation.created_at,
                Conversation.journey_id,
                Conversation.space_id,
                Conversation.persona,
                Conversation.model,
                Conversation.parameters,
                Conversation.has_files,
                Conversation.uses_web,
            ),
            load_only(User.settings, User.is_admin),
        )
    )
