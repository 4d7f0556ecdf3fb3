"""Standing instructions: their scope, their place in the prompt, their receipt."""

from flask import Flask

from testkit.people import ApiClient
from webapp.accounts.models import User
from webapp.chat.context.composition import compose
from webapp.chat.context.values import Context, Message
from webapp.conversations.models import Conversation
from webapp.conversations.service import purge
from webapp.db.base import db, write_transaction
from webapp.memories.prompt.always_used import AlwaysUsed


def tell(client: ApiClient, content: str, **more: object) -> dict:
    answer = client.post("/api/memories", json={"memory_type": "instruction", "content": content, **more})
    assert answer.status_code == 201, answer.json
    return answer.json


def conversation_of(client: ApiClient, **fields: object) -> int:
    return client.post("/api/conversations", json=fields).json["conversation_id"]


def prompt(app: Flask, conversation_id: int, question: str = "How far is Oslo from Bergen?") -> Context:
    with app.app_context():
        conversation = db.session.get(Conversation, conversation_id)
        owner = db.session.get(User, conversation.user_id)
        asked = [Message(10**9, "user", question)]
        return compose(conversation, owner, asked, [], "P", app.extensions["settings"]).context


def opening(app: Flask, conversation_id: int) -> str:
    """Return what is known in a conversation, from the first of the user's messages."""
    return prompt(app, conversation_id).messages[1]["content"].partition("</context>")[0]


def test_instructions_apply_in_every_prompt_of_their_scope(app, client):
    space = client.post("/api/spaces", json={"kind": "project", "name": "Boat"}).json["space_id"]
    here, there, inside = conversation_of(client), conversation_of(client), conversation_of(client, space_id=space)
    tell(client, "Always use metric units.")
    tell(client, "Answer in Norwegian.", only_conversation_id=here)
    tell(client, "Name the ship in every answer.", space_id=space)

    def applied_words(conversation_id: int) -> list[str]:
        opens = opening(app, conversation_id)
        every = ("metric", "Norwegian", "ship")
        return [word for word in every if word in opens]

    assert applied_words(here) == ["metric", "Norwegian"]
    assert applied_words(there) == ["metric"]
    assert applied_words(inside) == ["metric", "ship"]


def test_the_receipt_names_them_and_they_are_said_once(app, client):
    memory = tell(client, "Always give distances in kilometres.")
    context = prompt(app, conversation_of(client), "What are the distances in kilometres?")
    lines = [line for line in context.receipt if line.id == memory["memory_id"] and line.kind == "memory"]
    assert [(line.stage, line.reason, line.injected) for line in lines] == [("standing", "instruction", True)]
    assert sum(message["content"].count("kilometres.") for message in context.messages) == 1


def test_their_order_does_not_change_and_unrelated_memories_leave_the_beginning_alone(app, client):
    first = tell(client, "No bullet lists.", importance=0.2)
    tell(client, "Call me Sam.", importance=0.9)
    conversation = conversation_of(client)
    before = opening(app, conversation)
    assert before.index("No bullet lists.") < before.index("Call me Sam.")
    client.post("/api/memories", json={"memory_type": "fact", "content": "I own a boat."})
    after = opening(app, conversation)
    assert after == before
    client.put(f"/api/memories/{first['memory_id']}", json={"is_pinned": True})
    assert opening(app, conversation) == before


def test_one_set_aside_or_forgotten_applies_no_more(app, client):
    one, two = tell(client, "Always metric."), tell(client, "No emoji.")
    conversation = conversation_of(client)
    client.put(f"/api/memories/{one['memory_id']}", json={"is_archived": True})
    assert "Always metric." not in opening(app, conversation)
    client.delete(f"/api/memories/{two['memory_id']}")
    assert "No emoji." not in opening(app, conversation)


def test_anothers_instructions_are_theirs(app, client, user, make_user, api):
    other = api(make_user())
    theirs = conversation_of(other)
    tell(client, "Always metric.")
    assert "metric" not in opening(app, theirs)
    refused = client.post(
        "/api/memories",
        json={"memory_type": "instruction", "content": "Answer in French.", "only_conversation_id": theirs},
    )
    assert refused.status_code == 422
    with app.app_context():
        assert [item.content for item in AlwaysUsed.read(user.user_id).instructions(theirs)] == ["Always metric."]


def test_only_an_instruction_is_limited_to_a_conversation(app, client):
    conversation = conversation_of(client)
    body = {"memory_type": "fact", "content": "I sail.", "only_conversation_id": conversation}
    assert client.post("/api/memories", json=body).status_code == 422
    kept = tell(client, "Answer in verse.", only_conversation_id=conversation)
    assert kept["only_conversation_id"] == conversation
    path = f"/api/memories/{kept['memory_id']}"
    assert client.put(path, json={"memory_type": "fact"}).status_code == 422
    wider = client.put(path, json={"content": "Answer in prose.", "only_conversation_id": None}).json
    assert wider["only_conversation_id"] is None
    with app.app_context(), write_transaction():
        purge([conversation])
    restored = client.post(f"{path}/restore", json={"revision": 1})
    assert restored.status_code == 200, restored.text
    assert (restored.json["content"], restored.json["only_conversation_id"]) == ("Answer in verse.", None)
