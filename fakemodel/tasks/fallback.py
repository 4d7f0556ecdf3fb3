"""The smallest valid instance of a JSON schema, for structured requests without a task; pure."""

from __future__ import annotations

from typing import Any

_MAX_DEPTH = 20
_FORMATS = {
    "date": "2000-01-01",
    "date-time": "2000-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "nobody@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.com/",
}


def minimal_instance(schema: dict[str, Any], root: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """A value that satisfies the types, enumerations, bounds and required names of `schema`, but not its patterns."""
    root = schema if root is None else root
    if depth > _MAX_DEPTH:
        return None
    if "$ref" in schema:
        return minimal_instance(_resolve(root, schema["$ref"]), root, depth + 1)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        options = [option for option in schema.get(key, ()) if isinstance(option, dict)]
        if options:
            simplest = next((option for option in options if option.get("type") == "null"), options[0])
            return minimal_instance(simplest, root, depth + 1)
    if schema.get("allOf"):
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged.update(_resolve(root, part["$ref"]) if "$ref" in part else part)
        return minimal_instance(merged, root, depth + 1)
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = "null" if "null" in kind else kind[0]
    return _of_type(kind, schema, root, depth)


def _of_type(kind: str, schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    if kind == "object":
        required = schema.get("required", ())
        properties = schema.get("properties", {})
        return {name: minimal_instance(properties.get(name, {}), root, depth + 1) for name in required}
    if kind == "array":
        return [minimal_instance(schema.get("items", {}), root, depth + 1)] * schema.get("minItems", 0)
    if kind == "string":
        return _FORMATS.get(schema.get("format", "")) or "-" * max(1, schema.get("minLength", 0))
    if kind in ("integer", "number"):
        return _number(kind, schema)
    return False if kind == "boolean" else None


def _number(kind: str, schema: dict[str, Any]) -> int | float:
    step = 1 if kind == "integer" else 0.5
    low = schema.get("minimum", schema.get("exclusiveMinimum", float("-inf")))
    high = schema.get("maximum", schema.get("exclusiveMaximum", float("inf")))
    value: float = 0
    if low > 0 or (low == 0 and "exclusiveMinimum" in schema):
        value = low + (step if "exclusiveMinimum" in schema else 0)
    elif high < 0 or (high == 0 and "exclusiveMaximum" in schema):
        value = high - (step if "exclusiveMaximum" in schema else 0)
    if kind == "number" and not low <= value <= high:
        value = (low + high) / 2
    return int(value) if kind == "integer" else value


def _resolve(root: dict[str, Any], reference: str) -> dict[str, Any]:
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node.get(part, {}) if isinstance(node, dict) else {}
    return node if isinstance(node, dict) else {}
