import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.memories.engine.operations import (
    MAX_OPERATIONS,
    Action,
    ExtractionUnreadable,
    MemoryType,
    parse_extraction,
    response_schema,
)

GOOD = {
    "action": "add",
    "memory_number": None,
    "message_number": 1,
    "quote": "My name is Alex",
    "memory_type": "fact",
    "category": "identity",
    "content": "The user's name is Alex.",
    "fact_key": "identity/name",
    "fact_value": "Alex",
    "confidence": 1.0,
    "importance": 0.9,
    "explicit_correction": False,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(GOOD)) | st.text(), inner),
    max_leaves=15,
)


def test_a_complete_answer_is_read():
    answer = {
        "reasoning": "The user gave a name.",
        "operations": [GOOD],
        "points": [
            {
                "point_number": 2,
                "is_addressed": True,
                "confidence_score": 0.8,
                "extracted_points": ["wants quiet"],
                "relevant_quotes": ["I want quiet"],
                "structured_data": [{"name": "noise", "value": "low"}, {"value": "nameless"}],
            }
        ],
    }
    extraction = parse_extraction(json.dumps(answer))
    (operation,) = extraction.operations
    assert operation.action is Action.ADD and operation.memory_type is MemoryType.FACT
    assert operation.fact_value == "Alex" and operation.memory_number is None
    assert extraction.points[0].structured_data == {"noise": "low"}
    assert (extraction.malformed, extraction.capped, extraction.reasoning) == (0, 0, "The user gave a name.")


@pytest.mark.parametrize(
    "change",
    [
        {"action": "explode"},
        {"message_number": None},
        {"message_number": 0},
        {"message_number": True},
        {"memory_number": -3},
        {"quote": ""},
        {"quote": None},
        {"memory_type": "secret"},
        {"content": ""},
        {"content": "x" * 501},
        {"confidence": 1.2},
        {"confidence": -0.1},
        {"confidence": "very"},
        {"confidence": None},
        {"importance": float("nan")},
        {"fact_key": ["identity"]},
    ],
)
def test_one_malformed_operation_is_counted_and_the_rest_survive(change):
    extraction = parse_extraction({"operations": [GOOD, GOOD | change, "nonsense", GOOD]})
    assert len(extraction.operations) == 2
    assert extraction.malformed == 2


@pytest.mark.parametrize(
    "change",
    [
        {"action": " ADD ", "memory_type": "Fact"},
        {"confidence": "0.9", "message_number": "1", "importance": 1},
        {"category": None, "fact_key": "null", "fact_value": ""},
        {"explicit_correction": None, "memory_type": None},
        {"something_else": 5},
        {"action": "retract", "content": None, "memory_number": 1},
    ],
)
def test_small_liberties_of_models_are_allowed(change):
    extraction = parse_extraction({"operations": [GOOD | change]})
    assert len(extraction.operations) == 1 and extraction.malformed == 0


def test_too_many_operations_are_capped_and_counted():
    extraction = parse_extraction({"operations": [GOOD] * 5000})
    assert len(extraction.operations) == MAX_OPERATIONS
    assert extraction.capped == 5000 - MAX_OPERATIONS


@pytest.mark.parametrize("text", ["```json\n%s\n```", "Sure! Here it is: %s Hope it helps.", "{not json} %s", "%s"])
def test_json_is_found_in_its_wrapping(text):
    assert len(parse_extraction(text % json.dumps({"operations": [GOOD]})).operations) == 1


def test_a_bare_list_is_taken_as_the_operations():
    assert len(parse_extraction(json.dumps([GOOD])).operations) == 1


@pytest.mark.parametrize(
    "answer",
    ["", "I cannot do that.", "{}", '{"operations": null}', "[]", '{"operations": [{"action"', {"x": 1}, "{" * 5000],
)
def test_an_answer_without_an_extraction_is_refused(answer):
    with pytest.raises(ExtractionUnreadable):
        parse_extraction(answer)


@settings(max_examples=60)
@given(st.lists(JSON | JSON.map(lambda value: GOOD | (value if isinstance(value, dict) else {})), max_size=6))
def test_every_operation_is_either_read_or_counted(items):
    extraction = parse_extraction({"operations": items})
    assert len(extraction.operations) + extraction.malformed == len(items)


@pytest.mark.parametrize("with_points", [False, True])
def test_the_schema_is_strict_and_reasons_first(with_points):
    schema = response_schema(with_points)
    assert next(iter(schema["properties"])) == "reasoning"
    assert ("points" in schema["properties"]) is with_points
    pending = [schema]
    while pending:
        node = pending.pop()
        if node.get("type") == "object":
            assert node["additionalProperties"] is False and node["required"] == list(node["properties"])
            pending.extend(node["properties"].values())
        elif node.get("type") == "array":
            pending.append(node["items"])
    assert set(schema["properties"]["operations"]["items"]["properties"]) == set(GOOD)
