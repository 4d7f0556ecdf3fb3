"""Schemas of tools as every model server takes them: nothing odd is left, nothing that matters is lost."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from webapp.tools.mcp_client.tool_schemas import MAX_DESCRIPTION_LENGTH, MAX_SCHEMA_LENGTH, clean_schema

WORD = {"word": {"type": "string"}}
LOOP = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}, "n": {"type": "integer"}}}
KEYS = {"type", "properties", "required", "items", "anyOf", "enum", "minimum", "maximum", "description"}


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    inner += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    for one in inner:
        yield from parts(one)


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("schema", [{}, [], None, True, False, "x", {"type": "string"}, {"$ref": "#"}, {"anyOf": []}])
def test_what_says_nothing_is_an_object_without_properties(schema):
    assert clean_schema(schema) == obj()


@pytest.mark.cases("schema", "cleaned")
def test_the_root_is_an_object(schema, cleaned):
    assert clean_schema(schema) == cleaned


@pytest.mark.cases("part", "cleaned")
def test_a_part_has_one_type_and_what_all_servers_know(part, cleaned):
    schema = {**obj(part=part), "$defs": {"N": obj(n={})}}
    assert clean_schema(schema)["properties"]["part"] == cleaned


def test_a_reference_into_itself_ends():
    cleaned = clean_schema({**obj(word={"$ref": "#/$defs/N"}), "$defs": {"N": LOOP}})
    assert cleaned == obj(word=obj(next={**obj(), "additionalProperties": True}, n={"type": "integer"}))


def test_one_that_branches_without_end_is_bounded():
    names = [f"D{number}" for number in range(30)]
    defs = {name: obj(**{other: {"$ref": f"#/$defs/{other}"} for other in names}) for name in names}
    assert len(json.dumps(clean_schema({**obj(a={"$ref": "#/$defs/D0"}), "$defs": defs}))) <= MAX_SCHEMA_LENGTH
    many = obj(**{f"p{number}": {"type": "string", "description": "x" * 200} for number in range(400)})
    cleaned = clean_schema({**many, "required": ["p399"]})
    assert list(cleaned["properties"])[:2] == ["p399", "p0"] and cleaned["required"] == ["p399"]
    assert len(json.dumps(cleaned)) <= MAX_SCHEMA_LENGTH


def test_long_descriptions_are_cut():
    (part,) = clean_schema(obj(a={"type": "string", "description": "long " * 1_000}))["properties"].values()
    assert 0 < len(part["description"]) <= MAX_DESCRIPTION_LENGTH


KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "$defs", "$schema"]
    + ["description", "additionalProperties", "prefixItems", "minimum", "format", "a"]
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["object", "array", "string", "integer", "null", "#", "#/$defs/a", "#/properties/a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=5),
    max_leaves=25,
)


@given(ANYTHING)
def test_nothing_odd_is_left_whatever_comes(schema):
    cleaned = clean_schema(schema)
    assert (cleaned["type"], "anyOf" in cleaned, len(json.dumps(cleaned, allow_nan=False)) <= MAX_SCHEMA_LENGTH) == (
        "object",
        False,
        True,
    )
    for number, part in enumerate(parts(cleaned)):
        assert not part.keys() - KEYS - ({"additionalProperties"} if number else set())
        assert isinstance(part.get("type"), str) != ("anyOf" in part)
        assert set(part.get("required", ())) <= set(part.get("properties", ()))
        assert ("items" in part) == (part.get("type") == "array")
    assert clean_schema(cleaned) == cleaned
