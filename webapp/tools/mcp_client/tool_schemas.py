"""A tool's schema as every model server takes it: one type each, no references, nothing but properties at the root;
pure. The tool's own server still checks what it is called with, so a schema may say less than it did."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

LONGEST = 6_000
"""The most characters of a cleaned schema; a longer one loses its deepest parts."""
DEPTHS = (10, 6, 4, 3, 2, 1)
LONGEST_DESCRIPTION = 300
MOST_VALUES, LONGEST_VALUE = 100, 100
MOST_PARTS = 2_000
"""The most parts of a schema that are looked at, references followed."""
_TYPES = ("object", "array", "string", "integer", "number", "boolean")

Schema = dict[str, Any]
Open = tuple[str, ...]
"""The references within which a part stands: none is followed into itself."""


def clean_schema(schema: object) -> Schema:
    """Return the schema of an object that asks for the same arguments, as far as every server can be told."""
    for depth in DEPTHS:
        made = _Cleaner(schema, depth).root()
        if len(json.dumps(made)) <= LONGEST:
            return made
    return {"type": "object", "properties": {}}


def definition_of(name: str, listed: Mapping[str, Any]) -> Schema:
    """Return a tool of a server as a model is told about it, under this name."""
    description = listed["description"] or listed["title"]
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema_of(listed)},
    }


def schema_of(listed: Mapping[str, Any]) -> Schema:
    """Return the cleaned schema of a stored tool: those stored by an earlier version are as their server gave them."""
    return dict(_cleaned(json.dumps(listed["schema"])))


@lru_cache(maxsize=1_024)
def _cleaned(schema: str) -> Schema:
    # Needed in every turn, and seldom another.
    return clean_schema(json.loads(schema))


class _Cleaner:
    """Cleans one schema down to a depth."""

    def __init__(self, schema: object, depth: int) -> None:
        self._schema = schema
        self._depth = depth
        self._left = MOST_PARTS

    def root(self) -> Schema:
        flat, options, seen = self._flat(self._schema, ())
        return self._object(self._union(flat, options, seen), seen, 0)

    def _part(self, value: object, seen: Open, depth: int) -> Schema:
        """A part below the root."""
        flat, options, seen = self._flat(value, seen)
        kinds = _kinds(flat)
        if not options and len(kinds) > 1:
            options = [{**flat, "type": kind, "description": None} for kind in kinds]
        if options and ("properties" in flat or all(_kind(self._flat(one, seen)[0]) == "object" for one in options)):
            flat = self._union(flat, options, seen)
        elif options:
            made = [self._part(one, seen, depth) for one in options[:MOST_VALUES] if self._left > 0]
            made = list({json.dumps(one, sort_keys=True): one for one in made}.values())
            return _described(flat, {"anyOf": made} if len(made) > 1 else made[0] if made else {"type": "string"})
        kind = _kind(flat)
        if kind == "object":
            return _described(flat, self._object(flat, seen, depth))
        if kind == "array":
            return _described(flat, {"type": "array", "items": self._items(flat, seen, depth)})
        return _described(flat, _plain(kind, flat))

    def _object(self, flat: Schema, seen: Open, depth: int) -> Schema:
        given = flat.get("properties")
        given = given if isinstance(given, Mapping) and depth < self._depth else {}
        properties = {name: self._part(value, seen, depth + 1) for name, value in given.items() if self._left > 0}
        made: Schema = {"type": "object", "properties": properties}
        if required := [name for name in dict.fromkeys(_texts(flat.get("required"))) if name in properties]:
            made["required"] = required
        free = flat.get("additionalProperties")
        if depth and not properties and free is not False:
            # Its names are free: some servers allow none that are not listed unless they are told so.
            inside = isinstance(free, Mapping) and free and depth < self._depth
            made["additionalProperties"] = self._part(free, seen, depth + 1) if inside else True
        return made

    def _items(self, flat: Schema, seen: Open, depth: int) -> Schema:
        given = flat.get("items", flat.get("prefixItems"))
        if isinstance(given, list):
            given = {"anyOf": given}
        return self._part(given, seen, depth + 1) if depth < self._depth else {"type": "string"}

    def _flat(self, value: object, seen: Open) -> tuple[Schema, list[Any], Open]:
        """A schema with its references followed and `allOf` merged, its options apart from it, and what is open."""
        self._left -= 1
        if not isinstance(value, Mapping):
            return {}, [], seen
        flat = {key: one for key, one in value.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        options = [one for key in ("anyOf", "oneOf") for one in _list(value.get(key)) if not _is_null(one)]
        under = _list(value.get("allOf"))
        if isinstance(name := value.get("$ref"), str):
            target = self._target(name)
            if name in seen:
                flat.setdefault("type", _kind(target))
            else:
                seen, under = (*seen, name), [target, *under]
        for one in under:
            if self._left > 0:
                theirs, more, seen = self._flat(one, seen)
                flat, options = _merged(theirs, flat), options + more
        return flat, options, seen

    def _union(self, flat: Schema, options: Sequence[object], seen: Open) -> Schema:
        """One object with the properties of all options; required of them is what each one requires."""
        made = {**flat, "type": "object"}
        needed = []
        for one in options:
            if self._left > 0:
                theirs, _, _ = self._flat(one, seen)
                made = _merged({"properties": theirs.get("properties")}, made)
                needed.append(set(_texts(theirs.get("required"))))
        if needed:
            made["required"] = [*_texts(flat.get("required")), *sorted(set.intersection(*needed))]
        return made

    def _target(self, name: str) -> object:
        """Return what a reference points to; None outside the schema."""
        found: object = self._schema if name.startswith("#") else None
        for step in filter(None, unquote(name[1:]).split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping):
                found = found.get(key)
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return None
        return found


def _merged(under: Schema, over: Schema) -> Schema:
    """Two schemas that both apply; where both say something that cannot be joined, the second counts."""
    made = {**under, **over}
    both = [one["properties"] for one in (under, over) if isinstance(one.get("properties"), Mapping)]
    if both:
        made["properties"] = {name: part for properties in both for name, part in properties.items()}
    if required := [*_texts(under.get("required")), *_texts(over.get("required"))]:
        made["required"] = required
    return made


def _kinds(flat: Mapping[str, Any]) -> list[str]:
    given = flat.get("type")
    return [kind for kind in (given if isinstance(given, list) else [given]) if kind in _TYPES]


def _kind(value: object) -> str:
    """The type of a part, also of one that does not name it; text stands for anything."""
    if not isinstance(value, Mapping):
        return "string"
    if kinds := _kinds(value):
        return kinds[0]
    if "properties" in value or "additionalProperties" in value:
        return "object"
    if "items" in value or "prefixItems" in value:
        return "array"
    found = {type(one) for one in _values(value)}
    only = found.pop() if len(found) == 1 else str
    return {bool: "boolean", int: "integer", float: "number"}.get(only, "string")


def _plain(kind: str, flat: Schema) -> Schema:
    """A text, number or truth value. Some servers take a list of values only for texts."""
    made: Schema = {"type": kind}
    values = list(dict.fromkeys(one for one in _values(flat) if one != ""))
    if kind == "string" and values and all(isinstance(one, str) and len(one) <= LONGEST_VALUE for one in values):
        made["enum"] = values[:MOST_VALUES]
    if kind in ("integer", "number"):
        made |= {key: flat[key] for key in ("minimum", "maximum") if _is_number(flat.get(key))}
    return made


def _described(flat: Schema, made: Schema) -> Schema:
    """A cleaned part with its description, to which is added what the part itself can no longer say."""
    texts = [flat.get("description")]
    if (values := _values(flat)) and made.get("type") in ("string", "integer", "number") and "enum" not in made:
        texts.append("One of " + ", ".join(json.dumps(one, ensure_ascii=False) for one in values[:MOST_VALUES]))
    texts += [f"{key.capitalize()} {flat[key]}" for key in ("format", "pattern") if isinstance(flat.get(key), str)]
    words = " ".join(word for text in texts if isinstance(text, str) for word in text.split())
    text = "".join(sign for sign in words if sign.isprintable())[:LONGEST_DESCRIPTION].strip()
    return {**made, "description": text} if text else made


def _values(flat: Mapping[str, Any]) -> list[Any]:
    """The scalar values to choose from."""
    given = [flat["const"]] if "const" in flat else _list(flat.get("enum"))
    return [one for one in given if isinstance(one, str | bool) or _is_number(one)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_null(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") in ("null", ["null"])


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [one for one in _list(value) if isinstance(one, str)]
