"""Edits, regenerations and restores in any order: the conversation is always one chain, and nothing is ever lost."""

from collections.abc import Iterator

import pytest
from flask import Flask
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from webapp.accounts.models import User
from webapp.chat import service
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import delete_conversation
from webapp.db.base import db
from webapp.errors import Conflict, NotFound


@pytest.fixture(autouse=True)
def _context(app_context: Flask) -> Iterator[None]:
    yield


def _finish(started: service.StartedTurn, status: str = "complete") -> None:
    db.session.commit()
    finish_turn(started.reply.message_id, Outcome(status, f"reply {started.reply.message_id}"))
    db.session.commit()


class Conversing(RuleBasedStateMachine):
    """One conversation; the model of it is the list of ids on the current path, and every text ever written."""

    user_id: int

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[int, str] = {}
        self.path: list[int] = []
        self.paths: dict[int, list[int]] = {}  # head of what was taken out → what it took along, at its latest

    @initialize()
    def begin(self) -> None:
        started = service.start_turn(self.user_id, "first")
        _finish(started)
        self.conversation_id = started.conversation.conversation_id
        self._note(started, keep=0)

    def _note(self, started: service.StartedTurn, keep: int) -> None:
        if keep < len(self.path):
            self.paths[self.path[keep]] = self.path[keep:]
        new = [m.message_id for m in (started.question, started.reply) if m is not None]
        self.path = self.path[:keep] + new

    @rule(n=st.integers(0, 99))
    def send(self, n: int) -> None:
        started = service.start_turn(self.user_id, f"sent {n}", conversation_id=self.conversation_id)
        _finish(started)
        self._note(started, keep=len(self.path))

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.path) // 2 - 1)) * 2
        started = service.edit_message(self.user_id, self.path[place], f"edited {place}")
        _finish(started)
        self._note(started, keep=place)

    @rule(data=st.data())
    def regenerate(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.path) // 2 - 1)) * 2 + 1
        started = service.regenerate(self.user_id, self.path[place])
        _finish(started)
        self._note(started, keep=place)

    @precondition(lambda self: self.paths)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.path) - 1))
        head = self.path[place]
        siblings = [row.message_id for row in messages.versions_of(db.session.get(Message, head))]
        assert head in siblings
        chosen = data.draw(st.sampled_from(siblings))
        service.restore_version(self.user_id, head, chosen)
        db.session.commit()
        if chosen != head:
            self.paths[head] = self.path[place:]
            self.path = self.path[:place] + self.paths[chosen]

    @precondition(lambda self: self.paths)
    @rule(data=st.data())
    def what_is_no_part_of_it_cannot_be_changed(self, data: st.DataObject) -> None:
        everything = db.session.query(Message).filter(Message.superseded_by_id.is_not(None)).all()
        if not everything:
            return
        row = data.draw(st.sampled_from(everything))
        with pytest.raises(Conflict):
            if row.role == "user":
                service.edit_message(self.user_id, row.message_id, "no")
            else:
                service.regenerate(self.user_id, row.message_id)
        db.session.rollback()
        if row.parent_id and row.parent_id not in self.path:
            with pytest.raises(Conflict):
                service.restore_version(self.user_id, row.message_id, row.message_id)
            db.session.rollback()
        elsewhere = [m for m in self.path if m != row.message_id and not _are_versions(m, row)]
        if elsewhere:
            with pytest.raises(NotFound):
                service.restore_version(self.user_id, elsewhere[0], row.message_id)
            db.session.rollback()

    @invariant()
    def it_is_one_chain(self) -> None:
        if not self.path:
            return
        current = messages.current_messages(self.conversation_id)
        assert [row.message_id for row in current] == self.path
        assert [row.parent_id for row in current] == [None, *self.path[:-1]]
        assert [row.role for row in current] == ["user", "assistant"] * (len(self.path) // 2)
        conversation = db.session.get(Conversation, self.conversation_id, populate_existing=True)
        assert conversation.message_count == len(self.path)
        for row in db.session.query(Message).all():
            assert self.texts.setdefault(row.message_id, row.content) == row.content
            assert row.status == "complete"
            assert row.superseded_by_id is None or row.message_id not in self.path
        assert db.session.query(Message).count() == len(self.texts)
        db.session.rollback()

    def teardown(self) -> None:
        db.session.rollback()
        db.session.query(Conversation).delete()
        db.session.commit()


def _are_versions(one: int, other: Message) -> bool:
    row = db.session.get(Message, one)
    return row.parent_id == other.parent_id and row.role == other.role


def test_any_sequence_of_changes_leaves_one_chain(user):
    Conversing.user_id = user.user_id
    run_state_machine_as_test(
        Conversing, settings=settings(max_examples=12, stateful_step_count=12, suppress_health_check=list(HealthCheck))
    )


def test_a_version_is_not_restored_while_a_reply_is_written(user):
    first = service.start_turn(user.user_id, "one")
    _finish(first)
    again = service.regenerate(user.user_id, first.reply.message_id)
    db.session.commit()
    with pytest.raises(Conflict, match="Stop it first"):
        service.restore_version(user.user_id, again.reply.message_id, first.reply.message_id)


def test_only_an_unfinished_reply_is_retried_and_only_a_finished_one_regenerated(user):
    first = service.start_turn(user.user_id, "one")
    db.session.commit()
    for act in (service.retry_turn, service.regenerate):
        with pytest.raises(Conflict):
            act(user.user_id, first.reply.message_id)
        db.session.rollback()
    _finish(first, "interrupted")
    second = service.retry_turn(user.user_id, first.reply.message_id)
    _finish(second)
    with pytest.raises(Conflict):
        service.retry_turn(user.user_id, second.reply.message_id)
    shown = [row.message_id for row in messages.current_messages(first.conversation.conversation_id)]
    assert shown == [first.question.message_id, second.reply.message_id]


def test_a_change_abandons_the_replies_being_written_after_it(user):
    first = service.start_turn(user.user_id, "one")
    _finish(first)
    later = service.start_turn(user.user_id, "two", conversation_id=first.conversation.conversation_id)
    db.session.commit()
    again = service.regenerate(user.user_id, first.reply.message_id)
    assert list(again.abandoned) == [later.reply.message_id]
    db.session.commit()
    edited = service.edit_message(user.user_id, first.question.message_id, "two")
    db.session.commit()
    assert list(edited.abandoned) == [again.reply.message_id]
    assert edited.question.custom_payload == first.question.custom_payload


def test_a_conversation_with_versions_and_its_user_can_be_deleted(user):
    kept = [service.start_turn(user.user_id, "one") for _ in range(2)]
    for first in kept:
        _finish(first)
        _finish(service.edit_message(user.user_id, first.question.message_id, "two"))
    delete_conversation(user.user_id, kept[0].conversation.conversation_id)
    db.session.commit()
    db.session.delete(db.session.get(User, user.user_id))
    db.session.commit()
    assert db.session.query(Message).count() == 0
