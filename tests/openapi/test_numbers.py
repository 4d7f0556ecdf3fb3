"""Numbers of request bodies are numbers: JSON's true and false are none, though Python counts with them."""

import inspect
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_type_hints

import pytest
from flask import Flask
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from testkit.people import ApiClient, api_client


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


def _takes(info: FieldInfo, value: Any) -> bool:
    kind: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def test_no_number_of_a_body_can_be_true_or_false(app: Flask) -> None:
    found: set[type[BaseModel]] = set()
    for view in app.view_functions.values():
        body = get_type_hints(inspect.unwrap(view)).get("body")
        if _is_model(body):
            _models(body, found)
    assert len(found) > 50
    loose = []
    for model in found:
        for name, info in model.model_fields.items():
            parts = list(_parts(info.annotation))
            if {int, float} & {part for part in parts if inspect.isclass(part)} and bool not in parts:
                loose += [f"{model.__name__}.{name}" for value in (True, [True]) if _takes(info, value)]
    assert loose == []


@pytest.mark.parametrize("quota", [{"dollars": False}, {"tokens": True}])
def test_what_is_wrong_with_it_is_said(app: Flask, make_user: Any, quota: dict[str, bool]) -> None:
    admin: ApiClient = api_client(app, make_user(is_admin=True))
    answer = admin.put("/api/quotas", json={"quotas": [{"period": "day", **quota}]})
    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["loc"][-1] == next(iter(quota))
    assert admin.get("/api/quotas").get_json()["quotas"] == []
