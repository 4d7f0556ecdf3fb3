"""Headers of every answer."""

import pytest


@pytest.mark.parametrize("path", ["/api/conversations", "/login", "/v1/models", "/mcp", "/c/1"])
def test_an_answer_to_options_is_empty_and_of_no_type(path: str, app) -> None:
    answer = app.test_client().options(path)
    assert (answer.status_code, answer.data) == (200, b"")
    assert "Content-Type" not in answer.headers
    assert "OPTIONS" in answer.headers["Allow"]


def test_no_content_is_of_no_type(client) -> None:
    created = client.post("/api/folders", json={"name": "Work"})
    assert created.content_type == "application/json"
    answer = client.delete(f"/api/folders/{created.json['folder_id']}")
    assert answer.status_code == 204
    assert "Content-Type" not in answer.headers
