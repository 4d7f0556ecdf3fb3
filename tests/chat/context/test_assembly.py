"""Assembling a prompt: what is read before the connection is given back is not read again, and nothing twice."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.chat.context import assembly
from webapp.chat.context.rows import parts_of, read_rows
from webapp.conversations import messages
from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.retrieval.changes import position
from webapp.retrieval.lookup import LookUp, Question, Result


def _turn(app: Flask, user: Person) -> int:
    with app.app_context(), write_transaction():
        conversation = Conversation(user_id=user.user_id, message_count=2)
        db.session.add(conversation)
        db.session.flush()
        _, reply = messages.add_exchange(conversation, "Where is the heron's nest?", parent_id=None)
        return int(reply.message_id)


def test_no_row_is_read_anew_after_the_connection_was_given_back(
    app: Flask, user: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn_id = _turn(app, user)
    with app.app_context(), count_queries() as sent:
        before: list[int] = []

        def away(_look_up: LookUp) -> Result:
            db.session.rollback()
            before.append(len(sent))
            return Result()

        monkeypatch.setattr(LookUp, "finish", away)
        made = assembly.assemble(turn_id, app.extensions["settings"])
        assert made.messages[-1]["content"].endswith("nest?")
        anew = sent[before[0] :]
    assert not [statement for statement in anew if "FROM conversations" in statement or "FROM users" in statement]


def test_where_passages_stand_is_read_with_the_rest(app: Flask, user: Person, client: FlaskClient) -> None:
    client.post("/api/memories", json={"memory_type": "fact", "content": "Watches herons."})
    turn_id = _turn(app, user)
    with app.app_context():
        stands = parts_of(db.session.execute(read_rows(), {"turn": turn_id}).one()).stands
        assert stands.position == position(user.user_id)
        assert stands.position is not None
        assert stands.memory_version == stands.position.memory_version > 0


def test_with_spaces_their_versions_are_read_as_well(app: Flask, user: Person, client: FlaskClient) -> None:
    space_id = client.post("/api/spaces", json={"kind": "project", "name": "Marsh"}).json["space_id"]
    turn_id = _turn(app, user)
    with app.app_context():
        assert parts_of(db.session.execute(read_rows(), {"turn": turn_id}).one()).stands.position is None
        looking = LookUp(Question(user.user_id, "Where is the heron's nest?"), 5.0)
        assert looking.memory_version is not None
        assert position(user.user_id).space_ids == {space_id}
