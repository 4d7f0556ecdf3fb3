"""Whatever happens in whatever order: one current value a key, what was forgotten stays so, undo puts back."""

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import func, select

from testkit.people import make_person
from tests.memories.conversing import operation
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.errors import Conflict, DomainError
from webapp.memories import service
from webapp.memories.history import change_sets, revisions
from webapp.memories.learning import extraction, inputs
from webapp.memories.learning.model_call import Answer
from webapp.memories.models import IN_USE, Memory, MemoryChangeSet, MemoryEvidence
from webapp.memories.prompt import always_used
from webapp.memories.prompt.always_used import AlwaysUsed
from webapp.memories.review import decisions
from webapp.memories.rules.statements import read_statements
from webapp.memories.schemas import MemoryChanges, MemoryFields, ReviewDecision
from webapp.memories.store import forgetting
from webapp.memories.store.journal import snapshot
from webapp.memories.store.outside_proposals import OutsideStatement, propose
from webapp.retrieval.cache import index_cache
from webapp.retrieval.facts import read_keys
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space

VALUES = ("Rome", "Oslo", "Lima")
KEYS = ("identity/location", "work/city", None)
LEVELS = (0.5, 0.7, 0.9, 1.0)
numbers = st.integers(0, 50)


def says(row: Memory) -> tuple[str | None, str]:
    """What a memory states: the value of its key, or its words."""
    return row.fact_key, (row.fact_value or row.content) if row.fact_key else row.content


class Memories(RuleBasedStateMachine):
    """Extraction with any answer, and everything that a user can do, on the real tables."""

    app: Flask

    def __init__(self) -> None:
        super().__init__()
        self.user_id = make_person(self.app).user_id
        self.forgotten: set[tuple[str | None, str]] = set()
        with self.app.app_context(), write_transaction():
            talk = add_row(Conversation(user_id=self.user_id, title="A talk", title_source="user"))
            self.talk = talk.conversation_id
            self.space_id = create_space(self.user_id, NewSpace(kind="project", name="Boats")).space_id
        self.begun = now() - timedelta(days=1)

    @rule(
        value=st.sampled_from(VALUES),
        key=st.sampled_from(KEYS),
        confidence=st.sampled_from(LEVELS),
        action=st.sampled_from(["add", "supersede", "update", "retract"]),
        about=st.none() | st.integers(1, 4),
        again=st.booleans(),
        is_trusted=st.booleans(),
    )
    def say(
        self,
        value: str,
        key: str | None,
        confidence: float,
        action: str,
        about: int | None,
        again: bool,
        is_trusted: bool,
    ) -> None:
        """Says something, and a model makes something of it; or all is read once more."""
        quote = f"my place is {value}"
        with self.app.app_context():
            if not again:
                with write_transaction():
                    db.session.add(
                        Message(
                            conversation_id=self.talk, role="user", content=f"By now {quote}, I think", created_at=now()
                        )
                    )
            found = inputs.read(self.talk, 0 if again else None)
            if found is None or not found.call.sources:
                return
            proposed = operation(
                quote,
                f"The user's {key or 'place'} is {value}.",
                fact_key=key,
                fact_value=value if key else None,
                confidence=confidence,
                action=action,
                memory_number=about,
                message_number=found.call.sources[-1].number,
            )
            answer = Answer(read_statements([proposed]), None, "m", 1, 1, is_trusted=is_trusted)
            extraction._write(found, answer)

    @rule(value=st.sampled_from(VALUES), key=st.sampled_from(KEYS))
    def bring(self, value: str, key: str | None) -> None:
        """Imports what somebody may say, too."""
        brought = OutsideStatement(f"By now my place is {value}, I think", key=key, value=value if key else None)
        with self.app.app_context(), write_transaction():
            propose(self.user_id, [brought], cause="import")

    @rule(value=st.sampled_from(VALUES), key=st.sampled_from(KEYS))
    def write(self, value: str, key: str | None) -> None:
        """Writes a memory by hand, even one they had forgotten."""
        content = f"The user's {key or 'place'} is {value}."
        self.act(
            service.create_memory,
            MemoryFields(memory_type="fact", content=content, fact_key=key, fact_value=value if key else None),
        )
        self.forgotten.discard((key, value if key else content))

    @rule(
        number=numbers,
        changes=st.sampled_from(
            [
                {"is_archived": True},
                {"is_archived": False},
                {"is_pinned": True},
                {"importance": 0.9},
                {"fact_key": "identity/location"},
                {"fact_key": None},
                {"valid_to": None},
                {"memory_type": "instruction"},
                {"memory_type": "fact"},
                {"space_id": None},
                {"space_id": "here"},
            ]
        ),
    )
    def edit(self, number: int, changes: dict[str, Any]) -> None:
        """Changes a memory."""
        memory_id = self.some(number)
        changes = {name: self.space_id if value == "here" else value for name, value in changes.items()}
        if memory_id is not None and self.act(service.update_memory, memory_id, MemoryChanges(**changes)) is not None:
            with self.app.app_context():  # what the user's own hand writes may come back
                self.forgotten.discard(says(service.get_memory(self.user_id, memory_id)))

    @rule(number=numbers)
    def forget(self, number: int) -> None:
        """Forgets a memory."""
        memory_id = self.some(number)
        if memory_id is None:
            return
        with self.app.app_context():
            self.forgotten.add(says(service.get_memory(self.user_id, memory_id)))
        self.act(forgetting.forget, [memory_id])

    @rule(number=numbers, revision=st.integers(1, 4))
    def restore(self, number: int, revision: int) -> None:
        """Restores a revision."""
        if (memory_id := self.some(number)) is not None:
            self.act(revisions.restore_revision, memory_id, revision)

    @rule(number=numbers, decision=st.sampled_from(["accept", "replace", "both"]))
    def review(self, number: int, decision: str) -> None:
        """Decides about something in review."""
        if (memory_id := self.some(number, needs_review=True)) is not None:
            self.act(decisions.decide_review, memory_id, ReviewDecision(decision=decision))

    @precondition(lambda self: self.last_change() is not None)
    @rule()
    def undo_the_last(self) -> None:
        """What nobody touched since can be undone, and then stands as it stood before."""
        change_set = self.last_change()
        with self.app.app_context():
            row = db.session.get(MemoryChangeSet, change_set)
            if any(change["after"] is None for change in row.changes):
                return
            before = {c["memory_id"]: c["before"] for c in row.changes}
            stood = {
                memory_id: next(
                    r.snapshot for r in revisions.revisions_of(self.user_id, memory_id) if r.revision == was
                )
                for memory_id, was in before.items()
                if was is not None
            }
        if self.act(change_sets.undo, change_set) is None:
            return
        with self.app.app_context():
            for memory_id, fields in stood.items():
                now_says = snapshot(service.get_memory(self.user_id, memory_id))
                if now_says["superseded_by_id"] is None and fields.get("superseded_by_id") is not None:
                    assert db.session.get(Memory, fields["superseded_by_id"]) is None  # its successor was forgotten
                    now_says["superseded_by_id"] = fields["superseded_by_id"]
                assert {n: v for n, v in now_says.items() if fields.get(n) != v} == {}
            gone = [memory_id for memory_id, was in before.items() if was is None]
            assert not db.session.scalars(select(Memory.memory_id).where(Memory.memory_id.in_(gone))).all()

    def teardown(self) -> None:
        """Every change since the last forgetting can be undone, the latest first."""
        with self.app.app_context():
            sets = select(MemoryChangeSet).where(MemoryChangeSet.user_id == self.user_id)
            for row in db.session.scalars(sets.order_by(MemoryChangeSet.change_set_id.desc())).all():
                if row.cause == "forget":
                    return
                if row.undone_at is None and row.undoes_id is None:
                    with write_transaction():
                        change_sets.undo(self.user_id, row.change_set_id)
            assert not db.session.scalars(select(Memory).where(Memory.user_id == self.user_id)).all()

    @invariant()
    def one_current_value_a_key(self) -> None:
        """The database allows no second one; no rule may even try to."""
        with self.app.app_context():
            held = db.session.execute(
                select(Memory.space_slot, Memory.current_slot, func.count())
                .where(Memory.user_id == self.user_id, Memory.current_slot.is_not(None))
                .group_by(Memory.space_slot, Memory.current_slot)
            ).all()
        assert all(count == 1 for *_, count in held)

    @invariant()
    def what_was_forgotten_is_gone(self) -> None:
        """Neither current nor closed, in any state."""
        with self.app.app_context():
            rows = db.session.scalars(select(Memory).where(Memory.user_id == self.user_id)).all()
            assert not {says(row) for row in rows} & self.forgotten

    @invariant()
    def what_a_process_keeps_follows(self) -> None:
        """Brought up to date change by change, it is what would be read anew."""
        with self.app.app_context():
            kept = index_cache().get(self.user_id, 20)
            fresh = AlwaysUsed.read(self.user_id, kept.position.memory_version)
            for since in (None, self.begun):
                assert kept.always_used.items(since) == fresh.items(since)
            place = self.talk, self.space_id
            assert kept.always_used.instructions(*place) == fresh.instructions(*place)
            assert vars(kept.fact_keys)["_stem_of"] == vars(read_keys(self.user_id))["_stem_of"]
            in_use = db.session.scalars(select(Memory.memory_id).where(Memory.user_id == self.user_id, *IN_USE))
            assert {key[1] for key in kept.index.keys_of("memory", 0)} == set(in_use)

    @invariant()
    def evidence_is_counted(self) -> None:
        """`evidence_count` is the number of rows."""
        with self.app.app_context():
            for row in db.session.scalars(select(Memory).where(Memory.user_id == self.user_id)):
                rows = select(func.count()).select_from(MemoryEvidence).where(MemoryEvidence.memory_id == row.memory_id)
                assert row.evidence_count == db.session.scalar(rows)

    def act(self, function: Any, *args: Any) -> Any:
        """One request of the user; what is refused changes nothing."""
        with self.app.app_context():
            try:
                with write_transaction():
                    return function(self.user_id, *args)
            except Conflict:
                return None
            except DomainError as error:
                assert error.status in (404, 422), error
                return None

    def some(self, number: int, **state: Any) -> int | None:
        """One of the user's memories, in this state."""
        with self.app.app_context():
            ids = db.session.scalars(
                select(Memory.memory_id)
                .where(Memory.user_id == self.user_id)
                .filter_by(**state)
                .order_by(Memory.memory_id)
            ).all()
        return ids[number % len(ids)] if ids else None

    def last_change(self) -> int | None:
        """The newest change set that is not undone yet and is no undoing."""
        with self.app.app_context():
            row = db.session.scalar(
                select(MemoryChangeSet)
                .where(MemoryChangeSet.user_id == self.user_id)
                .order_by(MemoryChangeSet.change_set_id.desc())
                .limit(1)
            )
            usable = row is not None and row.undone_at is None and row.undoes_id is None
            return row.change_set_id if usable else None


@pytest.mark.parametrize("examples", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_no_sequence_of_acts_breaks_what_memory_promises(app, examples, monkeypatch):
    Memories.app = app
    few = {name: kind._replace(limit=2) for name, kind in always_used.KNOWN_KINDS.items()}
    monkeypatch.setattr(always_used, "KNOWN_KINDS", few)
    monkeypatch.setattr(always_used, "SPARE_ROWS", 1)
    run_state_machine_as_test(
        Memories,
        # No shrinking: on a real database it would take minutes, and the steps are printed anyway.
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
