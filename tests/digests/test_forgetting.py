"""Forgetting reaches digests: those that may hold what was forgotten go, and do not come back with it."""

from __future__ import annotations

from tests.conversations.rows import add_conversation, add_messages
from webapp.database import db, now, write_transaction
from webapp.digests import generation, service
from webapp.digests.schemas import ConversationMemoryData
from webapp.memories.models import Memory, MemoryEvidence

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
    model.script(
        match="conversation_digest",
        structured={
            "main_topics": ["Food", SECRET],
            "action": [SECRET],
            "typical_observation": SECRET,
        },
    )
    with app.app_context():
        assert service.find_digest(source) is None, "it rests on a message of this conversation"
        assert service.history(same_words) == [], "a version before said it"
        assert service.get_digest(other).memory_data["main_topics"] == ["Tides"]
        generation.generate(source)
        assert service.get_digest(source).memory_data == {
            "main_topics": ["Food"],
            "action": [],
            "typical_observation": "",
        }


def test_other_users_keep_theirs(app, user, client, make_user):
    theirs = make_user()
    conversation_id = add_conversation(app, theirs.user_id)
    made = client.post("/api/memories", json={"memory_type": "fact", "content": SECRET}).json["memory_id"]
    with app.app_context(), write_transaction():
        service.upsert_digest(theirs.user_id, conversation_id, digest(SECRET))
    assert client.delete(f"/api/memories/{made}").status_code == 200
    with app.app_context():
        assert service.get_digest(conversation_id).memory_data["main_topics"] == [SECRET]
