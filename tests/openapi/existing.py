"""One of everything that has an address, for whoever tries all operations: made when it is first asked for."""

import io
from collections.abc import Callable
from typing import Any

from flask import Flask

from testkit.people import Person, api_client, session_client
from webapp.accounts.models import Passkey, User
from webapp.accounts.schemas import NewToken
from webapp.accounts.sessions import begin
from webapp.accounts.tokens import create_token
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, write_transaction
from webapp.journeys.journey_files import load_journeys
from webapp.tools.models import ToolServer


class Existing:
    """What an admin has, and an account besides, by the name of the path parameter."""

    def __init__(self, app: Flask, person: Person, other: Person) -> None:
        self.app, self.person, self.other = app, person, other
        self._client = api_client(app, person)
        self._found: dict[str, list[Any]] = {
            "user_id": [other.user_id],
            "name": ["chat", "chat_opening"],
            "version": [1, 2],
            "number": [0, 1, 2],
        }
        self._makers: dict[str, Callable[[], object]] = {
            **dict.fromkeys(("conversation_id", "message_id", "version_id", "turn_id"), self._talk),
            **dict.fromkeys(("memory_id", "change_set_id"), self._memories),
            **dict.fromkeys(("space_id", "document_id", "invitation_id"), self._spaces),
            **dict.fromkeys(("slug", "point", "point_slug"), self._journeys),
            "token_id": self._token,
            "session_id": self._session,
            "passkey_id": self._passkey,
            "folder_id": lambda: self._make("/api/folders", "folder_id", {"name": "Travel"}),
            "saved_prompt_id": lambda: self._make(
                "/api/saved_prompts", "saved_prompt_id", {"name": "Pack", "content": "Pack for {{place}}"}
            ),
            "schedule_id": lambda: self._make(
                "/api/schedules", "schedule_id", {"prompt": "Water the plants", "at": "2036-12-01T18:00"}
            ),
            "webhook_id": lambda: self._make("/api/webhooks", "webhook_id", {"url": "https://example.com/hook"}),
            "connection_id": lambda: self._make(
                "/api/connections", "connection_id", {"name": "Box", "base_url": "http://127.0.0.1:9/v1", "models": []}
            ),
            "group_id": lambda: self._make("/api/groups", "group_id", {"name": "Readers"}),
            "server_id": self._server,
            "export_id": lambda: self._make("/api/exports", "export_id", {"what": "memories", "format": "json"}),
            "import_id": lambda: self._make("/api/imports", "import_id", {"text": "- Likes tea\n- Likes rain"}),
            "file_id": lambda: self._make("/api/files", "file_id", data={"file": (io.BytesIO(b"words"), "note.txt")}),
            "share_id": self._share,
            "job_id": lambda: self._make("/api/tasks/trigger-memory-generation", "job_id", {}),
        }

    def headers(self, security: list[dict[str, list[str]]]) -> dict[str, str]:
        """Those of a request of the admin's: with their token, or from their browser where no token counts."""
        if {"token": []} in security:
            return {"Authorization": f"Bearer {self.person.token}"}
        browser = session_client(self.app, self.person)
        cookie = browser.get_cookie("session")
        assert cookie is not None
        return {"Cookie": f"session={cookie.value}", "X-CSRFToken": browser.environ_base["HTTP_X_CSRFTOKEN"]}

    def values(self, name: str) -> list[Any]:
        """What exists of that name; nothing for a kind of thing that is not known here."""
        if name not in self._found and name in self._makers:
            self._found[name] = []
            self._makers[name]()
        return self._found.get(name, [])

    def fill(self) -> None:
        """Make everything at once."""
        for name in self._makers:
            self.values(name)

    def _make(self, path: str, name: str, body: dict[str, Any] | None = None, **options: Any) -> Any:
        sent = self._client.post(path, json=body, **options) if body is not None else self._client.post(path, **options)
        assert sent.status_code in (200, 201, 202), (path, sent.status_code, sent.text)
        self._found.setdefault(name, []).append(sent.json[name])
        return sent.json[name]

    def _server(self) -> None:
        with self.app.app_context(), write_transaction():
            row = add_row(
                ToolServer(user_id=self.person.user_id, name="Tools", url="https://example.com/mcp", tools=[])
            )
            self._found["server_id"] = [row.server_id]

    def _talk(self) -> None:
        with self.app.app_context(), write_transaction():
            conversation = add_row(Conversation(user_id=self.person.user_id, title="Trip to Lisbon"))
            messages = [
                Message(conversation_id=conversation.conversation_id, role=role, content=text, status="complete")
                for role, text in (("user", "What should I pack?"), ("assistant", "Light layers."))
            ]
            for message in messages:
                add_row(message)
            messages[1].reply_to_id = messages[0].message_id
            asked, reply = (message.message_id for message in messages)
            self._found |= {
                "conversation_id": [conversation.conversation_id],
                "message_id": [asked, reply],
                "version_id": [asked, reply],
                "turn_id": [reply],
            }

    def _memories(self) -> None:
        for key, content in (("home", "Lives by the harbour"), ("hobby", "Sails at weekends")):
            body = {"memory_type": "fact", "content": content, "fact_key": key, "fact_value": content}
            self._make("/api/memories", "memory_id", body)
        sets = self._client.get("/api/memories/changes").json["changes"]
        self._found["change_set_id"] = [item["change_set_id"] for item in sets]

    def _spaces(self) -> None:
        for kind in ("project", "legacy"):
            space = self._make("/api/spaces", "space_id", {"kind": kind, "name": f"A {kind}"})
            self._make(f"/api/spaces/{space}/documents", "document_id", {"title": "Notes", "content": "One.\fTwo."})
            self._make(f"/api/spaces/{space}/members", "invitation_id", {"email": self.other.email})
        for content, category in (("Joe built boats in the shed", "hobby"), ("Joe sang bass", "habit")):
            fact = {"content": content, "category": category, "visibility": "shared"}
            sent = self._client.post(f"/api/ai/legacies/{space}/facts", json=fact)
            assert sent.status_code == 201, sent.text

    def _journeys(self) -> None:
        with self.app.app_context(), write_transaction():
            load_journeys()
        self._found["slug"] = [item["slug"] for item in self._client.get("/api/journeys").json["journeys"]]
        talk = {"title": "On the way", "journey": self._found["slug"][0]}
        guided = self._client.post("/api/conversations", json=talk).json["conversation_id"]
        self.values("conversation_id").append(guided)
        points = self._client.get(f"/memory/conversation/{guided}/points/").json["points"]
        self._found["point"] = self._found["point_slug"] = [point["slug"] for point in points]

    def _share(self) -> None:
        self._make(f"/api/conversations/{self.values('conversation_id')[0]}/shares", "share_id", {"audience": "anyone"})

    def _token(self) -> None:
        with self.app.app_context(), write_transaction():
            token, _ = create_token(self.person.user_id, NewToken(name="to be revoked"))
            self._found["token_id"] = [token.token_id]

    def _passkey(self) -> None:
        with self.app.app_context(), write_transaction():
            parts = {"credential_hash": "x", "credential_id": b"x", "public_key": b"x"}
            passkey = add_row(Passkey(user_id=self.person.user_id, name="Phone", **parts))
            self._found["passkey_id"] = [passkey.passkey_id]

    def _session(self) -> None:
        with self.app.app_context(), write_transaction():
            user = db.session.get_one(User, self.person.user_id)
            session, _ = begin(user, user_agent="", address="", days=1)
            self._found["session_id"] = [session.session_id]
