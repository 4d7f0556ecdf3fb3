"""What is owed is what has no vector: nothing that ends while others are embedded is passed over."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.dialogue import START, write_dialogue
from webapp.conversations.models import Conversation, Message
from webapp.database import db, write_transaction
from webapp.retrieval import indexing
from webapp.retrieval.models import MessageEmbedding


class Slow:
    """An embedder that lets something happen while it works."""

    model = "slow"

    def __init__(self, meanwhile: Any) -> None:
        self._meanwhile = meanwhile

    def embed_passages(self, texts: list[str]) -> np.ndarray:
        if self._meanwhile:
            self._meanwhile.pop()()
        return np.ones((len(texts), 4), np.float32)


def embedded() -> set[int]:
    return set(db.session.scalars(db.select(MessageEmbedding.message_id)))


def test_a_reply_that_ends_while_the_embedder_works_is_indexed(app_context, user, monkeypatch) -> None:
    talk = write_dialogue(user.user_id, [("user", "I paint boats"), ("assistant", "Nice.")], START).conversation_id
    late: list[int] = []

    def ends() -> None:
        with write_transaction():
            row = Message(conversation_id=talk, role="assistant", content="In Hvar?", status="complete")
            db.session.add(row)
            db.session.flush()
            late.append(row.message_id)
            db.session.get(Conversation, talk).index_due = True

    db.session.get(Conversation, talk).index_due = True
    db.session.commit()
    monkeypatch.setattr(indexing, "embedder", lambda: Slow([ends]))
    indexing.index_user(user.user_id)
    assert late[0] in embedded()
    assert not db.session.get(Conversation, talk, populate_existing=True).index_due


def test_a_reply_still_being_written_keeps_nobody_busy(app_context, user, monkeypatch) -> None:
    """It is owed when it ends, and not before."""
    talk = write_dialogue(user.user_id, [("user", "I paint boats"), ("assistant", "Nice.")], START).conversation_id
    row = Message(conversation_id=talk, role="assistant", content="In H", status="streaming")
    db.session.add(row)
    db.session.get(Conversation, talk).index_due = True
    db.session.flush()
    row_id = row.message_id
    db.session.commit()
    monkeypatch.setattr(indexing, "embedder", lambda: Slow([]))
    assert indexing.index_user(user.user_id).messages == 2
    assert row_id not in embedded()
    assert not db.session.get(Conversation, talk, populate_existing=True).index_due
