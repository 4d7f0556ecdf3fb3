"""The published description: valid, complete, and true about what each operation can answer."""

import inspect
import re
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_type_hints

import pytest
from flask import Flask
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from testkit.people import ApiClient, api_client
from tests.support import token_routes
from webapp.http.validation import PageQuery
from webapp.openapi.docs import openapi_document
from webapp.openapi.document import EXAMPLES, PROBLEMS, ViewFacts, operations, refine


@pytest.fixture
def document(app):
    """The description of the whole API."""
    return openapi_document(app)


def test_it_is_valid_and_public(document, anonymous):
    OpenAPIV31SpecValidator(document).validate()
    assert anonymous.get("/api/openapi.json").json == document


def test_every_route_of_the_api_is_described(document, app):
    routes = {
        (re.sub(r"<(?:[^<:]+:)?([^>]+)>", r"{\1}", rule.rule), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith(("/api/", "/memory/")) and not rule.endpoint.startswith("openapi.")
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert routes == {(path, method) for path, method, _ in operations(document)}


def test_a_body_is_refused_for_a_field_that_is_not_described(document):
    browsers = "/api/push/subscriptions"  # a browser writes these bodies, and browsers differ
    bodies = [operation.get("requestBody", {}) for path, _, operation in operations(document) if path != browsers]
    models, found = document["components"]["schemas"], set(re.findall(r"schemas/(\w+)", repr(bodies)))
    while more := set(re.findall(r"schemas/(\w+)", repr([models[name] for name in found]))) - found:
        found |= more
    assert {
        name for name in found if models[name].get("additionalProperties") is not False and "properties" in models[name]
    } == set()


def test_every_operation_says_what_it_is(document):
    names, rows = [], token_routes.rows()
    for path, method, operation in operations(document):
        where = f"{method} {path}"
        names.append(operation["operationId"])
        assert operation["summary"], where
        assert not operation["summary"].endswith("."), where
        assert operation["tags"], where
        row = f"{method.upper()} {path.replace('{', ':').replace('}', '')}"
        tokens = [] if rows.get(row) == "session" else [{"token": []}]
        assert operation["security"] == [*tokens, {"session": []}], where
        statuses = set(operation["responses"])
        assert {"401", "403", "503"} <= statuses, where
        assert not {"default", "405", "500"} & statuses, where
        assert not path.rstrip("/").endswith("/download") or "409" in statuses, "it may not be made yet"
        assert any(status.startswith("2") for status in statuses), where
    assert len(names) == len(set(names))


def test_failures_are_problems(document):
    for path, method, operation in operations(document):
        for status, answer in operation["responses"].items():
            if not status.startswith(("2", "3")):
                assert answer == {"$ref": f"#/components/responses/{PROBLEMS[status][0]}"}, f"{method} {path} {status}"
    for answer in document["components"]["responses"].values():
        assert answer["content"] == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert "errors" in document["components"]["schemas"]["Problem"]["properties"]
    assert "Retry-After" in document["components"]["responses"]["TooManyRequests"]["headers"]


def test_streams_are_event_streams(document):
    for path, method in (("/api/chat/stream", "post"), ("/api/chat/turns/{turn_id}/stream", "get")):
        content = document["paths"][path][method]["responses"]["200"]["content"]
        assert list(content) == ["text/event-stream"]
        assert "event: delta" in content["text/event-stream"]["example"]


def test_answers_about_parts_of_files_are_described(document):
    for path in ("/api/files/{file_id}/content", "/api/exports/{export_id}/download"):
        assert {"206", "304", "412", "416"} <= set(document["paths"][path]["get"]["responses"]), path


def test_filters_of_lists_are_described(document, app):
    named = {operation["operationId"]: operation.get("parameters", ()) for _, _, operation in operations(document)}
    lists = 0
    for rule in app.url_map.iter_rules():
        view = inspect.unwrap(app.view_functions[rule.endpoint])
        query = typing.get_type_hints(view).get("query")
        if query and rule.rule.startswith("/api/"):
            lists += issubclass(query, PageQuery)
            wanted = {field.alias or name for name, field in query.model_fields.items()}
            told = {parameter["name"] for parameter in named[view.__name__] if parameter["in"] == "query"}
            assert told == wanted, rule.rule
    assert lists


def test_idempotency_and_admins_are_told(document):
    creating = document["paths"]["/api/conversations"]["post"]
    assert [parameter["name"] for parameter in creating["parameters"]] == ["Idempotency-Key"]
    for path, methods in document["paths"].items():
        answers = methods.get("post", {}).get("responses", {})
        if "201" in answers or "Queued" in str(answers.get("202")):  # a thing is made, or a job
            assert "Idempotency-Key" in [parameter["name"] for parameter in methods["post"].get("parameters", ())], path
    assert "For admins only." in document["paths"]["/api/site"]["put"]["description"]


def test_a_body_that_may_be_empty_need_not_be_sent(document):
    paths = document["paths"]
    assert not paths["/api/conversations"]["post"]["requestBody"]["required"]
    assert paths["/api/folders"]["post"]["requestBody"]["required"]
    for path, kinds in (
        ("/api/files", {"multipart/form-data"}),
        ("/api/imports", {"multipart/form-data", "application/json"}),
    ):
        assert set(paths[path]["post"]["requestBody"]["content"]) == kinds


def test_models_have_plain_names_and_examples_fit(document, app):
    from webapp.accounts import schemas as accounts
    from webapp.chat import schemas as chat
    from webapp.conversations import schemas as conversations
    from webapp.digests import schemas as digests
    from webapp.http import json_api
    from webapp.internal import schemas as internal
    from webapp.prompts import schemas as prompts
    from webapp.tasks import schemas as tasks

    schemas = document["components"]["schemas"]
    assert not [name for name in schemas if name.endswith("Out")]
    assert set(schemas["Conversation"]["properties"]) < set(schemas["ConversationWithMessages"]["properties"])
    assert "is_current" not in schemas["Message"]["properties"]
    assert set(EXAMPLES) <= set(schemas)
    modules = (accounts, chat, conversations, digests, internal, prompts, tasks, json_api)
    for name, example in EXAMPLES.items():
        models = (getattr(module, f"{name}Out", getattr(module, name, None)) for module in modules)
        next(model for model in models if hasattr(model, "model_validate")).model_validate(example)


def test_only_possible_problems_are_kept():
    generated = {
        "info": {},
        "components": {"schemas": {"Problem": {}, "Unused": {}}, "securitySchemes": {"token": {}, "session": {}}},
        "paths": {"/a": {"get": {"summary": "Look. Closely.", "responses": {"200": {"description": "OK"}, "405": {}}}}},
    }
    refined = refine(generated, {("get", "/a"): ViewFacts(access="service")})
    operation = refined["paths"]["/a"]["get"]
    assert set(operation["responses"]) == {"200", "401", "403", "503"}
    assert operation["summary"] == "Look"
    assert operation["description"] == "Closely.\n\nFor service tokens and admins."
    assert "Unused" not in refined["components"]["schemas"]
    assert "405" in generated["paths"]["/a"]["get"]["responses"], "the generated document is left alone"


def test_the_page_has_no_inline_script_and_brings_the_token(anonymous, login, user):
    page = anonymous.get("/api/docs")
    assert page.status_code == 200
    assert "unsafe-eval" not in page.headers["Content-Security-Policy"]
    assert not re.findall(r"<script(?![^>]*\bsrc=)", page.text)
    assert re.search(r'data-csrf="[^"]{20,}"', page.text)
    assert user.email in login(user).get("/api/docs").text


def _parts(kind: Any) -> Iterator[Any]:
    yield kind
    for part in get_args(kind):
        yield from _parts(part)


def _is_model(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel)


def _models(kind: type[BaseModel], found: set[type[BaseModel]]) -> None:
    if kind in found:
        return
    found.add(kind)
    for info in kind.model_fields.values():
        for part in filter(_is_model, _parts(info.annotation)):
            _models(part, found)


def _models_of(app: Flask, *places: str) -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    for view in app.view_functions.values():
        hints = get_type_hints(inspect.unwrap(view))
        for part in (part for place in places for part in _parts(hints.get(place)) if _is_model(part)):
            _models(part, found)
    return found


def test_a_name_is_that_of_one_model(app):
    names = [model.__name__ for model in _models_of(app, "body", "return")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def _takes(info: FieldInfo, value: Any) -> bool:
    kind: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def test_no_number_of_a_body_can_be_true_or_false_and_its_limits_are_described(app):
    found = _models_of(app, "body")
    assert len(found) > 50
    loose = [model.__name__ for model in found if re.search("'(ge|gt|le|lt)':", str(model.model_json_schema()))]
    for model in found:
        for name, info in model.model_fields.items():
            parts = list(_parts(info.annotation))
            if {int, float} & {part for part in parts if inspect.isclass(part)} and bool not in parts:
                loose += [f"{model.__name__}.{name}" for value in (True, [True]) if _takes(info, value)]
    assert loose == []


@pytest.mark.parametrize("quota", [{"dollars": False}, {"tokens": True}])
def test_what_is_wrong_with_it_is_said(app, make_user, quota):
    admin: ApiClient = api_client(app, make_user(is_admin=True))
    answer = admin.put("/api/quotas", json={"quotas": [{"period": "day", **quota}]})
    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["loc"][-1] == next(iter(quota))
    assert admin.get("/api/quotas").get_json()["quotas"] == []
