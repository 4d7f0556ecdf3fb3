"""What a plan becomes for somebody who was not speaking just now."""

from datetime import UTC, datetime

from webapp.memories.rules.proposals import for_review
from webapp.memories.rules.state import AddEvidence, Close, Draft, Effect, Flag, Insert, Revise

DRAFT, OLD = Draft("fact", "Drinks cocoa"), 7
NEW = Insert(-1, DRAFT, ())
AT = datetime(2026, 3, 1, tzinfo=UTC)


def test_what_contradicts_a_memory_in_use_waits_beside_it() -> None:
    effects: list[Effect] = [Flag(OLD, -1), NEW]
    (found,) = for_review(effects)
    assert isinstance(found, Insert) and found.needs_review and found.contradicts == OLD
    (found, *_) = for_review([NEW, Flag(5, -1)], proposed_refs=[5])
    assert isinstance(found, Insert), "a proposal is not beside itself"


def test_a_plan_becomes_proposals_and_nothing_else() -> None:
    weaker = Insert(-2, DRAFT, (), overruled_by=OLD)
    assert for_review([weaker, Flag(OLD, 8), Close(OLD, AT, -1), Revise(OLD, DRAFT, ())], ()) == []
    (made,) = for_review([NEW, AddEvidence(OLD, (), 1.0), Close(OLD, AT, -1), Flag(8, OLD)], ())
    assert made.needs_review and made.draft.origin == "import"
    kept = for_review([NEW, AddEvidence(OLD, (), 1.0, clears_review=True), Close(OLD, AT, -1)], {OLD})
    assert [type(effect) for effect in kept] == [Insert, AddEvidence, Close] and not kept[1].clears_review
    assert for_review([Close(OLD, AT, 9)], {OLD}) == []
