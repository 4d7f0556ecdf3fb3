"""Spaces for tests, made through the API as people make them."""

from typing import Any

from flask import Flask

from testkit.people import ApiClient
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction


def make_space(client: ApiClient, name: str = "Grandpa Joe", kind: str = "legacy", **fields: Any) -> int:
    """A new space of the client's; its id."""
    answer = client.post("/api/spaces", json={"kind": kind, "name": name, **fields})
    assert answer.status_code == 201, answer.text
    return answer.get_json()["space_id"]


def join(owner: ApiClient, space_id: int, *guests: ApiClient) -> None:
    """Make others members of a space."""
    for guest in guests:
        assert invite(owner, space_id, guest).status_code == 201
        answer = guest.post(f"/api/spaces/{space_id}/members/accept")
        assert answer.status_code == 200, answer.text


def invite(owner: ApiClient, space_id: int, guest: ApiClient) -> Any:
    """Invite somebody by their address."""
    return owner.post(f"/api/spaces/{space_id}/members", json={"email": guest.person.email})


def put_back(space_id: int, owner: ApiClient, member: ApiClient, invited: ApiClient) -> None:
    """Whatever was done to a space that still exists, these are again what they were to it."""
    path = f"/api/spaces/{space_id}"
    if member.get(path).get_json().get("role") == "owner":
        member.post(f"{path}/owner", json={"user_id": owner.person.user_id})
    if member.get(path).status_code == 404:
        join(owner, space_id, member)
    if invited.get(path).get_json()["status"] == "active":
        owner.delete(f"{path}/members/{invited.person.user_id}")
    if invited.get(path).status_code == 404:
        invite(owner, space_id, invited)


def add_fact(client: ApiClient, space_id: int, content: str, category: str = "hobby", *, shared: bool = False) -> int:
    """A fact by hand; its id."""
    body = {"category": category, "content": content, "visibility": "shared" if shared else "private"}
    answer = client.post(f"/api/ai/legacies/{space_id}/facts", json=body)
    assert answer.status_code == 201, answer.text
    return answer.get_json()["memory_id"]


def facts(client: ApiClient, space_id: int) -> dict[str, dict[str, Any]]:
    """What somebody sees of a legacy, by what it says."""
    answer = client.get(f"/api/ai/legacies/{space_id}/facts")
    assert answer.status_code == 200, answer.text
    return {fact["content"]: fact for fact in answer.get_json()["facts"]}


def converse(client: ApiClient, space_id: int | None = None, **fields: Any) -> int:
    """A new conversation; its id."""
    answer = client.post("/api/conversations", json={"space_id": space_id, **fields})
    assert answer.status_code == 201, answer.text
    return answer.get_json()["conversation_id"]


def say(client: ApiClient, conversation_id: int, text: str) -> dict[str, Any]:
    """Send a message and wait for the reply to it."""
    sent = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": text})
    assert sent.status_code == 202, sent.text
    message_id = sent.get_json()["message"]["message_id"]
    for _ in range(20):
        answer = client.get(f"/api/messages/{message_id}/response?wait=30")
        if answer.status_code == 200:
            return answer.get_json()
    raise AssertionError("the reply did not come")


def sent_to_model(model: Any) -> str:
    """The whole of the newest chat prompt."""
    calls = [call for call in model.calls() if call["stream"]]
    return "\n".join(str(message["content"]) for message in calls[-1]["messages"])


def fill(app: Flask, conversation_id: int, *said: str, count: int = 32) -> list[int]:
    """Messages without turns, so that a summary is due: what was said first, then small talk; the ids."""
    ids: list[int] = []
    texts = [*said, *(f"Small talk number {number}." for number in range(count - len(said)))]
    with app.app_context(), write_transaction():
        conversation = db.session.get(Conversation, conversation_id)
        for text in texts:
            role, _, words = text.partition(": ") if text.startswith("assistant: ") else ("user", "", text)
            of = {"conversation_id": conversation_id, "parent_id": ids[-1] if ids else None}
            row = add_row(Message(role=role, content=words, created_at=now(), **of))
            ids.append(row.message_id)
        conversation.message_count += len(texts)
        conversation.summary_due = True
    return ids
