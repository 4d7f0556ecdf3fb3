"""Which of several values of a key is current does not depend on how many calls read them, nor on their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.memories.worlds import after, current, fact, say
from webapp.memories.rules.decisions import decide
from webapp.memories.rules.operations import MemoryOperation
from webapp.memories.rules.state import State

HOME = "identity/location"
REVIEW, SURE = 0.6, 0.8
Said = list[tuple[str, float]]
statements = st.lists(
    st.tuples(st.sampled_from(["Rome", "Oslo", "Lima"]), st.sampled_from([0.45, 0.6, 0.7, 0.8, 0.9, 1.0])),
    min_size=1,
    max_size=5,
)


def by_the_rule(said: Said) -> str | None:
    """The value that the rule names, folded over the statements in the order in which they were said."""
    now: tuple[str, float] | None = None
    for value, confidence in said:
        if now is not None and value == now[0]:
            now = value, max(confidence, now[1])
        elif confidence >= REVIEW and (now is None or confidence >= min(now[1], SURE)):
            now = value, confidence
    return now[0] if now else None


def read(said: Said) -> tuple[State, list[MemoryOperation]]:
    """The messages, and what a call makes of each."""
    state = State(say(*(f"I live in {value}" for value, _ in said)))
    return state, [fact(n, f"I live in {value}", HOME, value, sure) for n, (value, sure) in enumerate(said, 1)]


@given(statements, st.randoms())
def test_one_call_in_any_order_comes_to_what_the_rule_names(said, random):
    state, operations = read(said)
    random.shuffle(operations)
    held = [memory.fact_value for memory in current(after(state, decide(operations, state)))]
    assert held == ([by_the_rule(said)] if by_the_rule(said) else [])


@given(statements, st.randoms())
def test_what_is_read_late_never_replaces_what_was_said_later(said, random):
    """An old conversation may be read after a newer one: what is current was said last of all that is in use."""
    state, operations = read(said)
    random.shuffle(operations)
    latest = 0
    for operation in operations:
        before = current(state)
        state = after(state, decide([operation], state))
        held = current(state)
        assert len(held) == 1 or (not held and not before)
        if before and held[0].fact_value != before[0].fact_value:
            assert operation.message_number > latest, (said, operation)
        if held and held[0].fact_value == operation.fact_value:
            latest = (
                max(latest, operation.message_number)
                if before and before[0].fact_value == operation.fact_value
                else operation.message_number
            )
