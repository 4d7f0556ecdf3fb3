"""The input of a structured task, and the forms in which it is read; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..wire import text_of

# In JSON mode and plain text, the schema is in the prompt, as the application's client writes it.
_DESCRIBED = re.compile(r'the "([\w-]{1,64})", and nothing else.{0,500}?JSON schema:\s*(?=\{)', re.DOTALL)
_MESSAGE = re.compile(r'<message\b[^<>]{0,200}\brole="(\w+)"[^<>]{0,200}>(.*?)</message>', re.DOTALL)
_EXCHANGE = re.compile(r"User:\n(.*?)\n\nAssistant:\n(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """One structured request: the schema's name and body, and the messages as sent."""

    name: str
    schema: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def texts(self, role: str) -> list[str]:
        """Return the texts of the messages of one role, in order."""
        return [text_of(m.get("content")) for m in self.messages if m.get("role") == role]

    def turns(self) -> list[tuple[str, str]]:
        """Return (role, text) of the conversation the task is about, oldest first.

        It is a transcript within a message (`<message role="user">…</message>`, or one exchange), or else the messages
        themselves.
        """
        for text in reversed(self.texts("user")):
            if exchange := _EXCHANGE.match(text):
                return [("user", exchange[1]), ("assistant", exchange[2])]
            if found := [(role, body.strip()) for role, body in _MESSAGE.findall(text)]:
                return found
        return [
            (str(m["role"]), text_of(m.get("content"))) for m in self.messages if m.get("role") in ("user", "assistant")
        ]

    def user_turns(self) -> list[str]:
        """Return what the user said in that conversation, oldest first."""
        return [text for role, text in self.turns() if role == "user"]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON objects, one a line, of the last message, which may begin with instructions."""
        for text in self.texts("user")[-1:]:
            for line in text.split("\n"):
                with suppress(ValueError):
                    if line.startswith("{"):
                        yield json.loads(line)


def task_request(body: dict[str, Any]) -> TaskRequest | None:
    """Return the structured task in a request body, or None if it asks for plain chat."""
    messages = [m for m in body.get("messages") or () if isinstance(m, dict)]
    wanted = body.get("response_format")
    if not isinstance(wanted, dict):
        wanted = {}
    kind = wanted.get("type")
    if kind == "json_schema":
        schema = wanted.get("json_schema") or {}
        return TaskRequest(str(schema.get("name") or ""), schema.get("schema") or {}, messages)
    for position, message in enumerate(messages):
        text = text_of(message.get("content"))
        found = _DESCRIBED.search(text) if message.get("role") == "system" else None
        if found:
            try:
                schema, _ = json.JSONDecoder().raw_decode(text, found.end())
            except ValueError:
                continue
            return TaskRequest(found[1], schema, messages[:position] + messages[position + 1 :])
    return TaskRequest("", {}, messages) if kind == "json_object" else None
