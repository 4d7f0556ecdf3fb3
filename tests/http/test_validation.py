"""Field types: what the database can hold passes unchanged, everything else is refused with a sentence."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any
from unicodedata import category

import pytest
from flask import Flask
from hypothesis import given, strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from webapp.http.validation import (
    MAX_ID,
    MAX_METADATA_DEPTH,
    MAX_TEXT_BYTES,
    Amount,
    AwareTime,
    Day,
    Id,
    Integer,
    JsonObject,
    Line,
    MessageText,
    Time,
)
from webapp.memories.schemas import LastDay

MESSAGE, LINE, ID, OBJECT = (TypeAdapter(kind) for kind in (MessageText, Line, Id, JsonObject))
DAY, LAST_DAY, TIME, AWARE_TIME = (TypeAdapter(kind) for kind in (Day, LastDay, Time, AwareTime))


@given(st.text(min_size=1))
def test_a_message_is_kept_as_it_is_or_refused(text):
    fits = any(category(char)[0] != "Z" and category(char) not in ("Cc", "Cf") for char in text) and "\x00" not in text
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


NOT_TAKEN = [
    *product([MESSAGE, LINE], ["a\x00", "\ud800", "x\udfffy"]),
    *product([TypeAdapter(Integer), TypeAdapter(Amount)], ["١", "１", "1_0", "+1", "01", "-01", " 1", "x", ""]),
    *product([DAY, LAST_DAY, TIME, AWARE_TIME], [0, 1_900_000_000, 0.5, True, False, [], "0.5", "1900000000", "1e9"]),
    *product([DAY, TIME, AWARE_TIME], [""]),  # which is how a form leaves out a last day
]


@pytest.mark.parametrize(("kind", "value"), NOT_TAKEN)
def test_what_is_no_text_no_plain_digits_or_a_number_of_seconds_is_refused(kind, value):
    with pytest.raises(ValidationError):
        kind.validate_python(value)


def test_a_line_is_one_is_stripped_and_shows_itself_alone():
    assert LINE.validate_python("  a\tb\n") == "a b"
    assert LINE.validate_python("Ann\r\nBcc:\u2028x\x85y\u202egpj.exe\x1b[2J") == "Ann Bcc: x ygpj.exe[2J"
    assert LINE.validate_python("علی‌رضا 👩‍🌾 « a »") == "علی‌رضا 👩‍🌾 « a »"


@pytest.mark.parametrize(("value", "fits"), [(1, True), (MAX_ID, True), (0, False), (-1, False), (MAX_ID + 1, False)])
def test_ids(value, fits):
    if fits:
        assert ID.validate_python(value) == value
    else:
        with pytest.raises(ValidationError):
            ID.validate_python(value)


def test_times():
    for text in ("2030-01-02T03:04:05Z", "2030-01-02 03:04:05+00:00"):
        assert AWARE_TIME.validate_python(text) == TIME.validate_python(text)
    assert TIME.validate_python("2030-01-02T03:04").tzinfo is None
    assert LAST_DAY.validate_python(None) is None


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


def _nested_value(levels: int) -> dict[str, Any]:
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
        _nested_value(MAX_METADATA_DEPTH),
        _nested_value(900),
    ],
    ids=range(9),
)
def test_json_the_database_cannot_hold(value):
    with pytest.raises(ValidationError):
        OBJECT.validate_python(value)


def test_as_deep_as_allowed():
    assert OBJECT.validate_python(_nested_value(MAX_METADATA_DEPTH - 1))


NULL_MEANS_SOMETHING = {
    "ConnectionChanges": {"embedding_model", "background_model"},
    "ConversationChanges": {"title", "space_id", "metadata", "folder_id", "model", "parameters"},
    "MemoryChanges": {
        *("category", "fact_key", "fact_value", "space_id", "only_conversation_id", "valid_from", "valid_to", "until")
    },
    "ProfileChanges": {"name", "preferred_name", "birthday"},  # as the seed has it: only what is not null is merged
    "SavedPromptChanges": {"space_id"},
    "SiteChanges": {"schedules_per_person"},
    "SpaceChanges": {"persona"},
}


def test_a_field_that_stays_is_left_out_and_not_null(app: Flask) -> None:
    def subtypes(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
        for other in kind.__subclasses__():
            yield from (other, *subtypes(other))

    def is_taken(kind: type[BaseModel], name: str) -> bool:
        try:
            kind.model_validate({name: None})
        except ValidationError as error:
            return all(item["loc"][:1] != (name,) for item in error.errors())
        return True

    kinds = {kind for kind in subtypes(BaseModel) if kind.__name__.endswith("Changes") and "webapp." in kind.__module__}
    assert len(kinds) > 10
    for kind in kinds:
        taken = {name for name in kind.model_fields if is_taken(kind, name)}
        assert taken == NULL_MEANS_SOMETHING.get(kind.__name__, set()), kind
