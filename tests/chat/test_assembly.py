"""Assembling a prompt: what is read before the connection is given back is not read again."""

from __future__ import annotations

import pytest
from flask import Flask

from tests.support.people import Person
from tests.support.queries import count_queries
from webapp.chat import assembly
from webapp.conversations import messages
from webapp.conversations.models import Conversation
from webapp.database import db, write_transaction
from webapp.retrieval.service import Result


def test_no_row_is_read_anew_after_the_connection_was_given_back(
    app: Flask, user: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.app_context(), write_transaction():
        conversation = Conversation(user_id=user.user_id, message_count=2)
        db.session.add(conversation)
        db.session.flush()
        _, reply = messages.add_exchange(conversation, "Where is the heron's nest?", parent_id=None)
        turn_id = reply.message_id

    with app.app_context(), count_queries() as sent:
        before: list[int] = []

        def away(*_of: object) -> Result:
            db.session.rollback()
            before.append(len(sent))
            return Result()

        monkeypatch.setattr(assembly, "retrieve", away)
        made = assembly.assemble(turn_id, app.extensions["settings"])
        assert made.messages[-1]["content"].endswith("nest?")
        anew = sent[before[0] :]
    assert not [statement for statement in anew if "FROM conversations" in statement or "FROM users" in statement]
