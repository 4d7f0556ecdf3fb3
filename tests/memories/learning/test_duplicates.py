"""The nightly look at what may say the same: one call a person, never twice the same pair, nothing lost."""

import numpy as np
import pytest

from tests.memories.conversing import current, memories_of
from tests.support.interleaving import killed_at
from tests.support.queries import change_row
from webapp.accounts.models import User
from webapp.background import job_specs
from webapp.db.base import add_row, db, now, write_transaction
from webapp.llm.errors import ModelError
from webapp.memories.history import change_sets, revisions
from webapp.memories.learning import duplicates
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryChanges
from webapp.memories.service import update_memories
from webapp.memories.store import forgetting
from webapp.memories.store.journal import Journal, statement_hash
from webapp.memories.store.reach import lock_affected_conversations

CAR = ("Drives an electric car", "Goes about in an electric car")
HOUSE = ("Bought a house by the lake", "Sold a house by the lake")


def near(number: int) -> np.ndarray:
    """A vector; those of one tens are .95 and nearer to each other, and far from all others."""
    vector = np.zeros(40, np.float32)
    vector[number // 10] = 1
    vector[20 + number % 10] = 0.2
    return vector / np.linalg.norm(vector)


@pytest.fixture
def keep(app):
    """`keep(user_id, (text, number), …, **fields)`: memories as extraction leaves them; their ids."""

    def make(user_id: int, *items: tuple[str, int], **fields) -> list[int]:
        with app.app_context(), write_transaction():
            journal = Journal(user_id, "extraction")
            rows = []
            for text, number in items:
                values = {"memory_type": "fact", "origin": "extraction", "embedding_model": "test"} | fields
                values["statement_hash"] = statement_hash(text)
                row = add_row(Memory(user_id=user_id, content=text, embedding=near(number).tobytes(), **values))
                journal.record_creation(row)
                rows.append(row)
            journal.close({"added": len(rows)})
            return [row.memory_id for row in rows]

    return make


def questions(model) -> list[str]:
    return [call["messages"][-1]["content"] for call in model.calls() if call["schema"] == "same_memories"]


def nightly(app, run_jobs, **wishes) -> None:
    job_specs.push(app.extensions["redis"], job_specs.JobRequest("tidying"))
    run_jobs(**wishes)


def test_of_two_that_say_the_same_one_is_set_aside_and_can_be_had_back(app, client, user, model, keep, run_jobs):
    keep(user.user_id, (CAR[0], 1), (CAR[1], 2), (HOUSE[0], 11), (HOUSE[1], 12), ("Plays the cello", 31))
    model.script(match="same_memories", respond=lambda body: {"structured": {"same": [number_of(body, "electric")]}})
    nightly(app, run_jobs)
    (question,) = questions(model)
    assert question.count("\n") == 1 and "cello" not in question
    assert set(current(app, user.user_id)) == {CAR[1], *HOUSE, "Plays the cello"}
    change = client.get("/api/memories/changes").json["changes"][0]
    assert change["cause"] == "tidied" and change["counts"] == {"tidied": 1}
    assert client.post(f"/api/memories/changes/{change['change_set_id']}/undo").status_code == 200
    assert len(current(app, user.user_id)) == 5
    nightly(app, run_jobs)
    assert len(current(app, user.user_id)) == 5 and len(questions(model)) == 1, "nor is it set aside the next night"


def test_of_two_that_deny_each_other_the_earlier_waits_for_the_user_once(
    app, client, user, model, keep, run_jobs, monkeypatch
):
    keep(user.user_id, ("Eats meat", 1))
    keep(user.user_id, ("Eats no meat", 2), memory_type="preference")
    keep(user.user_id, ("Drinks tea", 11), origin="user")
    keep(user.user_id, ("Drinks no tea", 12))
    keep(user.user_id, (HOUSE[0], 21), (HOUSE[1], 22), (CAR[0], 31))
    keep(user.user_id, (CAR[1], 32), memory_type="preference")

    def compare(body: dict) -> dict:
        meat, tea, house, car = (number_of(body, word) for word in ("meat", "tea", "house", "car"))
        return {"structured": {"same": [house, car], "contrary": [meat, tea, house, 9]}}

    monkeypatch.setattr(duplicates, "MAX_QUESTIONS", 1)
    for answer in ({"respond": compare}, {"structured": {"same": [], "contrary": [1]}}):
        model.script(match="same_memories", **answer)
        nightly(app, run_jobs)
    assert questions(model)[1].count("\n") == 0 and "tea" in questions(model)[1], "what was not asked about yet"
    asked = client.get("/api/proposals?kind=conflict").json["proposals"]
    found = {frozenset((item["memory"]["content"], item["replaces"]["content"])) for item in asked}
    assert found == {frozenset(("Eats meat", "Eats no meat")), frozenset(("Drinks tea", "Drinks no tea"))}
    kept = {"Eats no meat", "Drinks tea", *HOUSE, *CAR}
    assert set(current(app, user.user_id)) == kept, "what is of two kinds, or both the same and contrary, stays"
    for change in client.get("/api/memories/changes").json["changes"][:2]:
        assert (change["cause"], change["counts"]) == ("contrary", {"disputed": 1})
        assert client.post(f"/api/memories/changes/{change['change_set_id']}/undo").status_code == 200
    nightly(app, run_jobs)
    assert len(questions(model)) == 2 and len(current(app, user.user_id)) == 8, "nor is it asked about the next night"


def test_what_the_user_had_back_is_not_set_aside_the_next_night(app, client, user, model, keep, run_jobs):
    ids = [*keep(user.user_id, (CAR[0], 1)), *keep(user.user_id, (CAR[1], 2))]
    for is_archived in (True, False):
        with app.app_context(), write_transaction():
            changed = update_memories(user.user_id, ids[1:], MemoryChanges(is_archived=is_archived), cause="archived")
    model.script(match="same_memories", structured={"same": [1]})
    nightly(app, run_jobs)
    (aside,) = [row.memory_id for row in memories_of(app, user.user_id) if row.is_archived]
    twin = keep(user.user_id, (CAR[1], 2), valid_to=now())
    held: set[int] = set()
    hold = lock_affected_conversations.connected_to(lambda _sender, memory_ids, **_: held.update(memory_ids))
    with app.app_context(), hold, write_transaction():
        assert forgetting.forget(user.user_id, {*ids} - {aside}).memory_ids == [*ids, *twin], (
            "what says the same goes, too"
        )
        assert held == {*ids}, "and what it reaches is locked before the memory is"
        db.session.rollback()
        assert forgetting.forget(user.user_id, twin).memory_ids == [*ids, *twin], "nor does it stay behind another"
        db.session.rollback()
        (kept,) = {*ids} - {aside}
        change_sets.undo(user.user_id, revisions.revisions_of(user.user_id, kept)[0].change_set_id)
        assert not db.session.get(Memory, aside).is_archived, "nor is it lost with what it was set aside for"
        db.session.rollback()
        change_sets.undo(user.user_id, changed)
        assert [db.session.get(Memory, number).is_archived for number in (aside, kept)] == [False, True]
        db.session.rollback()
    assert aside in ids and client.put(f"/api/memories/{aside}", json={"is_archived": False}).status_code == 200
    nightly(app, run_jobs)
    assert len(current(app, user.user_id)) == 2 and len(questions(model)) == 1


def number_of(body: dict, word: str) -> int:
    lines = body["messages"][-1]["content"].split("\n")
    return next(number for number, line in enumerate(lines, 1) if word in line)


def test_the_same_pairs_are_not_looked_at_the_next_night(app, user, model, keep, run_jobs):
    keep(user.user_id, (HOUSE[0], 11), (HOUSE[1], 12))
    model.script(match="same_memories", structured={"same": None})
    nightly(app, run_jobs)
    nightly(app, run_jobs)
    assert len(questions(model)) == 1 and len(current(app, user.user_id)) == 2
    keep(user.user_id, ("Sold that house by the lake", 13))
    nightly(app, run_jobs)
    assert len(questions(model)) == 2 and questions(model)[1].count("\n") == 1


def test_one_that_dies_midway_changes_nothing_and_is_done_the_next_time(app, user, model, keep, monkeypatch):
    keep(user.user_id, (CAR[0], 1), (CAR[1], 2))
    model.script(match="same_memories", structured={"same": [1]})
    with app.app_context(), killed_at("UPDATE memories"):
        duplicates.tidy(user.user_id)
    model.script(match="same_memories", structured={}, fault={"http_status": 401}, times=1)
    with app.app_context(), pytest.raises(ModelError):
        duplicates.tidy(user.user_id)
    assert len(current(app, user.user_id)) == 2, "nor does a model that fails"
    for is_on in (False, True):
        change_row(app, User, user.user_id, settings={"memory_enabled": is_on})
        before = len(questions(model))
        with app.app_context():
            found = [duplicates.tidy(user.user_id) for _ in range(2)]
        assert (found, len(questions(model)) - before) == (([1, 0], 1) if is_on else ([0, 0], 0)), "where memory is off"


def test_what_changed_while_the_model_read_stays(app, user, model, keep):
    first, second = keep(user.user_id, (CAR[0], 1), (CAR[1], 2))

    def edited_meanwhile(body: dict) -> dict:
        with app.app_context(), write_transaction():
            row = db.session.get(Memory, first)
            row.content = "Drives an electric car to work"
            Journal(user.user_id, "edited").record_change(row)
        return {"structured": {"same": [1]}}

    model.script(match="same_memories", respond=edited_meanwhile)
    with app.app_context():
        assert duplicates.tidy(user.user_id) == 0
    assert len(current(app, user.user_id)) == 2


def test_what_the_user_wrote_is_kept_and_never_set_aside(app, user, model, keep):
    keep(user.user_id, (CAR[0], 1), origin="user")
    keep(user.user_id, (CAR[1], 2))
    keep(user.user_id, (HOUSE[0], 11), (HOUSE[1], 12), origin="user")
    keep(user.user_id, ("Rents a boat", 31))
    keep(user.user_id, ("Has rented a boat", 32), until=now().date())
    chain = keep(user.user_id, *((f"Walked along the {word} path", n) for n, word in enumerate("abc", 21)))
    model.script(match="same_memories", structured={"same": [1, 2, 3, 4, 99]})
    with app.app_context():
        duplicates.tidy(user.user_id)
    aside = {row.memory_id: row.content for row in memories_of(app, user.user_id) if row.is_archived}
    assert CAR[1] in aside.values() and set(chain) - set(aside), "a chain loses not all of it"
    assert not {CAR[0], *HOUSE} & set(aside.values())
    (question,) = questions(model)
    assert "house" not in question and "boat" not in question, "one holds longer"


def test_a_night_is_one_bounded_call_a_person(app, user, make_user, model, keep, run_jobs):
    other = make_user()
    keep(user.user_id, *((f"Walked along the {word} path", 1) for word in "abcdefghijkl"))
    keep(other.user_id, (CAR[0], 1), (CAR[1], 2))
    model.script(match="same_memories", structured={"same": []})
    nightly(app, run_jobs)
    assert sorted(text.count("one:") for text in questions(model)) == [1, duplicates.MAX_PAIRS]
    assert not any("Walked" in text and "electric" in text for text in questions(model))


def test_of_very_many_alike_only_the_nearest_pairs_are_compared(app, user, model, keep, monkeypatch):
    keep(user.user_id, *((f"Walked along the {word} path", number) for number, word in enumerate("abcdefghij")))
    keep(user.user_id, ("Goes along the narrow path", 3))
    compared, may_be_same = [], duplicates.may_be_same
    monkeypatch.setattr(duplicates, "may_be_same", lambda *args: compared.append(args[2]) or may_be_same(*args))
    monkeypatch.setattr(duplicates, "MAX_COMPARED", 5)
    model.script(match="same_memories", structured={"same": []})
    with app.app_context():
        duplicates.tidy(user.user_id)
    assert len(compared) == 5 and compared[0] == max(compared) > 0.99
    (question,) = questions(model)
    assert "narrow" in question.split("\n")[0]
