"""The smallest valid instance of a JSON schema, for structured requests without a task; pure."""

from __future__ import annotations

from typing import Any


def minimal_instance(schema: dict[str, Any], definitions: dict[str, Any] | None = None) -> Any:
    """Return a value with the types, choices, minima and required names of a schema as the product sends it."""
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    if "$ref" in schema:
        return minimal_instance(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        options = schema["anyOf"]
        simplest = next((option for option in options if option.get("type") == "null"), options[0])
        return minimal_instance(simplest, definitions)
    match schema.get("type", "object"):
        case "object":
            properties = schema.get("properties", {})
            return {name: minimal_instance(properties[name], definitions) for name in schema.get("required", ())}
        case "array":
            return [minimal_instance(schema.get("items", {}), definitions)] * schema.get("minItems", 0)
        case "string":
            return "-"
        case "integer" | "number":
            return max(0, schema.get("minimum", 0))
        case "boolean":
            return False
    return None
