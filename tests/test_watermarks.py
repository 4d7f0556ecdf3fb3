"""No mark of how far a job has read passes what was not finished yet, whenever that began: in each gap of the job."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import func, select

from tests.support.dialogue import START, write_dialogue
from tests.support.interleaving import ON_MARIADB, in_each_gap
from tests.support.people import Person
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import get_conversation
from webapp.database import db, write_transaction
from webapp.retrieval import indexing
from webapp.retrieval.models import MessageEmbedding

pytestmark = ON_MARIADB


class Talk:
    """A conversation in which another question is asked while a job reads it, and answered after that."""

    def __init__(self, user_id: int, lines: int = 2) -> None:
        said = [("user", f"I paint boat {n}") if n % 2 == 0 else ("assistant", f"Nice, {n}.") for n in range(lines)]
        self.user_id = user_id
        self.id = write_dialogue(user_id, said, START).conversation_id
        db.session.remove()

    def is_asked(self) -> None:
        with write_transaction():
            row = get_conversation(self.user_id, self.id, lock=True)
            messages.add_exchange(row, "And in Hvar?", parent_id=messages.last_message_id(self.id))

    def is_answered(self) -> None:
        with write_transaction():
            reply = db.session.scalar(
                select(func.max(Message.message_id)).where(
                    Message.conversation_id == self.id, Message.status == "streaming"
                )
            )
            finish_turn(reply, Outcome("complete", "There too."))
        db.session.remove()


@pytest.fixture
def talks(app_context: Flask, user: Person) -> list[Talk]:
    """Those begun so far."""
    return []


def gaps(app: Flask, user: Person, talks: list[Talk], job: Callable[[Talk], object], lines: int = 2):
    """Each gap of a job about a conversation, with a question asked in it, and answered after the job."""

    def prepare() -> Callable[[], None]:
        talks.append(Talk(user.user_id, lines))
        return lambda: job(talks[-1])

    for gap in in_each_gap(app, prepare, lambda: talks[-1].is_asked()):
        talks[-1].is_answered()
        yield gap


def test_every_message_gets_its_vectors(app_context, user, talks) -> None:
    for gap in gaps(app_context, user, talks, lambda talk: indexing.index_user(user.user_id)):
        indexing.index_user(user.user_id)
        rows = db.session.execute(
            select(Message.content, MessageEmbedding.model)
            .outerjoin(MessageEmbedding, MessageEmbedding.message_id == Message.message_id)
            .where(Message.conversation_id == talks[-1].id)
        ).all()
        assert len(rows) == 4
        assert not [row.content for row in rows if row.model is None], f"gap {gap.number}"
        assert not db.session.get(Conversation, talks[-1].id, populate_existing=True).index_due
        db.session.remove()
