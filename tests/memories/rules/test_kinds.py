"""The kinds of memory, which stand in one place."""

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from webapp.i18n import LANGUAGES, SOURCE
from webapp.i18n.catalogs import read
from webapp.memories.rules.kinds import (
    KEY_MAX,
    MEMORY_TYPES,
    MemoryType,
    canonical_category,
    canonical_fact_key,
    canonical_value,
    category_of,
)
from webapp.memories.rules.statements import KINDS
from webapp.memories.schemas import MemoryKind
from webapp.memories.showing import texts


class Asked(BaseModel):
    kind: MemoryKind


def test_the_api_the_pages_and_the_model_take_them_from_there():
    assert Asked.model_json_schema()["properties"]["kind"]["enum"] == list(MEMORY_TYPES)
    assert dict(texts.KINDS) == {kind.value: kind.label for kind in MemoryType}
    assert {kind.value for kind in MemoryType} - {kind.value for kind in KINDS} == {"entity", "instruction"}
    assert all(0 < kind.importance <= 1 for kind in MemoryType)
    assert isinstance(Asked(kind="fact").kind, str) and f"{MemoryType.FACT}" == "fact"


def test_each_is_called_something_in_every_language():
    for code in LANGUAGES:
        if code != SOURCE:
            known = read(code)
            assert all(known.get(kind.label).string for kind in MemoryType), code


@pytest.mark.cases("raw", "category", "expected")
def test_fact_keys(raw, category, expected):
    assert canonical_fact_key(raw, category) == expected


@given(st.text(), st.none() | st.text())
def test_fact_keys_are_bounded_and_stable(raw, category):
    key = canonical_fact_key(raw, category)
    if key is not None:
        assert len(key) <= KEY_MAX and "/" in key and not key.endswith("/")
        assert canonical_fact_key(key, "other") == key


def test_the_category_of_a_keyed_fact_is_its_namespace():
    assert category_of("identity/name", "personal") == "identity"
    assert category_of(None, "Side Projects") == "side_projects"
    assert canonical_category("  ") is None


def test_the_statement_stands_in_for_a_missing_value():
    assert canonical_value(" Alex. ", "whatever") == "alex"
    assert canonical_value(None, "Alex!") == canonical_value("  ", "alex") == "alex"
