"""Excerpts and highlighting."""

import pytest
from hypothesis import given, strategies as st

from webapp.retrieval.excerpt import Excerpt, excerpt


def marked_texts(found: Excerpt) -> list[str]:
    return [found.text[start:end] for start, end in found.spans]


@pytest.mark.cases("text", "query", "expected")
def test_words_asked_for_are_marked_in_any_form_and_an_unfinished_one(text, query, expected):
    assert marked_texts(excerpt(text, query)) == expected


def test_a_long_text_is_shown_where_most_words_are():
    text = (
        "Oslo is far. " + "Filler goes here. " * 60 + "We booked the cabin near Oslo for June. " + "More filler. " * 60
    )
    found = excerpt(text, "cabin in Oslo in June", 120)
    assert len(found.text) <= 122 and marked_texts(found) == ["cabin", "Oslo", "June"]
    assert found.text.startswith("…") and found.text.endswith("…")
    assert "We booked the cabin" in found.text


def test_without_a_match_the_beginning_is_shown():
    found = excerpt("word " * 200, "nothing", 50)
    assert found.text.startswith("word word") and found.text.endswith("word…") and not found.spans


@given(st.text(max_size=300), st.text(max_size=30), st.integers(10, 80))
def test_spans_lie_inside_apart_and_in_order(text, query, length):
    found = excerpt(text, query, length)
    assert len(found.text) <= length + 2
    assert found.text.strip("…") in text
    edges = [edge for span in found.spans for edge in span]
    assert edges == sorted(set(edges)) and all(0 <= edge <= len(found.text) for edge in edges)
