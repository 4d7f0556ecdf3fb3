"""The format in which a client wants the answer: a JSON schema, or any JSON object; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from webapp.gateway.functions import DEEPEST_SCHEMA, UnsupportedRequest, depth
from webapp.llm.structured import describe_schema

MOST_SCHEMA = 32_000
"""The most characters of a schema as JSON."""
MOST_SHOWN = 8_000
"""The most of one that is also shown to the model: not every server makes the model follow it."""
KINDS = ("text", "json_object", "json_schema")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIELDS = ("name", "description", "schema", "strict")
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


def read_flat_format(source: Any, param: str) -> dict[str, Any] | None:
    """Return the same, from `text.format` of a response, which has the fields one level higher."""
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
    name, schema = value.get("name"), value.get("schema")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UnsupportedRequest(f"{param}.name", "A name must have 1 to 64 letters, digits, underscores and hyphens.")
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise UnsupportedRequest(f"{param}.schema", "The schema has to be a JSON schema of the type 'object'.")
    if not isinstance(value.get("strict"), bool | None):
        raise UnsupportedRequest(f"{param}.strict", "strict must be true or false.")
    if not isinstance(value.get("description"), str | None):
        raise UnsupportedRequest(f"{param}.description", "A description must be a text.")
    fields = {field: value[field] for field in _FIELDS if value.get(field) is not None}
    try:
        text = json.dumps(fields, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError:
        raise UnsupportedRequest(param, "A format must not contain NaN, Infinity or half a surrogate pair.") from None
    if len(text) > MOST_SCHEMA:
        raise UnsupportedRequest(f"{param}.schema", f"A schema can have at most {MOST_SCHEMA:,} characters.")
    if depth(schema) > DEEPEST_SCHEMA:
        raise UnsupportedRequest(f"{param}.schema", f"A schema can have at most {DEEPEST_SCHEMA} levels.")
    return fields
