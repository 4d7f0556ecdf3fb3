"""Cursors, pages, and who is answered how."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_openapi3 import OpenAPI
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from tests.support.people import ApiClient
from webapp.web import Cursor, JsonBlueprint, Page, wants_json, wants_partial


@given(
    st.integers(), st.text(st.characters(codec="utf-8"), max_size=20), st.floats(allow_nan=False, allow_infinity=False)
)
def test_a_cursor_comes_back_as_it_was(number: int, text: str, fraction: float) -> None:
    assert Cursor.decode(Cursor.encode(number, text, fraction), int, str, float) == (number, text, fraction)


@given(st.text(max_size=60))
def test_anything_else_is_a_value_error(text: str) -> None:
    try:
        Cursor.decode(text, int, int)
    except ValueError:
        return
    assert Cursor.encode(*Cursor.decode(text, int, int))


@pytest.mark.parametrize("key", [(True, 1), (1.0, 1), ("1", 1), (1,), (1, 2, 3)])
def test_a_cursor_of_another_list_is_refused(key: tuple) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        Cursor.decode(Cursor.encode(*key), int, int)


@given(st.lists(st.integers(), max_size=8), st.integers(1, 8))
def test_a_surplus_row_means_a_next_page(rows: list[int], limit: int) -> None:
    page = Page.of(rows, limit, lambda row: (row,))
    assert page.items == rows[:limit]
    assert (page.next_cursor is not None) == (len(rows) > limit)
    if page.next_cursor:
        assert Cursor.decode(page.next_cursor, int) == (rows[limit - 1],)


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
