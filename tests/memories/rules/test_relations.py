import numpy as np
import pytest
from hypothesis import given, strategies as st

from webapp.memories.rules.relations import cosine, is_same, may_be_same


@pytest.mark.cases("left", "right", "similarity", "same")
def test_near_vectors_make_one_statement_only_of_the_same_words(left, right, similarity, same):
    assert is_same(left, right, similarity) is same
    assert is_same(right, left, similarity) is same


def test_what_may_be_the_same_is_shown_to_somebody_unless_a_name_or_number_differs():
    assert may_be_same("Resides in Porto", "Lives in Porto", 0.8)
    assert not may_be_same("Resides in Porto", "Lives in Braga", 0.9)
    assert not may_be_same("Resides in Porto", "Lives in Porto", 0.6)


def test_cosine_of_odd_vectors():
    unit = np.array([1, 0], np.float32)
    assert cosine(unit, unit) == pytest.approx(1)
    assert cosine(unit, None) == cosine(unit, np.ones(3, np.float32)) == cosine(unit, np.zeros(2, np.float32)) == 0


@given(st.text(max_size=40))
def test_a_statement_is_the_same_as_itself(text):
    assert is_same(text, text, 1.0)
