"""Journeys for tests: the shipped ones loaded, a small one of two points, and conversations that follow them."""

import json
from pathlib import Path
from typing import Any

from flask import Flask

from testkit.people import ApiClient
from webapp.db.base import write_transaction
from webapp.journeys.journey_files import FIXTURES, load_journeys

SMALL: dict[str, Any] = json.loads(Path(__file__).with_name("garden.json").read_text())


def write_fixture(folder: Path, data: Any = SMALL, name: str = "garden.json") -> Path:
    """A folder with one fixture file."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(data if isinstance(data, str) else json.dumps(data))
    return folder


def load(app: Flask, folder: Path = FIXTURES, *, force: bool = False) -> Any:
    """Load journeys and commit."""
    with app.app_context(), write_transaction():
        return load_journeys(folder, force=force)


def begin(client: ApiClient, journey: str = "garden") -> int:
    """A new conversation that follows a journey."""
    answer = client.post("/api/conversations", json={"journey": journey})
    assert answer.status_code == 201, answer.text
    assert answer.json["journey"] == journey
    return answer.json["conversation_id"]


def points(client: ApiClient, conversation_id: int) -> dict[str, Any]:
    """How the points of a conversation stand, by slug, with the rest under its own names."""
    answer = client.get(f"/memory/conversation/{conversation_id}/points/")
    assert answer.status_code == 200, answer.text
    return {**answer.json, "by": {point["slug"]: point for point in answer.json["points"]}}


def wait(client: ApiClient, reply_id: int) -> dict[str, Any]:
    """The finished reply."""
    answer = client.get(f"/api/messages/{reply_id}/response?wait=20")
    assert answer.status_code == 200, answer.text
    return answer.json


def ask(client: ApiClient, conversation_id: int, slug: str) -> dict[str, Any]:
    """Have a point opened; the assistant's question."""
    answer = client.post(f"/memory/conversation/{conversation_id}/points/{slug}/initiate/")
    assert answer.status_code == 202, answer.text
    return wait(client, answer.json["response_id"])


def say(client: ApiClient, conversation_id: int, words: str) -> dict[str, Any]:
    """Send a message; the reply."""
    answer = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": words})
    assert answer.status_code == 202, answer.text
    return {"message_id": answer.json["message"]["message_id"], "reply": wait(client, answer.json["response_id"])}


def assessment(number: int, quote: str, *, sure: float = 0.9, says: str = "", **data: str) -> dict[str, Any]:
    """What a model says about a point."""
    return {
        "point_number": number,
        "is_addressed": sure >= 0.6,
        "confidence_score": sure,
        "extracted_points": [says or quote],
        "relevant_quotes": [quote],
        "structured_data": [{"name": name, "value": value} for name, value in data.items()],
    }


def extraction(*points: dict[str, Any], operations: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A model's answer to the extraction call."""
    return {"statements": list(operations), "points": list(points), "title": "Garden"}
