"""The format in which a client wants the answer: a JSON schema, or any JSON object; pure."""

from collections.abc import Mapping
from typing import Any

from webapp.gateway.functions import UnsupportedRequest, read_definition
from webapp.llm.structured import describe_schema

MOST_SHOWN = 8_000
"""The most characters of a schema that is also shown to the model: not every server makes the model follow it."""
KINDS = ("text", "json_object", "json_schema")

_ANY_OBJECT = "Answer with exactly one JSON object and nothing else: no explanation, no code fence."


def read_format(value: Any, param: str) -> dict[str, Any] | None:
    """Return a `response_format` as it goes to the model; None for plain text. Raises UnsupportedRequest."""
    if value is None:
        return None
    kind = value.get("type", "text") if isinstance(value, dict) else None
    if kind not in KINDS:
        raise UnsupportedRequest(f"{param}.type", f"The type of a format must be one of {', '.join(KINDS)}.")
    if kind != "json_schema":
        return None if kind == "text" else {"type": "json_object"}
    return {"type": "json_schema", "json_schema": _named_schema(value.get("json_schema"), f"{param}.json_schema")}


def read_flat_format(source: Any) -> dict[str, Any] | None:
    """Return the same, from `text.format` of a response, which has the fields one level higher."""
    param = "text.format"
    if isinstance(source, dict) and source.get("type") == "json_schema":
        rest = {name: value for name, value in source.items() if name != "type"}
        return {"type": "json_schema", "json_schema": _named_schema(rest, param)}
    return read_format(source, param)


def flat(form: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a format as a response reports it."""
    if form is None:
        return {"type": "text"}
    return {"type": form["type"], **form.get("json_schema", {})}


def format_instructions(form: Mapping[str, Any] | None) -> str:
    """The instructions about it for the model; for a long schema only that it must be a JSON object, for text none."""
    if form is None:
        return ""
    if form["type"] == "json_object":
        return _ANY_OBJECT
    schema = form["json_schema"]
    words = describe_schema(schema["name"], schema["schema"])
    return words if len(words) <= MOST_SHOWN else _ANY_OBJECT


def _named_schema(value: Any, param: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnsupportedRequest(param, "json_schema must have a name and a schema.")
    definition = read_definition(value, param, "schema")
    schema = definition.get("schema")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise UnsupportedRequest(f"{param}.schema", "The schema has to be a JSON schema of the type 'object'.")
    return definition
