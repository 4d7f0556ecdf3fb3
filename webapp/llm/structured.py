"""Schemas that strict servers accept, and reading what lax servers and models send; pure."""

import copy
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from json_repair import repair_json
from pydantic import BaseModel, ValidationError

from .errors import MalformedOutput
from .reply_markup import answer_and_thought
from .usage import is_only_thought

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


Model = TypeVar("Model", bound=BaseModel)
_MAX_HEAD_LENGTH = 500
_TYPOGRAPHIC = re.compile("[“”„]")


def strict_schema(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return a copy of a pydantic JSON schema, fit for strict mode, and whether strict mode can express it.

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
    """Return the instruction that carries the schema to servers without schema support."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return (
        f'Answer with exactly one JSON object, the "{name}", and nothing else: no explanation, no code fence.\n'
        f"It must satisfy this JSON schema:\n{text}"
    )


def parse_object(text: str, fields: Collection[str]) -> dict[str, Any]:
    """Return the one JSON object, or nearly JSON, in `text` with one of some `fields`; `MalformedOutput` otherwise."""
    if is_only_thought(text):
        raise MalformedOutput  # an object in it is not one that the model meant to give
    text, _ = answer_and_thought(text)
    if '"' not in text:
        text = _TYPOGRAPHIC.sub('"', text)
    if text.lstrip().startswith('"'):
        with suppress(ValueError):
            text = str(json.loads(text))
    objects = list(_objects(text, fields))
    if not objects or any(value != objects[0] for value in objects):
        raise MalformedOutput
    return objects[0]


def _objects(text: str, fields: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects in a text that have any of some `fields`, the last one repaired. Raises MalformedOutput."""
    index = 0
    while (index := text.find("{", index)) >= 0:
        try:
            value, end = _DECODER.raw_decode(text, index)
        except (ValueError, RecursionError):
            if _begins_with_field(text[index + 1 : index + _MAX_HEAD_LENGTH], fields):
                yield _repair(text[index:])
                return
            index += 1
            continue
        for candidate in (value, *_inner_objects(value)):
            if not candidate.keys().isdisjoint(fields):
                yield candidate
                break
        index = end


def _inner_objects(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what an object may only wrap, as a call does its arguments, which may be JSON in a text."""
    for part in value.values():
        if isinstance(part, str) and part.lstrip().startswith("{"):
            with suppress(ValueError, RecursionError):
                part = _DECODER.decode(part)  # noqa: PLW2901
        if isinstance(part, dict):
            yield part


def _begins_with_field(head: str, fields: Collection[str]) -> bool:
    """Return whether what follows a brace, comments aside, is one of some fields."""
    while True:
        head = head.lstrip()
        if head.startswith(("//", "#")):
            head = head.partition("\n")[2]
        elif head.startswith("/*"):
            head = head.partition("*/")[2]
        else:
            break
    name, colon, _ = head.partition(":")
    return bool(colon) and name.strip().strip("\"'`“”„‘’") in fields


def _repair(text: str) -> dict[str, Any]:
    """Return the object with which a text begins, repaired. Raises MalformedOutput if it was cut off within a value."""
    if len(re.findall(r'(?<!\\)"', text)) % 2 or text.rstrip().endswith(("[", "{", ",", ":")):
        raise MalformedOutput
    try:
        value = repair_json(text, return_objects=True)
    except (ValueError, RecursionError):
        raise MalformedOutput from None
    if isinstance(value, list):  # what stood behind it is a second value
        value = next((item for item in value if isinstance(item, dict)), None)
    if not isinstance(value, dict):
        raise MalformedOutput
    return value


def none_is_empty(value: object) -> object:
    """Return an empty list for null: some models send null when there is nothing to list."""
    return [] if value is None else value


def readable_items(model: type[Model], items: Iterable[object]) -> list[Model]:
    """Return the well-formed items of a list in an answer; a malformed one costs only itself."""
    values = []
    for item in items:
        with suppress(ValidationError, RecursionError):
            values.append(model.model_validate(item))
    return values


def complete_items(text: str, field: str) -> list[Any]:
    """Return the complete objects in the list `field` of a JSON object that was cut off; none if cut off before it."""
    match = re.search(rf'"{re.escape(field)}"\s*:\s*\[', text)
    items: list[Any] = []
    index = match.end() if match else len(text)
    while index < len(text):
        index = next((i for i in range(index, len(text)) if text[i] not in " \t\r\n,"), len(text))
        try:
            item, index = _DECODER.raw_decode(text, index)
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


_DECODER = json.JSONDecoder(parse_constant=_reject_constant, strict=False)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One thing asked for in a call: its field of the answer, that field's schema, and its instructions."""

    field: str
    schema: Mapping[str, Any]
    instructions: str = ""


def schema_of(parts: Iterable[Part]) -> dict[str, Any]:
    """Return the JSON schema of an answer to all the parts, in their order."""
    return object_schema(**{part.field: dict(part.schema) for part in parts})


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these properties, as strict servers want it."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def instructions_of(parts: Iterable[Part]) -> str:
    """Return the instructions for the model: those of all parts, in order."""
    return "\n\n".join(part.instructions for part in parts if part.instructions)
