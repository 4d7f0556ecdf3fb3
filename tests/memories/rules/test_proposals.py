"""What a plan becomes for somebody who was not speaking just now."""

from datetime import UTC, datetime

from webapp.memories.rules.proposals import for_review
from webapp.memories.rules.state import Close, Draft, Effect, Flag, Insert

NEW = Insert(-1, Draft("fact", "Drinks cocoa"), ())


def test_what_contradicts_a_memory_in_use_waits_beside_it() -> None:
    effects: list[Effect] = [Flag(7, -1), NEW]
    (found,) = for_review(effects)
    assert isinstance(found, Insert) and found.needs_review and found.contradicts == 7


def test_a_memory_in_use_is_neither_closed_nor_sent_to_review() -> None:
    closes = Close(7, datetime(2026, 3, 1, tzinfo=UTC), superseded_by=-1)
    found = for_review([closes, NEW, Flag(8, 7)])
    assert [type(effect) for effect in found] == [Insert]


def test_a_proposal_is_not_beside_itself() -> None:
    (found, *_) = for_review([NEW, Flag(5, -1)], proposed_refs=[5])
    assert isinstance(found, Insert)
