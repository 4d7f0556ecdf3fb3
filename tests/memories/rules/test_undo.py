from dataclasses import fields, replace

import pytest
from hypothesis import given

from tests.memories.worlds import NAME, apply, batches, worlds
from webapp.memories.rules.decide import decide
from webapp.memories.rules.state import KnownMemory, State
from webapp.memories.rules.undo import Change, Current, Obstacle, Snapshot, UndoPlan, plan_undo

KEPT = [f.name for f in fields(KnownMemory) if f.name not in {"ref", "evidence", "embedding"}]


def snapshot(memory, revision):
    return Snapshot(revision, {name: getattr(memory, name) for name in KEPT})


def record_changes(before: State, done: State):
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


def present(done: State, changes) -> Current:
    return Current(
        memories={change.ref: change.after for change in changes},
        key_holders={memory.slot: memory.ref for memory in done.memories if memory.is_current and memory.slot},
    )


def undone(done: State, plan: UndoPlan):
    memories = {memory.ref: memory for memory in done.memories if memory.ref not in plan.removals}
    for ref, fields_before in plan.returns.items():
        memories[ref] = replace(memories[ref], **fields_before)
        slots = [m.slot for m in memories.values() if m.is_current and m.slot]
        assert len(slots) == len(set(slots))
    for ref, dropped in plan.evidence.items():
        rest = tuple(e for n, e in enumerate(memories[ref].evidence) if n not in dropped)
        memories[ref] = replace(memories[ref], evidence=rest)
    return tuple(memories[ref] for ref in sorted(memories))


@given(worlds(), batches)
def test_undoing_what_was_applied_gives_back_what_was(state, batch):
    done = apply(state, decide(batch, state))
    changes = record_changes(state, done)
    plan = plan_undo(changes, present(done, changes))
    assert not plan.obstacles
    assert undone(done, plan) == tuple(sorted(state.memories, key=lambda memory: memory.ref))


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
    plan = plan_undo([*changes, untouched], Current({**now, 8: untouched.after}))
    assert plan == UndoPlan(obstacles={7: obstacle})


def test_what_stands_again_as_a_change_left_or_found_it_can_be_undone():
    changes = [Change(7, BEFORE, AFTER), Change(8, None, AFTER), Change(9, BEFORE, AFTER)]
    plan = plan_undo(changes, Current({7: snap(4, content="b"), 8: snap(4, content="b"), 9: snap(4, content="a")}))
    assert plan == UndoPlan((8,), {7: BEFORE.fields})


def test_a_key_taken_since_is_not_taken_back():
    closed = snap(2, content="a", fact_key=NAME, valid_to="then")
    change = Change(7, snap(1, content="a", fact_key=NAME, valid_to=None), closed)
    plan = plan_undo([change], Current({7: closed}, {NAME: 9}))
    assert plan.obstacles == {7: Obstacle.KEY_TAKEN}


def test_wording_forgotten_since_does_not_come_back():
    plan = plan_undo([Change(7, BEFORE, AFTER)], Current({7: AFTER}, is_forgotten=lambda f: f["content"] == "a"))
    assert plan.obstacles == {7: Obstacle.FORGOTTEN}


def test_evidence_alone_can_always_be_taken_back():
    change = Change(7, BEFORE, BEFORE, frozenset({5}))
    plan = plan_undo([change], Current({7: snap(9, content="edited since")}))
    assert plan == UndoPlan(evidence={7: frozenset({5})})


def test_what_it_made_and_is_gone_needs_nothing():
    assert plan_undo([Change(7, None, AFTER)], Current()) == plan_undo([], Current()) == UndoPlan((), {}, {})
