"""The names of a tool's arguments as every model server takes them, and back as the tool's own server knows them;
pure. Of a cleaned schema (`tool_schemas.py`)."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 56


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose arguments have names that every model server takes."""
    result = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        plain = _plain_names(properties)
        result["properties"] = {plain[name]: plain_schema(part) for name, part in properties.items()}
        if "required" in schema:
            result["required"] = [plain.get(name, name) for name in schema["required"]]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            result[key] = plain_schema(schema[key])
    if "anyOf" in schema:
        result["anyOf"] = [plain_schema(option) for option in schema["anyOf"]]
    return result


def own_arguments(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the arguments of a call with the names that the tool's server gave them."""
    if "anyOf" in schema:
        kind = "object" if isinstance(value, Mapping) else "array" if isinstance(value, list) else ""
        options = [option for option in schema["anyOf"] if option.get("type") == kind]
        return own_arguments(value, max(options, key=lambda option: _matches(value, option))) if options else value
    if isinstance(value, list):
        return [own_arguments(item, schema.get("items") or {}) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties = schema.get("properties") or {}
    own = {plain: name for name, plain in _plain_names(properties).items()}
    free = schema.get("additionalProperties")
    others = free if isinstance(free, Mapping) else {}
    return {own.get(n, n): own_arguments(part, properties.get(own.get(n, n), others)) for n, part in value.items()}


def _matches(value: Any, option: Mapping[str, Any]) -> int:
    """Return how many of an object's names an option has."""
    plain = set(_plain_names(option.get("properties") or {}).values())
    return len(plain & value.keys()) if isinstance(value, Mapping) else 0


def _plain_names(names: Iterable[str]) -> dict[str, str]:
    """Return, for each name, one that every model server takes, and no two the same."""
    plain = {name: name for name in names if _PLAIN.fullmatch(name)}
    used = set(plain)
    for name in names:
        if name in plain:
            continue
        base = _FOREIGN.sub("_", name).strip("_-")[:_LONGEST]
        base = base if base[:1].isalpha() else f"argument_{base}".strip("_")
        number, candidate = 1, base
        while candidate in used:
            number += 1
            candidate = f"{base}_{number}"
        used.add(candidate)
        plain[name] = candidate
    return plain
