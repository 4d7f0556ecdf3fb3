"""Waiting for replies through the API."""

from typing import Any

from testkit.people import ApiClient


def wait_for_reply(client: ApiClient, reply_id: int) -> dict[str, Any]:
    """Return the reply once it is final. Raises AssertionError if it is not after half a minute."""
    answer = client.get(f"/api/messages/{reply_id}/response?wait=30")
    assert answer.status_code == 200, answer.json
    return dict(answer.get_json())
