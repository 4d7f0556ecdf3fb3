"""A tool's schema and the names of its arguments as every model server takes them, and back; pure."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from typing import Any
from urllib.parse import unquote

MAX_SCHEMA_LENGTH = 6_000
"""The most characters of a cleaned schema; a longer one loses its deepest parts."""
DEPTHS = (10, 6, 4, 3, 2, 1)
MAX_DESCRIPTION_LENGTH = 300
_DETAILS = ("description", "enum")
MAX_VALUES, MAX_VALUE_LENGTH = 100, 100
MAX_PARTS = 2_000
"""The most parts of a schema that are looked at, references followed."""
_TYPES = {kind: kind for kind in ("object", "array", "string", "integer", "number", "boolean")}
_TYPES |= {"dict": "object", "list": "array", "str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_NULL = ("null", ["null"])

Schema = dict[str, Any]
Open = tuple[str, ...]
"""The references within which a part stands: none is followed into itself."""


def clean_schema(schema: object) -> Schema:
    """Return the schema of an object that asks for the same arguments, as far as every server can be told."""
    for depth in DEPTHS:
        result = _Cleaner(schema, depth).root()
        if len(json.dumps(result)) <= MAX_SCHEMA_LENGTH:
            return result
    return _shorten(result)


def _shorten(schema: Schema) -> Schema:
    """Return a schema with as many of its arguments as fit, the required first, without descriptions."""
    needed, short = schema.get("required", []), Schema()
    for name in sorted(schema["properties"], key=lambda name: name not in needed):
        if len(json.dumps(short)) < MAX_SCHEMA_LENGTH // 2:
            short[name] = {key: part for key, part in schema["properties"][name].items() if key not in _DETAILS}
    return {"type": "object", "properties": short, "required": [name for name in needed if name in short]}


def definition_of(name: str, tool: Mapping[str, Any]) -> Schema:
    """Return a server's tool as models see it, under this name."""
    description = tool["description"] or tool["title"]
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": _for_model(json.dumps(tool["schema"]))},
    }


def schema_of(tool: Mapping[str, Any]) -> Schema:
    """Return the cleaned schema of a stored tool: those stored by an earlier version are as their server gave them."""
    return dict(_clean(json.dumps(tool["schema"])))


@lru_cache(maxsize=1_024)
def _for_model(schema: str) -> Schema:
    return plain_schema(_clean(schema))


@lru_cache(maxsize=1_024)
def _clean(schema: str) -> Schema:
    # Needed in every turn, and seldom another.
    return clean_schema(json.loads(schema))


class _Cleaner:
    """Cleans one schema down to a depth."""

    def __init__(self, schema: object, depth: int) -> None:
        self._schema = schema
        self._depth = depth
        self._left = MAX_PARTS

    def root(self) -> Schema:
        flat, options, seen = self._flat(self._schema, ())
        return self._object(self._union(flat, options, seen), seen, 0)

    def _part(self, value: object, seen: Open, depth: int) -> Schema:
        flat, options, seen = self._flat(value, seen)
        kinds = _kinds(flat)
        if not options and len(kinds) > 1:
            options = [{**flat, "type": kind, "description": None} for kind in kinds]
        if options and (
            "properties" in flat or all(_kind(self._flat(option, seen)[0]) == "object" for option in options)
        ):
            flat = self._union(flat, options, seen)
        elif options:
            parts = [self._part(option, seen, depth) for option in options[:MAX_VALUES] if self._left > 0]
            parts = list({json.dumps(option, sort_keys=True): option for option in parts}.values())
            return _describe(flat, {"anyOf": parts} if len(parts) > 1 else parts[0] if parts else {"type": "string"})
        kind = _kind(flat)
        if kind == "object":
            return _describe(flat, self._object(flat, seen, depth))
        if kind == "array":
            return _describe(flat, {"type": "array", "items": self._items(flat, seen, depth)})
        return _describe(flat, _plain(kind, flat))

    def _object(self, flat: Schema, seen: Open, depth: int) -> Schema:
        source = flat.get("properties")
        source = source if isinstance(source, Mapping) and depth < self._depth else {}
        properties = {name: self._part(value, seen, depth + 1) for name, value in source.items() if self._left > 0}
        result: Schema = {"type": "object", "properties": properties}
        if required := [name for name in dict.fromkeys(_texts(flat.get("required"))) if name in properties]:
            result["required"] = required
        free = flat.get("additionalProperties")
        if depth and not properties and free is not False:
            # Its names are free: some servers allow none that are not listed unless they are told so.
            is_open = isinstance(free, Mapping) and free and depth < self._depth
            result["additionalProperties"] = self._part(free, seen, depth + 1) if is_open else True
        return result

    def _items(self, flat: Schema, seen: Open, depth: int) -> Schema:
        items = flat.get("items", flat.get("prefixItems"))
        if isinstance(items, list):
            items = {"anyOf": items}
        return self._part(items, seen, depth + 1) if depth < self._depth else {"type": "string"}

    def _flat(self, value: object, seen: Open) -> tuple[Schema, list[Any], Open]:
        """Return a schema, references followed and `allOf` merged, its options apart, and what is open."""
        self._left -= 1
        if not isinstance(value, Mapping):
            return {}, [], seen
        flat = {key: part for key, part in value.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        parts = (part for key in ("anyOf", "oneOf") for part in _list(value.get(key)))
        options = [part for part in parts if not (isinstance(part, Mapping) and part.get("type") in _NULL)]
        under = _list(value.get("allOf"))
        if isinstance(name := value.get("$ref"), str):
            target = self._target(name)
            if name in seen:
                flat.setdefault("type", _kind(target))
            else:
                seen, under = (*seen, name), [target, *under]
        for part in under:
            if self._left > 0:
                other, more, seen = self._flat(part, seen)
                flat, options = _merge(other, flat), options + more
        return flat, options, seen

    def _union(self, flat: Schema, options: Sequence[object], seen: Open) -> Schema:
        """Return one object with the properties of all options; required of them is what each one requires."""
        result = {**flat, "type": "object"}
        needed = []
        for option in options:
            if self._left > 0:
                other, _, _ = self._flat(option, seen)
                result = _merge({"properties": other.get("properties")}, result)
                needed.append(set(_texts(other.get("required"))))
        if needed:
            result["required"] = [*_texts(flat.get("required")), *sorted(set.intersection(*needed))]
        return result

    def _target(self, name: str) -> object:
        """Return what a reference points to; None outside the schema."""
        target: object = self._schema if name.startswith("#") else None
        for step in filter(None, unquote(name[1:]).split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping):
                target = target.get(key)
            elif isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                target = target[int(key)]
            else:
                return None
        return target


def _merge(under: Schema, override: Schema) -> Schema:
    """Return two schemas that both apply; where both say something that cannot be joined, the second counts."""
    result = {**under, **override}
    parts = [schema["properties"] for schema in (under, override) if isinstance(schema.get("properties"), Mapping)]
    if parts:
        result["properties"] = {name: part for properties in parts for name, part in properties.items()}
    if required := [*_texts(under.get("required")), *_texts(override.get("required"))]:
        result["required"] = required
    return result


def _kinds(flat: Mapping[str, Any]) -> list[str]:
    value = flat.get("type")
    kinds = _texts(value if isinstance(value, list) else [value])
    return [_TYPES[kind.lower()] for kind in kinds if kind.lower() in _TYPES]


def _kind(value: object) -> str:
    """Return the type of a part, also of one that does not name it; text stands for anything."""
    if not isinstance(value, Mapping):
        return "string"
    if kinds := _kinds(value):
        return kinds[0]
    if "properties" in value or "additionalProperties" in value:
        return "object"
    if "items" in value or "prefixItems" in value:
        return "array"
    types = [*{type(item) for item in _values(value)}]
    return {bool: "boolean", int: "integer", float: "number"}.get(types[0], "string") if len(types) == 1 else "string"


def _plain(kind: str, flat: Schema) -> Schema:
    """Return a text, number or truth value. Some servers take a list of values only for texts."""
    result: Schema = {"type": kind}
    values = list(dict.fromkeys(item for item in _values(flat) if item != ""))
    if kind == "string" and values and all(isinstance(item, str) and len(item) <= MAX_VALUE_LENGTH for item in values):
        result["enum"] = values[:MAX_VALUES]
    if kind in ("integer", "number"):
        result |= {key: flat[key] for key in ("minimum", "maximum") if _is_number(flat.get(key))}
    return result


def _describe(flat: Schema, schema: Schema) -> Schema:
    """Return a cleaned part with its description, to which is added what the part itself can no longer say."""
    texts = [flat.get("description")]
    if (values := _values(flat)) and schema.get("type") in ("string", "integer", "number") and "enum" not in schema:
        texts.append("One of " + ", ".join(json.dumps(item, ensure_ascii=False) for item in values[:MAX_VALUES]))
    texts += [f"{key.capitalize()} {flat[key]}" for key in ("format", "pattern") if isinstance(flat.get(key), str)]
    words = " ".join(word for text in texts if isinstance(text, str) for word in text.split())
    text = "".join(sign for sign in words if sign.isprintable())[:MAX_DESCRIPTION_LENGTH].strip()
    return {**schema, "description": text} if text else schema


def _values(flat: Mapping[str, Any]) -> list[Any]:
    """Return the scalar values to choose from."""
    values = [flat["const"]] if "const" in flat else _list(flat.get("enum"))
    return [item for item in values if isinstance(item, str | bool) or _is_number(item)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME_LENGTH = 56


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose arguments have names that every model server takes."""
    result = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        plain = _plain_names(properties)
        result["properties"] = {plain[name]: plain_schema(part) for name, part in properties.items()}
        if "required" in schema:
            result["required"] = [plain.get(name, name) for name in schema["required"]]
    for key in (name for name in ("items", "additionalProperties") if isinstance(schema.get(name), Mapping)):
        result[key] = plain_schema(schema[key])
    if "anyOf" in schema:
        result["anyOf"] = [plain_schema(option) for option in schema["anyOf"]]
    return result


def original_arguments(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the arguments of a call with the names that the tool's server gave them."""
    if "anyOf" in schema:
        kind = "object" if isinstance(value, Mapping) else "array" if isinstance(value, list) else ""
        options = [option for option in schema["anyOf"] if option.get("type") == kind]
        return original_arguments(value, max(options, key=lambda option: _matches(value, option))) if options else value
    if isinstance(value, list):
        return [original_arguments(item, schema.get("items") or {}) for item in value]
    if not isinstance(value, Mapping):
        return value
    properties = schema.get("properties") or {}
    own = {plain: name for name, plain in _plain_names(properties).items()}
    free = schema.get("additionalProperties")
    others = free if isinstance(free, Mapping) else {}
    return {own.get(n, n): original_arguments(part, properties.get(own.get(n, n), others)) for n, part in value.items()}


def _matches(value: Any, option: Mapping[str, Any]) -> int:
    """Return how many of an object's names an option has."""
    plain = set(_plain_names(option.get("properties") or {}).values())
    return len(plain & value.keys()) if isinstance(value, Mapping) else 0


def _plain_names(names: Iterable[str]) -> dict[str, str]:
    """Return, for each name, one that every model server takes, and no two the same."""
    plain = {name: name for name in names if _PLAIN.fullmatch(name)}
    for name in names:
        if name not in plain:
            base = _FOREIGN.sub("_", name).strip("_-")[:_MAX_NAME_LENGTH]
            base = base if base[:1].isalpha() else f"argument_{base}".strip("_")
            candidates = chain([base], (f"{base}_{number}" for number in count(2)))
            plain[name] = next(candidate for candidate in candidates if candidate not in plain.values())
    return plain
