"""What an index follows: numbered in the order of the commits, applied with few statements, pruned when old."""

import pytest
from sqlalchemy import select

from tests.support.queries import count_queries
from webapp.conversations.service import delete_conversation
from webapp.db.base import db, write_transaction
from webapp.retrieval import changes
from webapp.retrieval.cache import index_cache
from webapp.retrieval.changes import HISTORY, Change, Position
from webapp.retrieval.models import PassageChange
from webapp.retrieval.service import search

SAID = [("user", "The heron stood by the canal"), ("assistant", "Herons like canals.")]


def list_changes(user_id: int) -> list[tuple[int, str, int, int]]:
    rows = select(PassageChange.version, PassageChange.what, PassageChange.ref_id, PassageChange.from_id)
    return [tuple(row) for row in db.session.execute(rows.where(PassageChange.user_id == user_id))]


def test_every_change_has_the_number_it_was_counted_with(app, user):
    with app.app_context():
        with write_transaction():
            changes.note(user.user_id, Change("conversation", 7, 3))
        with write_transaction():
            changes.note(user.user_id, Change("memories", 1), Change("memories", 2))
        assert list_changes(user.user_id) == [(1, "conversation", 7, 3), (2, "memories", 1, 0), (2, "memories", 2, 0)]
        assert changes.position(user.user_id).version == 2


def test_old_changes_are_pruned_and_an_index_behind_them_is_built_anew(app, user, tell):
    talk = tell(user, SAID)
    with app.app_context():
        entry = index_cache().get(user.user_id, 20)
        before = entry.position
        for _ in range(3):
            with write_transaction():
                changes.note(user.user_id, Change("verdicts"))
        with write_transaction():
            changes.prune(user.user_id)
        assert len(list_changes(user.user_id)) >= 3
        with write_transaction():
            for _ in range(HISTORY):
                changes.note(user.user_id, Change("verdicts"))
            changes.prune(user.user_id)
        assert len(list_changes(user.user_id)) == HISTORY
        now = changes.position(user.user_id)
        assert not changes.news(user.user_id, before, now).complete
        again = index_cache().get(user.user_id, 20)
        assert again is not entry and again.position == now and ("message", talk.ids[0]) in again.index


def test_many_changed_conversations_are_read_at_once(app, user, tell):
    with app.app_context():
        index_cache().get(user.user_id, 20)
    talks = [tell(user, [("user", f"Remark number {number} about herons")]) for number in range(12)]
    with app.app_context():
        with count_queries() as queries:
            index = index_cache().get(user.user_id, 20).index
        assert all(("message", talk.ids[0]) in index for talk in talks)
        assert len(queries) <= 5
        with write_transaction():
            delete_conversation(user.user_id, talks[3].conversation_id)
        index = index_cache().get(user.user_id, 20).index
        assert ("message", talks[3].ids[0]) not in index and ("message", talks[4].ids[0]) in index
        assert [item.key for item in search(user.user_id, "herons number 4").items][0] == ("message", talks[4].ids[0])


def test_a_caller_that_is_behind_does_not_take_the_index_back(app, user, tell):
    with app.app_context():
        old = changes.position(user.user_id)
    talk = tell(user, SAID)
    with app.app_context():
        entry = index_cache().get(user.user_id, 20)
        there = entry.position
        assert there.is_past(old) and not old.is_past(there) and not there.is_past(there)
        assert index_cache().get(user.user_id, 20, old) is entry
        assert entry.position == there and ("message", talk.ids[0]) in entry.index


@pytest.mark.parametrize(
    ("later", "earlier", "past"),
    [
        (Position(2), Position(1), True),
        (Position(1, 5), Position(1, 4), True),
        (Position(1, 5, ((3, 2),)), Position(1, 5, ((3, 1),)), True),
        (Position(1, 5, ((3, 2),)), Position(1, 5), False),
        (Position(1, 5), Position(1, 5), False),
    ],
)
def test_positions_compare_by_what_only_grows(later, earlier, past):
    assert later.is_past(earlier) is past and not earlier.is_past(later)


def test_an_index_that_is_being_brought_up_to_date_is_used_as_it_is(app, user, tell):
    tell(user, SAID)
    with app.app_context():
        entry = index_cache().get(user.user_id, 20)
        before = entry.position
    tell(user, SAID)
    with app.app_context():
        with entry.lock:
            assert index_cache().get(user.user_id, 0) is entry
            assert entry.position == before
        assert index_cache().get(user.user_id, 20).position.is_past(before)
