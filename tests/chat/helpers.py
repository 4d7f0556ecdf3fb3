"""Reading a turn's events, and waiting for a turn."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flask import Flask

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from testkit.processes import wait_until
from tests.support.queries import scalars
from webapp.chat.models import PipelineStep
from webapp.conversations.models import Message
from webapp.db.base import db


@dataclass(frozen=True)
class Event:
    """One server-sent event."""

    name: str
    data: dict[str, Any]
    id: str


def parse(text: str) -> list[Event]:
    """The events of a stream, comments left out."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            fields = dict(line.split(": ", 1) for line in lines)
            found.append(Event(fields.get("event", "message"), json.loads(fields["data"]), fields.get("id", "")))
    return found


def iterate(response: Any) -> Iterator[Event]:
    """Events as they come from a response that streams."""
    for chunk in response.response:
        yield from parse(chunk.decode())


def deltas(events: list[Event]) -> str:
    """The text of all deltas."""
    return "".join(event.data["text"] for event in events if event.name == "delta")


def names(events: list[Event]) -> list[str]:
    """The names in order, one for each run of deltas."""
    short: list[str] = []
    for event in events:
        if not (short and event.name == "delta" == short[-1]):
            short.append(event.name)
    return short


def message(app: Flask, message_id: int) -> dict[str, Any]:
    """The columns of a message as they are now."""
    with app.app_context():
        row = db.session.get(Message, message_id)
        return {column.key: getattr(row, column.key) for column in Message.__mapper__.column_attrs}


def steps(app: Flask, message_id: int) -> int:
    """How many pipeline steps a reply has."""
    return len(scalars(app, db.select(PipelineStep).filter_by(message_id=message_id)))


def wait_for_end(app: Flask, message_id: int, seconds: float = 20) -> dict[str, Any]:
    """The reply once it is no longer being written."""
    wait_until(lambda: message(app, message_id)["status"] != "streaming", f"turn {message_id}", seconds=seconds)
    return message(app, message_id)


def offer(admin: ApiClient, model: ServerHandle, *names: str, **fields: Any) -> list[str]:
    """Connect the scripted server, with these models; their ids."""
    models = [{"model": name, "label": name.title(), **fields} for name in names]
    body = {"name": "Here", "base_url": model.base_url, "models": models}
    made = admin.post("/api/connections", json=body).get_json()
    return [row["id"] for row in made["models"]]
