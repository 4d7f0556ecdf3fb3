"""The input of a structured task, and the views of it that rules need; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..wire import text_of

# In JSON mode and plain text, the schema is in the prompt, as the application's client writes it.
_DESCRIBED = re.compile(r'the "([\w-]{1,64})", and nothing else.{0,500}?JSON schema:\s*(?=\{)', re.DOTALL)
_ROLE_LINE = re.compile(
    r"^\W{0,3}(?:\[?\d+\]?\W{0,3})?(user|human|assistant|ai|system)\W{0,2}:[ \t]*", re.IGNORECASE | re.MULTILINE
)
_TAG = re.compile(r"<(/?)(message|turn|msg|user|assistant)\b([^<>]{0,200})>", re.IGNORECASE)
_ROLE = re.compile(r'\brole="?(\w+)"?')
_USERS = ("user", "human")


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """One structured request: the schema's name and body, and the messages as sent."""

    name: str
    schema: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def texts(self, role: str) -> list[str]:
        """The texts of the messages of one role, in order."""
        return [text_of(m.get("content")) for m in self.messages if m.get("role") == role]

    def turns(self) -> list[tuple[str, str]]:
        """(role, text) of the conversation the task is about, oldest first.

        A transcript within one message (`User: …` lines or `<message role="user">` tags) is split up; otherwise the
        messages themselves are the conversation.
        """
        for text in reversed(self.texts("user")):
            if found := transcript(text):
                return found
        return [
            (str(m["role"]), text_of(m.get("content"))) for m in self.messages if m.get("role") in ("user", "assistant")
        ]

    def user_turns(self) -> list[str]:
        """Return what the user said in that conversation, oldest first."""
        return [text for role, text in self.turns() if role == "user"]


def transcript(text: str) -> list[tuple[str, str]]:
    """The turns of a transcript written into `text`; empty if it is not one."""
    if tagged := list(_tagged(text)):
        return [("user" if role.lower() in _USERS else role.lower(), body.strip()) for role, body in tagged]
    marks = list(_ROLE_LINE.finditer(text))
    if not any(mark[1].lower() in _USERS for mark in marks):
        return []
    turns = []
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        role = mark[1].lower()
        body = text[mark.end() : following.start() if following else len(text)].strip()
        turns.append(("user" if role in _USERS else "assistant" if role in ("assistant", "ai") else role, body))
    return turns


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each `<message role="user">…</message>` or `<user>…</user>`."""
    tags = list(_TAG.finditer(text))
    closed = {_kind(tag): tag.start() for tag in tags if tag[1]}  # where each kind is closed for the last time
    opened: tuple[re.Match[str], str] | None = None
    for tag in tags:
        if opened is None:
            role = "" if tag[1] else _role(tag)
            if role and closed.get(_kind(tag), -1) > tag.start():
                opened = tag, role
        elif tag[1] and _kind(tag) == _kind(opened[0]):
            yield opened[1], text[opened[0].end() : tag.start()]
            opened = None


def _kind(tag: re.Match[str]) -> str:
    kind = tag[2].lower()
    return kind if kind in ("user", "assistant") else "message"


def _role(tag: re.Match[str]) -> str:
    if _kind(tag) != "message":
        return tag[2]
    found = _ROLE.search(tag[3])
    return found[1] if found else ""


def task_request(body: dict[str, Any]) -> TaskRequest | None:
    """The structured task in a request body, or None if it asks for plain chat."""
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
