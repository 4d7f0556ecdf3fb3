"""What a memory counts for in a ranking."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from tests.memories.worlds import NOON
from webapp.memories.rules.policy import for_review, retention
from webapp.memories.rules.state import AddEvidence, Close, Draft, Effect, Flag, Insert, Revise


def retention_at(days, confidence=1.0, importance=1.0, *, is_pinned=False):
    return retention(confidence, importance, NOON, NOON + timedelta(days=days), is_pinned=is_pinned)


def test_worth_is_a_product_with_gentle_decay():
    assert retention_at(0, 0.9, 0.5) == pytest.approx(0.9 * 0.5)
    assert retention_at(180) == pytest.approx(0.75)
    assert retention_at(10_000) == pytest.approx(0.5)
    assert retention_at(10_000, is_pinned=True) == 1.0


@given(st.integers(0, 900), st.integers(0, 900))
def test_what_was_used_later_is_never_worth_less(one, other):
    soon, late = sorted((one, other))
    assert 0.5 <= retention_at(late) <= retention_at(soon) <= 1.0


DRAFT, OLD = Draft("fact", "Drinks cocoa"), 7
NEW = Insert(-1, DRAFT, ())
AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_what_contradicts_a_memory_in_use_waits_beside_it():
    effects: list[Effect] = [Flag(OLD, -1), NEW]
    (found,) = for_review(effects)
    assert isinstance(found, Insert) and found.needs_review and found.contradicts == OLD
    (found, *_) = for_review([NEW, Flag(5, -1)], proposed_refs=[5])
    assert isinstance(found, Insert), "a proposal is not beside itself"


def test_a_plan_becomes_proposals_and_nothing_else():
    weaker = Insert(-2, DRAFT, (), overruled_by=OLD)
    assert for_review([weaker, Flag(OLD, 8), Close(OLD, AT, -1), Revise(OLD, DRAFT, ())], ()) == []
    (made,) = for_review([NEW, AddEvidence(OLD, (), 1.0), Close(OLD, AT, -1), Flag(8, OLD)], ())
    assert made.needs_review and made.draft.origin == "import"
    kept = for_review([NEW, AddEvidence(OLD, (), 1.0, clears_review=True), Close(OLD, AT, -1)], {OLD})
    assert [type(effect) for effect in kept] == [Insert, AddEvidence, Close] and not kept[1].clears_review
    assert for_review([Close(OLD, AT, 9)], {OLD}) == []
