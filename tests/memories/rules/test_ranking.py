from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memories.worlds import NOON
from webapp.memories.rules.ranking import RankedMemory, always_known, decay, score


def memory(ref, content="Likes tea", **fields):
    values = {"confidence": 0.9, "importance": 0.5, "created_at": NOON, "updated_at": NOON} | fields
    return RankedMemory(ref=ref, content=content, **values)


def days(count):
    return NOON + timedelta(days=count)


def test_score_is_a_product_with_gentle_decay():
    assert score(memory(1), 0.8, NOON) == pytest.approx(0.8 * 0.9 * 0.5)
    assert decay(memory(1), days(180)) == pytest.approx(0.75)
    assert decay(memory(1, last_used_at=days(180)), days(180)) == 1.0
    assert decay(memory(1), days(10_000)) == pytest.approx(0.5)
    assert decay(memory(1, is_pinned=True), days(10_000)) == 1.0
    assert score(memory(1), -0.2, NOON) == 0.0


def test_what_is_always_known():
    memories = [
        memory(1, created_at=days(1)),
        memory(2, fact_key="a/b", importance=0.5),
        memory(3, fact_key="a/a", importance=0.9),
        memory(4, fact_key="a/c", importance=0.49, created_at=days(3)),
        memory(5, is_pinned=True, importance=0.1),
        memory(6, created_at=days(2)),
        memory(7, needs_review=True, is_pinned=True),
    ]
    known = always_known(memories, 10_000, len)
    assert [m.ref for m in known.pinned] == [5]
    assert [m.ref for m in known.facts] == [3, 2]
    assert [m.ref for m in known.recent] == [4, 6, 1]
    used = [memory(m.ref, last_used_at=days(50), created_at=m.created_at) for m in known.recent]
    assert [m.ref for m in always_known(used, 10_000, len).recent] == [4, 6, 1]


memories = st.builds(
    memory,
    st.integers(1, 30),
    content=st.text(max_size=60),
    importance=st.floats(0, 1),
    confidence=st.floats(0, 1),
    fact_key=st.none() | st.sampled_from(["a/x", "a/y"]),
    is_pinned=st.booleans(),
    needs_review=st.booleans(),
    created_at=st.integers(0, 400).map(days),
    updated_at=st.integers(0, 400).map(days),
)


@given(st.lists(memories, unique_by=lambda m: m.ref), st.integers(0, 400), st.randoms())
def test_the_budget_holds_items_are_whole_and_order_is_stable(items, budget, random):
    known = always_known(items, budget, len)
    assert sum(len(m.line) + 1 for m in known.memories) == known.tokens <= budget
    assert set(known.memories) <= set(items) and all(m.is_usable for m in known.memories)
    shuffled = list(items)
    random.shuffle(shuffled)
    assert always_known(shuffled, budget, len) == known


@given(memories, st.floats(0, 1), st.floats(0, 1), st.integers(0, 900), st.integers(0, 900))
def test_more_relevant_and_more_recent_never_score_lower(item, first, second, soon, late):
    low, high = sorted((first, second))
    assert score(item, low, days(500)) <= score(item, high, days(500))
    soon, late = sorted((soon, late))
    assert 0.5 <= decay(item, days(late)) <= decay(item, days(soon)) <= 1.0
