from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given

from testkit.memory_extraction import apply_effects
from tests.memories.worlds import NAME, NOON, memory, worlds
from webapp.errors import Conflict
from webapp.memories.rules.state import Draft, Insert
from webapp.memories.rules.user_decisions import Decision, is_earlier, settle, store_user_value
from webapp.text.canonical import canonical_statement

LATER = NOON + timedelta(days=1)
OLD = memory(7, "Likes tea")
NEW = memory(8, "Hates tea", needs_review=True, contradicts=7)
CLEARED = {"needs_review": False, "contradicts": None}
ACCEPTED = CLEARED | {"asserted_at": NOON}


def edits(*arguments):
    return tuple(settle(*arguments).items())


def test_each_decision_about_a_contradiction():
    assert edits(Decision.REJECT, NEW, OLD, NOON) == ()
    replaced = ((7, {"valid_to": NOON, "superseded_by": 8}), (8, CLEARED))
    assert edits(Decision.REPLACE, NEW, OLD, NOON) == edits(Decision.ACCEPT, NEW, OLD, NOON) == replaced
    assert edits(Decision.BOTH, NEW, OLD, NOON) == (
        (7, {"settled_with": frozenset({8})}),
        (8, CLEARED | {"settled_with": frozenset({7})}),
    )
    assert edits(Decision.UNTIL, NEW, OLD, NOON, LATER) == (
        (7, {"valid_to": LATER, "superseded_by": 8}),
        (8, CLEARED | {"valid_from": LATER}),
    )


def test_of_two_that_are_both_true_one_has_the_key():
    waiting = memory(8, "Al", fact_key=NAME, fact_value="Al", needs_review=True, contradicts=7)
    assert edits(Decision.BOTH, waiting, memory(7, "Alex", fact_key=NAME), NOON) == (
        (7, {"settled_with": frozenset({8})}),
        (8, CLEARED | {"fact_key": None, "fact_value": None, "settled_with": frozenset({7})}),
    )


def test_the_later_replaces_the_earlier_whichever_waits():
    earlier = memory(7, "I live in Bristol", needs_review=True, contradicts=8, asserted_at=NOON)
    later = memory(8, "home is Bath now", asserted_at=LATER)
    moments = earlier.last_moment, later.last_moment
    assert is_earlier(*moments) and not is_earlier(*reversed(moments))
    closed = CLEARED | {"valid_to": NOON, "superseded_by": 8}
    assert edits(Decision.REPLACE, earlier, later, NOON) == ((7, closed),)
    assert edits(Decision.UNTIL, earlier, later, NOON, LATER) == (
        (7, closed | {"valid_to": LATER}),
        (8, {"valid_from": LATER}),
    )
    assert edits(Decision.ACCEPT, earlier, later, NOON) == ((8, {"valid_to": NOON, "superseded_by": 7}), (7, CLEARED))
    assert edits(Decision.REJECT, earlier, later, NOON) == ()
    # Who chooses the value of a key is not asked about the earlier ones again.
    first, second, third = (
        replace(row, fact_key=NAME, fact_value=row.content, asserted_at=NOON + timedelta(number))
        for number, row in enumerate((replace(earlier, ref=6), earlier, later))
    )
    for decision, one, winner, gone in ((Decision.REPLACE, second, 8, {6, 7}), (Decision.ACCEPT, first, 6, {8})):
        done = settle(decision, one, third, NOON, None, [first, second])
        assert {ref for ref, fields in done.items() if fields.get("superseded_by") == winner} == gone


def test_a_doubtful_memory_is_simply_accepted():
    doubtful = memory(9, "Likes figs", needs_review=True)
    assert edits(Decision.ACCEPT, doubtful, None, NOON) == ((9, ACCEPTED),)
    closed = memory(7, "Likes tea", valid_to=NOON)
    assert edits(Decision.ACCEPT, NEW, closed, NOON) == ((8, ACCEPTED),)


@pytest.mark.parametrize(
    ("decision", "memory", "other"),
    [(Decision.ACCEPT, OLD, None), (Decision.REPLACE, NEW, None), (Decision.BOTH, NEW, NEW)],
)
def test_impossible_decisions_are_refused(decision, memory, other):
    with pytest.raises(Conflict):
        settle(decision, memory, other, NOON)


@given(worlds())
def test_what_is_written_by_hand_takes_its_place(state):
    for draft in (Draft("fact", "My name is Bo", "identity", NAME, "Bo", origin="user"), Draft("fact", "i LIKE tea.")):
        effects = store_user_value(draft, state.memories, LATER)
        assert isinstance(effects[-1], Insert)
        done = apply_effects(state.memories, effects)
        rivals = [m for m in done if m.is_open and m.slot == effects[-1].draft.slot]
        assert sum(m.slot == NAME or canonical_statement(m.content) == "i like tea" for m in rivals) == 1
        assert [m.content for m in done if m.is_current and m.ref == -1] == [draft.content]
