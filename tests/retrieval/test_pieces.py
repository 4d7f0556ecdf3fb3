"""Long messages are found by their pieces."""

from datetime import UTC, datetime

import numpy as np
import pytest
from flask import Flask
from sqlalchemy import select

from testkit.people import Person
from tests.chat.helpers import wait_for_end
from tests.support.queries import scalars
from webapp.chat.models import PipelineStep
from webapp.conversations import messages
from webapp.conversations.models import Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import db, now, write_transaction
from webapp.retrieval import vector_jobs
from webapp.retrieval.index import UserIndex
from webapp.retrieval.models import MessageEmbedding
from webapp.retrieval.passages import Filter, Passage, Scope
from webapp.retrieval.service import search
from webapp.text.message_pieces import pieces_of

AT = datetime(2026, 3, 1, tzinfo=UTC)
FILLER = "The weather was fine and nothing much happened on that day. "
LONG = FILLER * 100 + "The spare key lies under the blue flowerpot. " + FILLER * 100


def index_all(user: Person) -> None:
    """Make all vectors, in as many slices as this machine takes."""
    while vector_jobs.index_user(user.user_id).has_more:
        pass


def _say(user_id: int, *texts: str) -> list[int]:
    with write_transaction():
        conversation = create_conversation(user_id, NewConversation())
        rows = [Message(role="user", content=text, created_at=AT) for text in texts]
        messages.add_past_messages(conversation, rows)
        return [row.message_id for row in rows]


def test_what_stands_deep_in_a_long_message_is_found_there(app_context, user):
    long_id, _ = _say(user.user_id, LONG, "Good night.")
    index_all(user)
    best = search(user.user_id, "where is the spare key", kinds=("message",)).items[0]
    assert best.id == long_id
    assert "blue flowerpot" in best.content
    assert best.content == LONG[best.start :][: len(best.content)] and len(best.content) < 1_000


def test_a_time_by_its_distance_from_now_weighs_by_date(app_context, user):
    year = now().year
    with write_transaction():
        for told in (year - 4, year - 1, year - 3):
            conversation = create_conversation(user.user_id, NewConversation())
            said_at = datetime(told, 8, 5, tzinfo=UTC)
            said = Message(role="user", content="We went on holiday and saw whales.", created_at=said_at)
            messages.add_past_messages(conversation, [said])
    index_all(user)
    best = search(user.user_id, "where did we go on holiday last year", kinds=("message",)).items[0]
    assert best.at.year == year - 1


def test_every_piece_has_a_vector_and_an_edit_of_the_cut_leaves_none_behind(app_context, user):
    long_id, _ = _say(user.user_id, LONG, "Good night.")
    index_all(user)
    stored = db.session.scalars(
        select(MessageEmbedding).where(MessageEmbedding.message_id == long_id).order_by(MessageEmbedding.piece)
    ).all()
    assert [(row.from_char, row.to_char) for row in stored] == pieces_of(LONG)
    assert [row.piece for row in stored] == list(range(len(stored)))
    db.session.rollback()
    assert vector_jobs.index_user(user.user_id).total == 0


@pytest.fixture
def patient(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply waits for what it is given, however long that takes here."""
    long = app.extensions["settings"].model_copy(update={"embedding_query_seconds": 60.0, "index_wait_seconds": 60.0})
    monkeypatch.setitem(app.extensions, "settings", long)


@pytest.mark.usefixtures("patient")
def test_a_receipt_shows_the_excerpts_that_the_reply_was_given(app, client, user, model):
    with app.app_context():
        (long_id,) = _say(user.user_id, LONG)
        index_all(user)
        db.session.remove()
    conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
    model.script(match="spare key", reply="There it is.")
    sent = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": "Where is the spare key?"})
    reply_id = sent.json["response_id"]
    wait_for_end(app, reply_id)
    lines = client.get(f"/api/messages/{reply_id}/receipt").json["items"]
    (line,) = [line for line in lines if line["id"] == long_id and line["injected"]]
    assert "The spare key lies under the blue flowerpot." in line["content"]
    assert line["content"].startswith("… ") and len(line["content"]) < len(LONG) / 3
    kept = scalars(app, select(PipelineStep.data).where(PipelineStep.message_id == reply_id))
    assert "blue flowerpot" not in str(kept), "the account of a reply names places and keeps no words"


def test_pieces_of_a_message_go_together():
    index = UserIndex()

    def pieces(number: int, *texts: str) -> list[Passage]:
        return [
            Passage("message", number, text, 1, AT, group_id=7, piece=at, start=at * 10, end=at * 10 + 10)
            for at, text in enumerate(texts)
        ]

    index.add([*pieces(1, "oslo"), *pieces(2, "bergen", "oslo again", "tromso"), *pieces(3, "alta")])
    index.put_vectors("m", [("message", 2, 1), ("message", 2, 9)], np.ones((2, 4), np.float32))
    where = Filter(Scope(1))
    hits = index.search("tromso", None, where)
    assert [(hit.id, hit.start, hit.end) for hit in hits[:1]] == [(2, 20, 30)]
    assert index.keys_of("message", 7) == [("message", 1), ("message", 2), ("message", 3)]
    index.compact()
    assert index.search("tromso", None, where)[0].start == 20
    index.remove([("message", 2)])
    assert index.search("tromso", None, where) == []
    assert [hit.key for hit in index.search("alta", None, where)][:1] == [("message", 3)]
    assert len(index) == 2
