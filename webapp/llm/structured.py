"""Schemas that strict servers accept, and strict reading of what lax servers send; pure."""

from __future__ import annotations

import copy
import json
import re
from typing import Any, cast

from .errors import MalformedOutput
from .reasoning_tokens import is_only_thought

# Keywords that OpenAI's strict mode does not support; pydantic checks them afterwards anyway.
_UNSUPPORTED = (
    "default",
    "title",
    "examples",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "discriminator",
    "deprecated",
    "readOnly",
)
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)


def strict_schema(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """A copy of a pydantic JSON schema, fit for strict mode, and whether strict mode can express it.

    In every object all properties are required and no others allowed; a free-form map cannot be expressed strictly.
    """
    root = copy.deepcopy(schema)
    strict = True

    def visit(node: Any) -> Any:
        nonlocal strict
        if isinstance(node, list):
            return [visit(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            if len(node) == 1:
                return node
            # Strict mode allows nothing beside a reference: keep the description, with a copy of the target.
            target = _resolve(root, node["$ref"])
            extra = {key: value for key, value in node.items() if key not in ("$ref", *_UNSUPPORTED)}
            return visit({**copy.deepcopy(target), **extra}) if extra else {"$ref": node["$ref"]}
        if len(node.get("allOf", ())) == 1:
            only = node.pop("allOf")[0]
            return visit({**only, **node})
        if "oneOf" in node:
            node["anyOf"] = node.pop("oneOf")
        names = ("properties", "$defs", "definitions")
        result = {
            key: {name: visit(sub) for name, sub in value.items()}
            if key in names
            else value
            if key in ("enum", "const")
            else visit(value)
            for key, value in node.items()
            if key not in _UNSUPPORTED
        }
        if result.get("type") == "object" or "properties" in result:
            if "properties" in result and result.get("additionalProperties") in (None, False):
                result["additionalProperties"] = False
                result["required"] = list(result["properties"])
            else:
                strict = False
        elif not any(key in result for key in ("type", "anyOf", "enum", "const", "$ref")) and result.keys() - {"$defs"}:
            strict = False
        return result

    return visit(root), strict


def describe_schema(name: str, schema: dict[str, Any]) -> str:
    """The instruction that carries the schema to servers without schema support."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return (
        f'Answer with exactly one JSON object, the "{name}", and nothing else: no explanation, no code fence.\n'
        f"It must satisfy this JSON schema:\n{text}"
    )


def parse_object(text: str) -> dict[str, Any]:
    """The one JSON object in `text`, ignoring prose and code fences around it; `MalformedOutput` otherwise.

    A second object, or a brace that does not begin a valid one, is an error: taking the inner part of a broken object
    would store half an answer.
    """
    if is_only_thought(text):
        raise MalformedOutput  # an object in it is not one that the model meant to give
    text = _THINKING.sub("", text, count=1)
    start = text.find("{")
    if start < 0:
        raise MalformedOutput
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        raise MalformedOutput from None
    before = text[:start].rstrip()
    if "{" in text[end:] or before.endswith("[") or text[end:].lstrip().startswith(("]", ",", "}")):
        raise MalformedOutput
    return cast(dict[str, Any], value)


def none_is_empty(value: object) -> object:
    """An empty list for null: some models send null when there is nothing to list."""
    return [] if value is None else value


def complete_items(text: str, field: str) -> list[Any]:
    """The complete objects in the list `field` of a JSON object that was cut off; none if cut off before it."""
    found = re.search(rf'"{re.escape(field)}"\s*:\s*\[', text)
    items: list[Any] = []
    at = found.end() if found else len(text)
    while at < len(text):
        at = next((i for i in range(at, len(text)) if text[i] not in " \t\r\n,"), len(text))
        try:
            item, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        items.append(item)
    return items


def _resolve(root: dict[str, Any], reference: str) -> dict[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return cast(dict[str, Any], node)


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
