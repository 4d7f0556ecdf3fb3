"""Endpoints for programs: how requests are validated, and what is made of what a view returns."""

from typing import Any

from flask_openapi3 import OpenAPI
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from webapp.http.json_api import Answer, JsonBlueprint


class Answered(BaseModel):
    name: str = "Zoë"


def test_a_view_returns_what_is_answered_and_described():
    blueprint = JsonBlueprint("some", __name__, url_prefix="/api")

    @blueprint.get("/one")
    def one() -> Answered:
        return Answered()

    @blueprint.post("/one", status=201)
    def create() -> Answered:
        return Answered()

    @blueprint.delete("/one")
    def delete() -> None:
        return None

    @blueprint.put("/one", responses={200: Answered, 202: Answered})
    def change() -> Answer:
        return Answered(name="later"), 202

    assert not blueprint.paths, "nobody has asked for the description yet"
    blueprint.describe()
    small = OpenAPI("small")
    small.register_api(blueprint)
    client = small.test_client()
    for method, status, body in (
        ("get", 200, {"name": "Zoë"}),
        ("post", 201, {"name": "Zoë"}),
        ("delete", 204, None),
        ("put", 202, {"name": "later"}),
    ):
        answer = getattr(client, method)("/api/one")
        assert (answer.status_code, answer.get_json(silent=True)) == (status, body), method
        described: dict[str, Any] = small.api_doc["paths"]["/api/one"][method]["responses"]
        assert str(status) in described and ("content" in described[str(status)]) is (body is not None), method


class Few(BaseModel):
    limit: int = 5


class Some(Few):
    kinds: list[str] = []


def test_a_request_does_not_describe_its_model_again(app, monkeypatch):
    blueprint = JsonBlueprint("some", __name__, url_prefix="/api")
    seen: list[BaseModel] = []

    @blueprint.get("/few")
    def few(query: Few) -> Answered:
        seen.append(query)
        return Answered()

    @blueprint.get("/some")
    def some(query: Some) -> Answered:
        seen.append(query)
        return Answered()

    small = OpenAPI("small")
    small.register_api(blueprint)
    with monkeypatch.context() as patched:
        patched.setattr(GenerateJsonSchema, "generate", None)
        assert small.test_client().get("/api/few?limit=7").status_code == 200
        assert small.test_client().get("/api/some?kinds=memory&kinds=chunk").status_code == 200
    assert seen == [Few(limit=7), Some(kinds=["memory", "chunk"])]
    assert Some.model_json_schema(mode="serialization")["properties"].keys() == {"limit", "kinds"}
