import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.memories.rules.likeness import Likeness, compare, cosine, is_negative
from webapp.memories.rules.policy import SAME_AT


@pytest.mark.parametrize(
    ("left", "right", "similarity", "expected"),
    [
        ("Likes tea", "Enjoys tea", 0.95, Likeness.SAME),
        ("Likes tea", "Enjoys tea", 0.90, Likeness.DIFFERENT),
        ("Likes tea", "Does not like tea", 0.95, Likeness.OPPOSED),
        ("Likes tea", "Hates tea", 0.86, Likeness.OPPOSED),
        ("Likes tea", "Hates tea", 0.80, Likeness.DIFFERENT),
        ("Does not hate tea", "Likes tea", 0.95, Likeness.SAME),
        ("Sister lives in Rome", "Sister lives in Oslo", 0.97, Likeness.DIFFERENT),
        ("Runs 5 km a day", "Runs 10 km a day", 0.99, Likeness.DIFFERENT),
        ("Loves 🍕 here", "Loves 🍣 here", 0.99, Likeness.DIFFERENT),
        ("Bought a house", "Sold a house", 0.97, Likeness.DIFFERENT),
        ("Left-handed", "Right-handed", 0.97, Likeness.DIFFERENT),
        ("부산에 살고 있다", "서울에 살고 있다", 1.0, Likeness.DIFFERENT),
        ("犬を飼っている", "猫を飼っている", 0.99, Likeness.DIFFERENT),
        ("Has two cats", "Owns two cats", 0.95, Likeness.SAME),
        ("Enjoys gardening", "Enjoyed gardening a great deal", 0.95, Likeness.SAME),
        ("喜欢喝茶", "不喜欢喝茶", 0.95, Likeness.OPPOSED),
        ("Trinkt Kaffee", "Trinkt keinen Kaffee", 0.95, Likeness.OPPOSED),
        ("The user works as a nurse", "The user used to work as a nurse", 0.953, Likeness.DIFFERENT),
        ("Used to play chess", "Used to play chess", 1.0, Likeness.SAME),
        ("Stopped smoking", "Does not smoke", 0.95, Likeness.SAME),
    ],
)
def test_vectors_are_not_believed_blindly(left, right, similarity, expected):
    assert compare(left, right, similarity, same_at=0.93, opposed_at=0.85) is expected
    assert compare(right, left, similarity, same_at=0.93, opposed_at=0.85) is expected


@pytest.mark.parametrize(
    ("left", "right", "similarity"),
    [
        ("Has a peanut allergy", "Daughter has a peanut allergy", 0.898),
        ("Works as a nurse", "Used to work as a nurse", 0.922),
        ("Eats meat", "Rarely eats meat", 0.889),
        ("Has a sister", "Has a younger sister", 0.893),
    ],
)
def test_a_word_more_is_another_statement_at_the_products_threshold(left, right, similarity):
    assert compare(left, right, similarity, SAME_AT, 0.85) is Likeness.DIFFERENT
    assert compare(right, left, similarity, SAME_AT, 0.85) is Likeness.DIFFERENT
    assert compare("Lives in Porto", "Resides in Porto", 0.879, SAME_AT, 0.85) is Likeness.SAME


@pytest.mark.parametrize("statement", ["I don't eat it", "I don’t eat it", "never again", "je ne mange pas", "не ем"])
def test_negations(statement):
    assert is_negative(statement)


def test_cosine_of_odd_vectors():
    unit = np.array([1, 0], np.float32)
    assert cosine(unit, unit) == pytest.approx(1)
    assert cosine(unit, None) == cosine(unit, np.ones(3, np.float32)) == cosine(unit, np.zeros(2, np.float32)) == 0


@given(st.text(max_size=40), st.floats(0, 1))
def test_a_statement_is_never_opposed_to_itself(text, similarity):
    assert compare(text, text, similarity, 0.93, 0.85) is not Likeness.OPPOSED
