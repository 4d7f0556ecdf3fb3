"""Field types: what the database can hold passes unchanged, everything else is refused with a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from webapp.http.validation import (
    MAX_ID,
    MAX_METADATA_DEPTH,
    MAX_TEXT_BYTES,
    AwareTime,
    Day,
    Id,
    JsonObject,
    Line,
    MessageText,
    Time,
)
from webapp.memories.schemas import LastDay

MESSAGE, LINE, ID, OBJECT = (TypeAdapter(kind) for kind in (MessageText, Line, Id, JsonObject))


@given(st.text(min_size=1))
def test_a_message_is_kept_as_it_is_or_refused(text):
    fits = text.strip() and "\x00" not in text
    if fits:
        assert MESSAGE.validate_python(text) == text
    else:
        with pytest.raises(ValidationError):
            MESSAGE.validate_python(text)


@pytest.mark.parametrize("character", ["a", "é", "€", "🌊"])
def test_the_limit_of_a_message_is_in_bytes(character):
    most = character * (MAX_TEXT_BYTES // len(character.encode()))
    assert MESSAGE.validate_python(most) == most
    with pytest.raises(ValidationError, match="1,048,576"):
        MESSAGE.validate_python(most + character)


@pytest.mark.parametrize("text", ["a\x00", "\ud800", "x\udfffy"])
@pytest.mark.parametrize("kind", [MESSAGE, LINE])
def test_what_is_no_text(kind, text):
    with pytest.raises(ValidationError):
        kind.validate_python(text)


def test_lines_are_stripped():
    assert LINE.validate_python("  a b\n") == "a b"


@pytest.mark.parametrize(("value", "fits"), [(1, True), (MAX_ID, True), (0, False), (-1, False), (MAX_ID + 1, False)])
def test_ids(value, fits):
    if fits:
        assert ID.validate_python(value) == value
    else:
        with pytest.raises(ValidationError):
            ID.validate_python(value)


@pytest.mark.parametrize("value", [0, 1_900_000_000, 0.5, True, False, [], "0.5", "1900000000", "1e9", ""])
@pytest.mark.parametrize("kind", [Day, LastDay, Time, AwareTime])
def test_a_number_of_seconds_is_no_time(kind, value):
    if (kind, value) == (LastDay, ""):  # how a form leaves it out
        return
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(value)


def test_times():
    for text in ("2030-01-02T03:04:05Z", "2030-01-02 03:04:05+00:00"):
        assert TypeAdapter(AwareTime).validate_python(text) == TypeAdapter(Time).validate_python(text)
    assert TypeAdapter(Time).validate_python("2030-01-02T03:04").tzinfo is None
    assert TypeAdapter(LastDay).validate_python(None) is None


SHORT = st.text(st.characters(codec="utf-8"), max_size=5)
NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | SHORT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT, inner, max_size=3),
    max_leaves=15,
)


@given(st.dictionaries(SHORT, JSON, max_size=3))
def test_json_objects_pass_unchanged(value):
    assert OBJECT.validate_python(json.loads(json.dumps(value))) == value


def _nested(levels: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": 2**63},
        {"a": [-(2**64)]},
        {"a": "\ud800"},
        {"\udfff": 1},
        {"a": "x" * 16_384},
        _nested(MAX_METADATA_DEPTH),
        _nested(900),
    ],
    ids=range(9),
)
def test_json_the_database_cannot_hold(value):
    with pytest.raises(ValidationError):
        OBJECT.validate_python(value)


def test_as_deep_as_allowed():
    assert OBJECT.validate_python(_nested(MAX_METADATA_DEPTH - 1))
