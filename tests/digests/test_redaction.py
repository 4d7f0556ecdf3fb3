"""Forgetting reaches digests: those that may hold what was forgotten go, and do not come back with it."""

import tracemalloc

import pytest
from sqlalchemy import func, insert, select, update

from tests.conversations.rows import add_conversation, add_messages
from webapp.conversations.models import Conversation
from webapp.db import index_hints
from webapp.db.base import db, now, write_transaction
from webapp.digests import generation, redaction, service
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.digests.schemas import ConversationMemoryData
from webapp.memories.models import Memory, MemoryEvidence
from webapp.memories.rules.paraphrases import ForgottenStatements
from webapp.memories.store.copies import statements_withdrawn

SECRET = "Is allergic to peanuts"


def digest(topic):
    """A digest about one thing."""
    return ConversationMemoryData(main_topics=[topic], action=[], typical_observation="")


def test_digests_go_with_the_memory_and_stay_without_it(app, user, client, model):
    source, same_words, other = (add_conversation(app, user.user_id) for _ in range(3))
    asked, _ = add_messages(app, source, 2)
    made = client.post("/api/memories", json={"memory_type": "fact", "content": SECRET}).json["memory_id"]
    with app.app_context(), write_transaction():
        at = now()
        db.session.add(MemoryEvidence(memory_id=made, message_id=asked, quote="Message 0", start=0, end=9, said_at=at))
        service.upsert_digest(user.user_id, source, digest("Nuts"))
        service.upsert_digest(user.user_id, same_words, digest(f"{SECRET}."))
        service.upsert_digest(user.user_id, same_words, digest("Something else"))
        service.upsert_digest(user.user_id, other, digest("Tides"))
        assert db.session.get(Memory, made) is not None
    assert client.delete(f"/api/memories/{made}").status_code == 200
    told = {"main_topics": ["Food", SECRET], "action": [SECRET], "typical_observation": SECRET}
    model.script(match="conversation_digest", structured=told)
    with app.app_context():
        assert service.find_digest(source) is None, "it rests on a message of this conversation"
        assert service.history(same_words) == [], "a version before said it"
        assert service.get_digest(other).memory_data["main_topics"] == ["Tides"]
        generation.generate(source)
        assert service.get_digest(source).memory_data == digest("Food").model_dump()


SIZE = 3


def add_digests(app, user_id, versions):
    """Digests with these versions, a list of topics for each: the ids of their conversations."""
    with app.app_context(), write_transaction():
        talks = [Conversation(user_id=user_id) for _ in versions]
        db.session.add_all(talks)
        db.session.flush()
        ids = [row.conversation_id for row in talks]
        data = [[digest(topic).model_dump() for topic in topics] for topics in versions]
        rows = [{"conversation_id": talk, "memory_data": each[-1]} for talk, each in zip(ids, data, strict=True)]
        db.session.execute(insert(ConversationMemory), rows)
        found = select(ConversationMemory.conversation_id, ConversationMemory.id).where(
            ConversationMemory.conversation_id.in_(ids)
        )
        of = dict(db.session.execute(found).all())
        rows = [
            {"conversation_memory_id": of[talk], "version": number, "memory_data": each, "source": "model"}
            for talk, whole in zip(ids, data, strict=True)
            for number, each in enumerate(whole, 1)
        ]
        db.session.execute(insert(ConversationMemoryVersion), rows)
        return ids


def version_counts(app, ids):
    """Those of these conversations that still have a digest, with how many versions it has."""
    with app.app_context():
        return {talk: len(service.history(talk)) for talk in ids if service.find_digest(talk) is not None}


@pytest.mark.parametrize("chosen", [{SIZE // 2, SIZE, 2 * SIZE}, set(range(2 * SIZE + 1))], ids=["some", "all"])
@pytest.mark.parametrize("how", ["forgotten", "withdrawn"])
def test_those_that_tell_it_go_from_every_batch(app, user, make_user, monkeypatch, chosen, how):
    """Two versions each, of which the older tells it: a batch may end between the two."""
    monkeypatch.setattr(index_hints, "BATCH_SIZE", SIZE)
    count = 2 * SIZE + 1
    topics = [[SECRET if number in chosen else f"Herons {number}", "Tides"] for number in range(count)]
    ids = add_digests(app, user.user_id, topics)
    others = add_digests(app, make_user().user_id, [[SECRET]] * 2)
    with app.app_context(), write_transaction():
        if how == "forgotten":
            redaction._forget(None, user_id=user.user_id, evidence=[], texts={SECRET})
        else:
            statements_withdrawn.send(
                None, user_id=user.user_id, conversation_ids=ids, statements=ForgottenStatements({SECRET})
            )
    assert version_counts(app, ids) == {talk: 2 for number, talk in enumerate(ids) if number not in chosen}
    assert version_counts(app, others) == dict.fromkeys(others, 1)
    with app.app_context():
        versions = len(version_counts(app, ids)) * 2 + len(others)
        assert db.session.query(ConversationMemoryVersion).count() == versions


def test_digests_are_looked_through_a_few_at_a_time(app, user, monkeypatch):
    monkeypatch.setattr(index_hints, "BATCH_SIZE", 8)
    ids = add_digests(app, user.user_id, [["Herons"]] * 120 + [[SECRET]])
    with app.app_context():
        last = db.session.scalar(select(func.max(ConversationMemoryVersion.version_id)))
        long = {"main_topics": ["Herons. " * 1_000], "action": [], "typical_observation": ""}
        many = update(ConversationMemoryVersion).where(ConversationMemoryVersion.version_id < last)
        db.session.execute(many.values(memory_data=long))
        redaction._forget(None, user_id=user.user_id, evidence=[], texts={"Sails"})  # compiled once: does not count
        tracemalloc.start()
        try:
            redaction._forget(None, user_id=user.user_id, evidence=[], texts={SECRET})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        db.session.commit()
        assert db.session.query(ConversationMemory).count() == len(ids) - 1
        assert service.find_digest(ids[-1]) is None
    assert peak < 600_000  # all at once are 2 million
