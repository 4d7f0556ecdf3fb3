"""Bodies that operations can do something with: what a description alone does not tell, such as ids of one's own."""

import random
from collections.abc import Callable
from typing import Any

from flask import Flask

from testkit.people import Person
from tests.journeys.test_authoring import SHORT
from tests.openapi.existing import Existing
from webapp.conversations.models import Message, MessageReasoning
from webapp.db.base import add_row, db, write_transaction
from webapp.memories.models import Memory
from webapp.memories.store.outside_proposals import OutsideStatement, propose
from webapp.spaces.models import SpaceMember
from webapp.transfer.models import Import

DIGEST = {"main_topics": ["Lisbon"], "action": ["Pack"], "typical_observation": "Light layers."}


class Stocked(Existing):
    """One of everything, and of some things one in another state: a reply that failed and one that was thought about,
    a digest, proposals of an import, a space with another member."""

    def __init__(self, app: Flask, person: Person, other: Person, member: Person) -> None:
        super().__init__(app, person, other)
        self.member_id = member.user_id
        self._found["user_id"] = [other.user_id, member.user_id]
        upload = self._makers["import_id"]
        self._makers["import_id"] = lambda: (upload(), self.values("memory_id"))

    def _talk(self) -> None:
        super()._talk()
        (conversation_id,), (asked, reply) = self._found["conversation_id"], self._found["message_id"]
        with self.app.app_context(), write_transaction():
            failed = Message(
                conversation_id=conversation_id, role="assistant", content="", status="failed", reply_to_id=asked
            )
            db.session.add_all([failed, MessageReasoning(message_id=reply, content="Layers?", duration_ms=5)])
            db.session.flush()
            self._found["turn_id"].append(failed.message_id)
        digest = {"conversation_id": conversation_id, "memory_data": DIGEST}
        sent = self._client.post("/api/memories", json=digest)
        assert sent.status_code == 200, sent.text
        sent = self._client.put(f"/api/messages/{reply}/feedback", json={"rating": "up"})
        assert sent.status_code == 200, sent.text

    def _memories(self) -> None:
        super()._memories()
        with self.app.app_context(), write_transaction():
            done = propose(
                self.person.user_id, [OutsideStatement("Keeps bees"), OutsideStatement("Has a boat")], cause="import"
            )
            about = {"status": "done", "format": "mem0", "filename": "m.json", "counts": {"memories proposed": 2}}
            row = add_row(Import(user_id=self.person.user_id, change_set_ids=[done.change_set_id], **about))
            self._found.setdefault("import_id", []).append(row.import_id)
            mine = db.select(Memory.memory_id).where(Memory.user_id == self.person.user_id)
            self._found["memory_id"] += db.session.scalars(mine.where(Memory.needs_review.is_(True)))

    def _spaces(self) -> None:
        super()._spaces()
        with self.app.app_context(), write_transaction():
            for space_id in self._found["space_id"]:
                db.session.add(SpaceMember(space_id=space_id, user_id=self.member_id, role="member", status="active"))


def _first(name: str) -> Callable[[Stocked], Any]:
    return lambda existing: existing.values(name)[0]


BODIES: dict[str, dict[str, Any]] = {
    "POST /api/account/proof": {"password": lambda existing: existing.person.password},
    "POST /api/prompts/render": {
        "prompt_text": "{{CONVERSATION_MEMORY}}",
        "conversation_id": _first("conversation_id"),
    },
    "POST /api/journeys": SHORT,
    "POST /api/journeys/import": {
        "text": "title: Mine\ndescription: d\nsystem_prompt: s\npoints:\n- title: One\n  elicitation_goals: [a]\n"
        "  completion_criteria: [b]\n"
    },
    "PUT /api/journeys/{slug}": {**SHORT, "title": "Otherwise"},
    "PATCH /api/ai/facts/{memory_id}/visibility": {"visibility": "shared"},
    "POST /api/saved_prompts/{saved_prompt_id}/fill": {"values": {"place": "Porto"}},
    "POST /api/memories": {"memory_type": "fact", "content": "Knits"},
    "POST /api/memories/{memory_id}/review": {"decision": "accept"},
    "POST /api/memories/extract": {"conversation_id": _first("conversation_id")},
    "POST /api/memories/extract/stop": {"conversation_id": _first("conversation_id")},
    "POST /api/connections": {"name": "Another", "base_url": "http://127.0.0.1:9/v1", "models": []},
    "POST /api/conversations/{conversation_id}/points/{point}/answer": {"text": "It is so."},
    "POST /api/messages/{message_id}/receipt/feedback": {
        "kind": "memory",
        "id": _first("memory_id"),
        "verdict": "not_relevant",
    },
    "POST /api/spaces/{space_id}/members": {"email": lambda existing: existing.other.email},
    "POST /api/spaces/{space_id}/owner": {"user_id": lambda existing: existing.member_id},
    "POST /api/spaces/{space_id}/documents/files": {"file_id": _first("file_id")},
    "POST /api/imports/{import_id}/start": {"take": ["memories"]},
    "POST /api/imports/{import_id}/learning": {"most_tokens": 5_000},
    "POST /api/webhooks": {"url": "https://example.com/another"},
    "POST /api/tool-servers": {"name": "Others", "url": "https://example.com/other"},
    "POST /api/chat/turns/{turn_id}/tools/{number}": {"decision": "never"},
    "DELETE /api/account": {"password": lambda existing: existing.person.password},
}


def body_of(existing: Stocked, operation: str) -> dict[str, Any] | None:
    """A body that the operation can do something with; None for one that needs none, or of which none is known."""
    known = BODIES.get(operation)
    if known is None:
        return None
    return {name: value(existing) if callable(value) else value for name, value in known.items()}


def bent(body: dict[str, Any], made: Any, choice: random.Random) -> dict[str, Any]:
    """The body with one of its fields, or one more, as a generated one has it."""
    if not isinstance(made, dict) or not made:
        return body
    name = choice.choice(sorted(made))
    return {**body, name: made[name]}
