from dataclasses import fields

import pytest
from hypothesis import given, settings

from tests.memories.worlds import NAME, after, batches, current, fact, say, worlds
from webapp.memories.rules.decide import decide
from webapp.memories.rules.state import KnownMemory, State
from webapp.memories.rules.undo import (
    Change,
    DropEvidence,
    Obstacle,
    Present,
    PutBack,
    Remove,
    Snapshot,
    UndoRefused,
    plan_undo,
    squash,
)

KEPT = [f.name for f in fields(KnownMemory) if f.name not in {"ref", "evidence", "embedding"}]


def snapshot(memory, revision):
    return Snapshot(revision, {name: getattr(memory, name) for name in KEPT})


def recorded(before: State, done: State):
    """What a service would record: a change for every memory that is new, altered or better supported."""
    old = {memory.ref: memory for memory in before.memories}
    changes = []
    for memory in done.memories:
        earlier = old.get(memory.ref)
        if earlier != memory:
            first = snapshot(earlier, 1) if earlier else None
            revision = 2 if first is None or snapshot(memory, 1) != first else 1
            added = frozenset(range(len(earlier.evidence) if earlier else 0, len(memory.evidence)))
            changes.append(Change(memory.ref, first, snapshot(memory, revision), added))
    return changes


def present(done: State, changes) -> Present:
    return Present(
        memories={change.ref: change.after for change in changes},
        key_holders={memory.slot: memory.ref for memory in done.memories if memory.is_current and memory.slot},
    )


def undone(done: State, steps):
    memories = {memory.ref: memory for memory in done.memories}
    for step in steps:
        if isinstance(step, Remove):
            del memories[step.ref]
            continue
        memory = memories[step.ref]
        values = {name: getattr(memory, name) for name in [*KEPT, "ref", "evidence", "embedding"]}
        if isinstance(step, PutBack):
            values |= step.fields
        else:
            values["evidence"] = tuple(e for n, e in enumerate(memory.evidence) if n not in step.evidence)
        memories[step.ref] = KnownMemory(**values)
        slots = [m.slot for m in memories.values() if m.is_current and m.slot]
        assert len(slots) == len(set(slots))
    return tuple(memories[ref] for ref in sorted(memories))


@settings(max_examples=100, deadline=None)
@given(worlds(), batches)
def test_undoing_what_was_applied_gives_back_what_was(state, batch):
    done = after(state, decide(batch, state))
    changes = recorded(state, done)
    plan = plan_undo(changes, present(done, changes))
    assert plan.is_possible
    assert undone(done, plan.steps) == tuple(sorted(state.memories, key=lambda memory: memory.ref))


def test_undo_brings_alex_back():
    state = State(say("My name is Alex", "Actually, my full name is Alexander"))
    state = after(state, decide([fact(1, "My name is Alex", NAME, "Alex", 1.0)], state))
    correction = fact(2, "my full name is Alexander", NAME, "Alexander", 0.95)
    done = after(state, decide([correction], state))
    changes = recorded(state, done)
    plan = plan_undo(changes, present(done, changes))
    back = undone(done, plan.steps)
    assert [memory.fact_value for memory in current(State((), back))] == ["Alex"]


def snap(revision, **values):
    return Snapshot(revision, values)


BEFORE, AFTER = snap(1, content="a"), snap(2, content="b")


@pytest.mark.parametrize(
    ("changes", "now", "obstacle"),
    [
        ([Change(7, BEFORE, AFTER)], {7: snap(3, content="c")}, Obstacle.CHANGED_SINCE),
        ([Change(7, None, AFTER)], {7: snap(3, content="c")}, Obstacle.CHANGED_SINCE),
        ([Change(7, BEFORE, AFTER)], {}, Obstacle.FORGOTTEN),
        ([Change(7, BEFORE, None)], {}, Obstacle.FORGOTTEN),
    ],
)
def test_later_edits_are_not_overwritten(changes, now, obstacle):
    untouched = Change(8, None, snap(1, content="x"))
    plan = plan_undo([*changes, untouched], Present({**now, 8: untouched.after}))
    assert plan.obstacles == (UndoRefused(7, obstacle),) and plan.steps == () and not plan.is_possible


def test_a_key_taken_since_is_not_taken_back():
    closed = snap(2, content="a", fact_key=NAME, valid_to="then")
    change = Change(7, snap(1, content="a", fact_key=NAME, valid_to=None), closed)
    plan = plan_undo([change], Present({7: closed}, {NAME: 9}))
    assert plan.obstacles == (UndoRefused(7, Obstacle.KEY_TAKEN),)


def test_wording_forgotten_since_does_not_come_back():
    plan = plan_undo([Change(7, BEFORE, AFTER)], Present({7: AFTER}, is_forgotten=lambda f: f["content"] == "a"))
    assert plan.obstacles == (UndoRefused(7, Obstacle.FORGOTTEN),)


def test_evidence_alone_can_always_be_taken_back():
    change = Change(7, BEFORE, BEFORE, frozenset({5}))
    plan = plan_undo([change], Present({7: snap(9, content="edited since")}))
    assert plan.steps == (DropEvidence(7, frozenset({5})),)


def test_what_it_made_and_is_gone_needs_nothing():
    assert plan_undo([Change(7, None, AFTER)], Present()).steps == ()
    assert plan_undo([], Present()).is_possible


def test_several_changes_of_one_memory_count_as_one():
    changes = [
        Change(7, None, snap(1, content="a"), frozenset({1})),
        Change(7, snap(1, content="a"), AFTER, frozenset({2})),
    ]
    assert squash(changes) == [Change(7, None, AFTER, frozenset({1, 2}))]
