import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.memories.rules.keys import (
    KEY_MAX,
    canonical_category,
    canonical_fact_key,
    canonical_value,
    category_of,
)

CASES = json.loads(Path(__file__).with_name("keys.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("raw", "category", "expected"), CASES["fact_keys"])
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
