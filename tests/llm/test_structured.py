"""Strict schemas and strict reading."""

import json
from enum import Enum

import pytest
from hypothesis import assume, given, strategies as st
from pydantic import BaseModel, Field

from webapp.llm.errors import MalformedOutput
from webapp.llm.structured import parse_object, strict_schema


class Colour(Enum):
    RED = "red"


class Leaf(BaseModel):
    title: str = Field(max_length=10)
    colour: Colour = Field(Colour.RED, description="the colour")


class Tree(BaseModel):
    leaf: Leaf = Field(description="the first")
    leaves: list[Leaf] = []
    child: "Tree | None" = None


def objects(node):
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


def test_every_object_is_closed_and_complete():
    original = Tree.model_json_schema()
    before = json.dumps(original)
    schema, strict = strict_schema(original)
    assert strict
    assert json.dumps(original) == before, "the caller's schema is untouched"
    found = list(objects(schema))
    assert found
    for node in found:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    text = json.dumps(schema)
    assert '"default"' not in text
    assert '"maxLength"' not in text
    leaf = schema["$defs"]["Leaf"]["properties"]
    assert "title" in leaf, "a property called like a keyword stays"
    assert leaf["colour"]["enum"] == ["red"]
    assert leaf["colour"]["description"] == "the colour"


def test_a_free_map_is_not_strict():
    class Free(BaseModel):
        values: dict[str, int]

    schema, strict = strict_schema(Free.model_json_schema())
    assert not strict
    assert schema["properties"]["values"]["additionalProperties"] == {"type": "integer"}


plain = st.text(alphabet=st.characters(exclude_characters="{}[],<>", exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), values, min_size=1, max_size=4), plain, plain)
def test_prose_around_one_object_does_not_matter(value, before, after):
    assert parse_object(f"{before}\n```json\n{json.dumps(value)}\n```\n{after}", value) == value


@given(values, values)
def test_two_different_objects_are_none(first, second):
    assume(first != second)
    with pytest.raises(MalformedOutput):
        parse_object(f"{json.dumps({'a': first})} and {json.dumps({'a': second})}", {"a"})
