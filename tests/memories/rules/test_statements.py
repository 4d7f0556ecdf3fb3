"""The wire of an extraction: what is asked, and how the answer is read."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from webapp.llm.structured import Part, complete_items, schema_of, strict_schema
from webapp.memories.learning.journey_points import points_schema, read_points
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.operations import Action
from webapp.memories.rules.statements import (
    MAX_STATEMENTS,
    MEMORY_TOPICS,
    OTHER_TOPICS,
    read_statements,
    statements_schema,
)

CASES = json.loads(Path(__file__).with_name("statements.json").read_text(encoding="utf-8"))

GOOD = CASES["good"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(GOOD)) | st.text(), inner),
    max_leaves=15,
)


def test_a_statement_becomes_an_operation():
    (operation,) = read_statements([GOOD]).operations
    assert operation.action is Action.ADD and operation.memory_type is MemoryType.FACT
    assert (operation.fact_key, operation.fact_value) == ("identity/name", "Alex")
    assert operation.memory_number is None and operation.importance == 0.8


@pytest.mark.parametrize("about", [about.value for about in OTHER_TOPICS])
def test_what_is_not_about_the_user_is_counted_and_asks_for_nothing(about):
    found = read_statements([{"message": 1, "quote": "How warm is it?", "about": about}, GOOD | {"about": about}])
    assert found.operations == () and found.passed_over == {about: 2} and found.malformed == 0


def test_about_somebody_close_is_theirs_and_has_no_key_of_the_users():
    (operation,) = read_statements([GOOD | {"about": "family_friend_pet", "value": "Biscuit"}]).operations
    assert operation.memory_type is MemoryType.ENTITY and operation.fact_key is None and operation.fact_value is None


def test_a_wish_for_the_answers_is_an_instruction():
    (operation,) = read_statements([GOOD | {"about": "how_to_answer"}]).operations
    assert operation.memory_type is MemoryType.INSTRUCTION and operation.fact_key is None


@pytest.mark.parametrize("change", [{"quote": ""}, {"quote": None}, {"quote": ["I", "am"]}, {"about": "the weather"}])
def test_one_malformed_statement_is_counted_and_the_rest_survive(change):
    found = read_statements([GOOD, GOOD | change, "nonsense", GOOD])
    assert len(found.operations) == 2 and found.malformed == 2


@pytest.mark.parametrize("content", ["x" * 501, ["a", "b"], 5, None], ids=str)
def test_a_statement_without_a_usable_rewording_is_its_quote(content):
    (operation,) = read_statements([GOOD | {"content": content}]).operations
    assert operation.content == GOOD["quote"]


@pytest.mark.parametrize("change", CASES["small_liberties_of_models_are_allowed"], ids=str)
def test_small_liberties_of_models_are_allowed(change):
    found = read_statements([GOOD | change])
    assert len(found.operations) == 1 and found.malformed == 0


@pytest.mark.parametrize(
    ("given", "meant"), [(95, 0.95), ("95%", 0.95), ("0.8", 0.8), (True, 0.7), ("very", 0.7), (1.2, 0.7), (-1, 0.7)]
)
def test_how_sure_a_model_is_may_be_said_in_other_ways(given, meant):
    (operation,) = read_statements([GOOD | {"confidence": given}]).operations
    assert operation.confidence == pytest.approx(meant)


@pytest.mark.parametrize(
    ("given", "meant"), [("Supersede", "supersede"), ("RETRACT", "retract"), (" update ", "update"), ("delete", "add")]
)
def test_an_unknown_word_for_what_to_do_adds(given, meant):
    (operation,) = read_statements([GOOD | {"action": given, "memory": 1}]).operations
    assert operation.action == meant and operation.memory_number == (None if meant == "add" else 1)


@pytest.mark.parametrize(("word", "key"), CASES["another_word_for_a_key_means_the_same_key"])
def test_another_word_for_a_key_means_the_same_key(word, key):
    assert read_statements([GOOD | {"key": word}]).operations[0].fact_key == key


def test_too_many_statements_are_capped_and_counted():
    found = read_statements([GOOD] * 5000)
    assert len(found.operations) == MAX_STATEMENTS and found.capped == 5000 - MAX_STATEMENTS


@settings(max_examples=60)
@given(st.lists(JSON | JSON.map(lambda value: GOOD | (value if isinstance(value, dict) else {})), max_size=6))
def test_every_statement_is_read_passed_over_or_counted(items):
    found = read_statements(items)
    assert len(found.operations) + sum(found.passed_over.values()) + found.malformed == len(items)


def test_the_schema_names_the_numbers_of_this_call_and_classifies_before_content():
    schema = statements_schema([1, 2], [])
    kept, theirs, passed = schema["items"]["anyOf"]
    assert list(kept["properties"])[:4] == ["message", "quote", "about", "content"]
    assert kept["properties"]["message"]["enum"] == [1, 2]
    assert "memory" not in kept["properties"] and "action" not in theirs["properties"]
    assert list(passed["properties"]) == ["message", "quote", "about"]
    assert "until" in kept["properties"] and "until" in theirs["properties"]
    named = {about for branch in (kept, theirs, passed) for about in branch["properties"]["about"]["enum"]}
    assert named == {about.value for about in (*MEMORY_TOPICS, *OTHER_TOPICS)}
    known = statements_schema([1], [1, 2])["items"]["anyOf"][0]["properties"]
    assert known["memory"]["enum"] == [0, 1, 2] and known["action"]["enum"] == [action.value for action in Action]


def test_the_whole_schema_is_within_strict_mode():
    parts = [Part("statements", statements_schema([1], [1])), Part("points", points_schema())]
    schema, strict = strict_schema(schema_of([*parts, Part("title", {"type": "string"})]))
    assert strict and schema["required"] == ["statements", "points", "title"]
    pending = [schema]
    while pending:
        node = pending.pop()
        if node.get("type") == "object":
            assert node["additionalProperties"] is False and node["required"] == list(node["properties"])
            pending.extend(node["properties"].values())
        elif node.get("type") == "array":
            pending.append(node["items"])
        pending.extend(node.get("anyOf", ()))


@pytest.mark.parametrize(("text", "count"), CASES["a_cut_answer_counts_as_far_as_it_goes"])
def test_a_cut_answer_counts_as_far_as_it_goes(text, count):
    assert len(complete_items(text, "statements")) == count


def test_points_are_read_one_by_one():
    point = {
        "point_number": 2,
        "is_addressed": True,
        "confidence_score": 0.8,
        "extracted_points": ["wants quiet"],
        "relevant_quotes": ["I want quiet"],
        "structured_data": [{"name": "noise", "value": "low"}, {"value": "nameless"}],
    }
    (read,) = read_points([point, {"point_number": 0}, "nonsense"])
    assert read.structured_data == {"noise": "low"}
    assert read_points(None) == () == read_points({"point_number": 1})
