"""Tools as the model is told about them: from the models that parse their arguments, in few tokens. Pure."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel

_CHECKED_ANYWAY = ("title", "default", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum")


@cache
def definition_of(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """The definition of a tool; its description is the model's docstring. Created once: it must not be changed."""
    schema = arguments.model_json_schema()
    properties = {field: _short(value) for field, value in schema["properties"].items()}
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        parameters["required"] = schema["required"]
    return {
        "type": "function",
        "function": {"name": name, "description": (arguments.__doc__ or "").strip(), "parameters": parameters},
    }


def _short(value: dict[str, Any]) -> dict[str, Any]:
    """A field's schema without what is checked on each call anyway, and without the null that leaving it out means."""
    kinds = [kind for kind in value.get("anyOf", ()) if kind.get("type") != "null"]
    if len(kinds) == 1:
        value = kinds[0] | {key: part for key, part in value.items() if key != "anyOf"}
    return {key: part for key, part in value.items() if key not in _CHECKED_ANYWAY}
