"""Headers of every answer."""

from io import BytesIO

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


def test_head_has_the_type_of_what_is_not_sent(client) -> None:
    file = client.post("/api/files", data={"file": (BytesIO(b"words"), "words.txt")}).json
    path = f"/api/files/{file['file_id']}/content"
    for answer in (client.get(path), client.head(path)):
        assert answer.content_type.startswith("text/plain")
