import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.memories.rules.policy import SAME_AT
from webapp.memories.rules.relations import cosine, is_same, may_be_same


@pytest.mark.parametrize(
    ("left", "right", "similarity", "same"),
    [
        ("Likes green tea", "Green tea likes", 0.95, True),
        ("Works in Porto", "Working in Porto", 0.9, True),
        ("Works in Porto", "Working in Porto", 0.8, False),
        ("Likes tea", "Does not like tea", 0.95, False),
        ("Trinkt Kaffee", "Trinkt keinen Kaffee", 0.95, False),
        ("喜欢喝茶", "不喜欢喝茶", 0.95, False),
        ("Jestem wegetarianką", "Nie jestem wegetarianką", 0.97, False),
        ("Sister lives in Rome", "Sister lives in Oslo", 0.97, False),
        ("Runs 5 km a day", "Runs 10 km a day", 0.99, False),
        ("Loves 🍕 here", "Loves 🍣 here", 0.99, False),
        ("Bought a house", "Sold a house", 0.97, False),
        ("부산에 살고 있다", "서울에 살고 있다", 1.0, False),
        ("Has a peanut allergy", "Daughter has a peanut allergy", 0.898, False),
        ("Works as a nurse", "Used to work as a nurse", 0.922, False),
    ],
)
def test_near_vectors_make_one_statement_only_of_the_same_words(left, right, similarity, same):
    assert is_same(left, right, similarity, SAME_AT) is same
    assert is_same(right, left, similarity, SAME_AT) is same


def test_what_may_be_the_same_is_shown_to_somebody_unless_a_name_or_number_differs():
    assert may_be_same("Resides in Porto", "Lives in Porto", 0.8, 0.7)
    assert not may_be_same("Resides in Porto", "Lives in Braga", 0.9, 0.7)
    assert not may_be_same("Resides in Porto", "Lives in Porto", 0.6, 0.7)


def test_cosine_of_odd_vectors():
    unit = np.array([1, 0], np.float32)
    assert cosine(unit, unit) == pytest.approx(1)
    assert cosine(unit, None) == cosine(unit, np.ones(3, np.float32)) == cosine(unit, np.zeros(2, np.float32)) == 0


@given(st.text(max_size=40))
def test_a_statement_is_the_same_as_itself(text):
    assert is_same(text, text, 1.0, SAME_AT)
