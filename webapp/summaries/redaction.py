"""The effect of forgetting on models' texts about conversations: summaries lose what retells it, titles too."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, delete, select, update

from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise
from webapp.db.index_hints import stream_rows
from webapp.i18n.dates import full_date
from webapp.memories.rules.paraphrases import ForgottenStatements, without_repeats
from webapp.memories.store.copies import replies_stripped, statements_withdrawn
from webapp.memories.store.forgetting import drop_streams, pre_forget
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.retrieval.models import ConversationChunk, MessageEmbedding
from webapp.retrieval.passage_rows import CHUNKS_ONLY


@pre_forget.connect
def _forget(_sender: Any, *, user_id: int, texts: Collection[str], **_: Any) -> None:
    statements = ForgottenStatements(texts)
    _strip_chunks(user_id, statements)
    _replace_titles(user_id, statements)


@statements_withdrawn.connect
def _redact_paraphrases(
    _sender: Any, *, user_id: int, conversation_ids: Collection[int], statements: ForgottenStatements
) -> None:
    _strip_chunks(user_id, statements, ConversationChunk.conversation_id.in_(conversation_ids))
    _replace_titles(user_id, statements, Conversation.conversation_id.in_(conversation_ids))


def _strip_chunks(user_id: int, statements: ForgottenStatements, *condition: ColumnElement[bool]) -> None:
    """Remove what retells forgotten statements from the user's summaries; their vectors are then made again."""
    statement = select(ConversationChunk.chunk_id, ConversationChunk.conversation_id, ConversationChunk.content).where(
        ConversationChunk.user_id == user_id, *condition
    )
    stripped = [
        (chunk_id, conversation_id, text)
        for chunk_id, conversation_id, content in stream_rows(statement)
        if (text := without_repeats(content, statements)) != content
    ]
    for chunk_id, _, text in stripped:
        db.session.execute(
            update(ConversationChunk)
            .where(ConversationChunk.chunk_id == chunk_id)
            .values(content=text, embedding=None, embedding_model=None)
        )
    _index_again(user_id, {conversation_id: CHUNKS_ONLY for _, conversation_id, _ in stripped})


def _replace_titles(user_id: int, statements: ForgottenStatements, *condition: ColumnElement[bool]) -> None:
    """Give conversations with a telltale title that was not the user's own a title with nothing but the date."""
    rows = db.session.execute(
        select(Conversation.conversation_id, Conversation.title, Conversation.created_at).where(
            Conversation.user_id == user_id,
            Conversation.title_source == "auto",
            Conversation.title.is_not(None),
            *condition,
        )
    ).all()
    for row in rows:
        if not statements.is_repeated_in(row.title):
            continue
        # Still "auto", so that no job makes a title from the same words again.
        db.session.execute(
            update(Conversation)
            .where(Conversation.conversation_id == row.conversation_id)
            .values(title=f"Conversation of {full_date(row.created_at)}", updated_at=Conversation.updated_at)
        )
        # The streams of its turns contain the title, and live on for some time.
        replies = db.session.scalars(
            select(Message.message_id)
            .where(
                Message.conversation_id == row.conversation_id,
                Message.role == "assistant",
                Message.status != "streaming",
            )
            .order_by(Message.message_id)
            .limit(20)
        )
        drop_streams(replies.all())


@replies_stripped.connect
def _replies_stripped(_sender: Any, *, user_id: int, message_ids: Sequence[int]) -> None:
    """Index replies that lost a forgotten text again, so that they are found by what they say now."""
    firsts: dict[int, int] = {}
    for conversation_id, message_id in db.session.execute(
        select(Message.conversation_id, Message.message_id).where(Message.message_id.in_(message_ids))
    ):
        firsts[conversation_id] = min(message_id, firsts.get(conversation_id, message_id))
    db.session.execute(delete(MessageEmbedding).where(MessageEmbedding.message_id.in_(message_ids)))
    _index_again(user_id, firsts)


def _index_again(user_id: int, firsts: dict[int, int]) -> None:
    """Request the missing vectors of conversations, for messages from these ids on."""
    ids = []
    for conversation_id, first_id in sorted(firsts.items()):
        conversation = get_or_raise(Conversation, conversation_id)
        if conversation.is_temporary:
            continue
        conversation.index_due = True
        if conversation.indexed_through is not None:
            conversation.indexed_through = min(conversation.indexed_through, first_id - 1)
        ids.append(Change("conversation", conversation_id, first_id))
    db.session.flush()  # all conversations are locked before the counter of changes is
    if ids:
        changes.note(user_id, *ids)
        enqueue_after_commit("index", user_id=user_id)
