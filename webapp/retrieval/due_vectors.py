"""To whom vectors are owed: after messages and changes of memory, and to everybody after a change of model."""

from sqlalchemy import false, func, select, true, update

from webapp.accounts.site import get_setting, set_setting
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.memories.models import MemoryVersion
from webapp.providers.clients import embedder
from webapp.retrieval.models import PassageVersion
from webapp.spaces.document_vectors import owe_documents

EMBEDDING_MODEL = "embedding_model"
"""The site setting that names the model by which vectors were last owed."""


def users_awaiting_vectors(limit: int = 200) -> list[int]:
    """Return users to whom vectors are owed: for messages, or for changed memories."""
    messages = db.session.scalars(
        select(Conversation.user_id)
        .where(Conversation.index_due == true(), Conversation.is_temporary == false())
        .group_by(Conversation.user_id)
        .limit(limit)
    ).all()
    user_ids = db.session.scalars(
        select(MemoryVersion.user_id)
        .outerjoin(PassageVersion, PassageVersion.user_id == MemoryVersion.user_id)
        .where(MemoryVersion.version > func.coalesce(PassageVersion.memories_through, 0))
        .limit(limit)
    ).all()
    return list(dict.fromkeys([*messages, *user_ids]))


def owe_all() -> int:
    """Owe everybody vectors by the current model; those by the previous one stay in use until replaced. Returns the
    number of users with conversations; the caller commits."""
    db.session.execute(
        update(Conversation)
        .where(Conversation.is_temporary == false())
        .values(index_due=True, indexed_through=None, updated_at=Conversation.updated_at)
        .execution_options(synchronize_session=False)
    )
    db.session.execute(update(PassageVersion).values(memories_through=None))
    owe_documents(embedder().model)
    return db.session.scalar(select(func.count(func.distinct(Conversation.user_id)))) or 0


def notice_model() -> int:
    """Queue vectors for everybody if the embedding model has changed; return the number of users.

    The caller commits. Until the new vectors exist, search uses those of both models.
    """
    before, present = get_setting(EMBEDDING_MODEL), embedder().model
    if before == present:
        return 0
    set_setting(EMBEDDING_MODEL, present)
    return owe_all() if before is not None else 0
