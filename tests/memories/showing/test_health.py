from datetime import timedelta
from unittest.mock import Mock

import numpy as np
from hypothesis import given, strategies as st

from tests.memories.worlds import NOON
from webapp.memories.models import Memory
from webapp.memories.rules.relations import cosine
from webapp.memories.showing.health import Finding, examine, find_duplicates


def memory(ref, content=None, **fields):
    values = {"memory_type": "fact", "origin": "extraction", "evidence_count": 1, "access_count": 1}
    values |= {"created_at": NOON, "updated_at": NOON}
    return Memory(memory_id=ref, content=content or f"statement {ref}", **values | fields)


def vector(*values):
    return np.array(values, np.float32).tobytes()


def test_each_finding():
    later = NOON + timedelta(days=400)
    memories = [
        memory(1, "Likes tea", last_accessed_at=later),
        memory(2, "likes TEA.", last_accessed_at=later),
        memory(3, needs_review=True),
        memory(4, evidence_count=0, last_accessed_at=later),
        memory(5, evidence_count=0, origin="user", last_accessed_at=later),
        memory(6),
        memory(7, is_pinned=True, access_count=0),
        memory(8, access_count=0, updated_at=later),
    ]
    assert examine(memories, later) == {
        Finding.STILL_TRUE: [],
        Finding.DUPLICATES: [(1, 2)],
        Finding.UNSUPPORTED: [(4,)],
        Finding.STALE: [(6,)],
        Finding.NEVER_USED: [(8,)],
    }


def test_what_was_for_a_time_is_asked_about_the_longest_past_first():
    day = NOON.date()
    memories = [
        memory(1, until=day + timedelta(days=9)),
        memory(2, until=day),
        memory(3),
        memory(4, until=day + timedelta(days=10)),
    ]
    assert examine(memories, NOON + timedelta(days=10))[Finding.STILL_TRUE] == [(2,), (1,)]


def test_near_duplicates_need_the_same_kind_and_no_difference_that_matters():
    near, nearer = vector(1, 0.05), vector(1, 0)
    likes = memory(1, "Likes tea", embedding=near)
    assert find_duplicates([likes, memory(2, "Liked tea", embedding=nearer)]) == [(1, 2)]
    for other in (
        memory(2, "Does not like tea", embedding=nearer),
        memory(2, "Liked tea", embedding=nearer, memory_type="preference"),
        memory(2, "Liked tea", embedding=nearer, fact_key="taste/tea"),
        memory(2, "Liked tea", embedding=vector(0, 1)),
        memory(2, "Liked tea", embedding=vector(1, 0, 0)),
        memory(2, "Liked tea"),
        memory(2, "Likes tea", embedding=near, space_id=7),
        memory(2, "Likes tea", embedding=near, only_conversation_id=7),
    ):
        assert find_duplicates([likes, other]) == []


def test_a_long_diary_of_alike_memories_is_compared_word_by_word_and_not_pair_by_pair(monkeypatch):
    compared = Mock(side_effect=cosine)
    monkeypatch.setattr("webapp.memories.showing.health.cosine", compared)
    diary = [memory(n, f"Walked {n} km", embedding=vector(1, 0)) for n in range(1, 400)]
    assert find_duplicates([*diary, memory(400, "Walks 7 km", embedding=vector(1, 0))]) == [(7, 400)]
    assert compared.call_count <= 400


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 3)), max_size=12))
def test_groups_are_disjoint_and_complete(items):
    memories = [
        memory(n, text, embedding=np.eye(4, dtype=np.float32)[axis].tobytes())
        for n, (text, axis) in enumerate(items, 1)
    ]
    groups = find_duplicates(memories)
    refs = [ref for group in groups for ref in group]
    assert len(refs) == len(set(refs)) and all(len(group) > 1 for group in groups)
    together = {ref: group for group in groups for ref in group}
    for left in memories:
        for right in memories:
            if left.memory_id < right.memory_id and left.content == right.content:
                assert together[left.memory_id] == together[right.memory_id]


def test_what_was_kept_side_by_side_is_no_duplicate_again():
    first, second = memory(1, "Likes tea"), memory(2, "likes TEA.", settled_with=[1])
    assert find_duplicates([first, second]) == []
    assert find_duplicates([first, second, memory(3, "Likes tea!")]) == [(1, 3)]
