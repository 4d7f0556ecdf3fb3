"""Who is answered how, and how requests are validated."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_openapi3 import OpenAPI
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from tests.support.people import ApiClient
from webapp.web import JsonBlueprint, wants_json, wants_partial


@pytest.mark.parametrize(
    ("path", "accept", "expected"),
    [
        ("/api/x", "text/html", True),
        ("/memory/x", "", True),
        ("/readyz", "", True),
        ("/c/1", "text/html", False),
        ("/c/1", "*/*", False),
        ("/c/1", "application/json", True),
        ("/c/1", "text/html,application/json;q=0.9", False),
        ("/c/1", "garbage", False),
    ],
)
def test_programs_get_json(app: Flask, path: str, accept: str, expected: bool) -> None:
    with app.test_request_context(path, headers={"Accept": accept}):
        assert wants_json() is expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"HX-Request": "true"}, True),
        ({"HX-Request": "true", "HX-Boosted": "true"}, False),
        ({"HX-Request": "true", "HX-History-Restore-Request": "true"}, False),
    ],
)
def test_parts_of_pages(app: Flask, headers: dict[str, str], expected: bool) -> None:
    with app.test_request_context("/", headers=headers):
        assert wants_partial() is expected


class Few(BaseModel):
    limit: int = 5


class Some(Few):
    kinds: list[str] = []


def test_a_request_does_not_describe_its_model_again(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    blueprint = JsonBlueprint("some", __name__, url_prefix="/api")
    seen: list[BaseModel] = []

    @blueprint.get("/few")
    def few(query: Few) -> dict[str, int]:
        seen.append(query)
        return {}

    @blueprint.get("/some")
    def some(query: Some) -> dict[str, int]:
        seen.append(query)
        return {}

    small = OpenAPI("small")
    small.register_api(blueprint)
    with monkeypatch.context() as patched:
        patched.setattr(GenerateJsonSchema, "generate", None)
        assert small.test_client().get("/api/few?limit=7").status_code == 200
        assert small.test_client().get("/api/some?kinds=memory&kinds=chunk").status_code == 200
    assert seen == [Few(limit=7), Some(kinds=["memory", "chunk"])]
    assert Some.model_json_schema(mode="serialization")["properties"].keys() == {"limit", "kinds"}


def test_no_body_is_an_empty_object(client: ApiClient) -> None:
    assert client.post("/api/conversations").status_code == 201
    assert client.post("/api/conversations", content_type="application/json").status_code == 201
    refused = client.post("/api/folders")
    assert (refused.status_code, refused.json["errors"]) == (422, [{"loc": ["name"], "msg": "Field required"}])
