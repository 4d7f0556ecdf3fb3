"""The keys of facts: read with the index by whoever comes first, while everybody else's turns go on."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from testkit.people import Person
from webapp.db.base import write_transaction
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.retrieval import cache
from webapp.retrieval.cache import index_cache
from webapp.retrieval.changes import Position, position
from webapp.retrieval.lookup import Lookup, Question

SECONDS = 20


def keep(app: Flask, person: Person, colour: str) -> Position:
    """A fact about this colour; where memory stands with it."""
    fields = MemoryFields(memory_type="fact", content=f"Likes {colour}.", fact_key=f"preference/{colour}_colour")
    with app.app_context():
        with write_transaction():
            create_memory(person.user_id, fields)
        return position(person.user_id)


@pytest.fixture
def ask(app: Flask) -> Iterator[Callable[..., Future[list[str]]]]:
    """`ask(person, text, at)`: the facts that a turn names, looked up in a thread of its own as turns are."""
    with ThreadPoolExecutor(4) as threads:

        def find_facts(person: Person, text: str, at: Position, wait: float = SECONDS) -> list[str]:
            with app.app_context():
                return [item.content for item in Lookup(Question(person.user_id, text), wait, at)._facts]

        yield lambda *asked: threads.submit(find_facts, *asked)


class SlowReads:
    """Holds up the reading of one user's keys until `go` is set; counts all readings by user."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, user_id: int) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self.read: list[int] = []
        real = cache.read_keys

        def slow(of: int) -> Any:
            self.read.append(of)
            if of == user_id:
                self.began.set()
                assert self.go.wait(SECONDS)
            return real(of)

        monkeypatch.setattr(cache, "read_keys", slow)


def test_one_persons_slow_answer_holds_up_nobody_else(app, make_user, ask, monkeypatch):
    slow, other, new = (make_user() for _ in range(3))
    stood = {person: keep(app, person, "teal") for person in (slow, other, new)}
    assert ask(other, "My teal colour?", stood[other]).result(SECONDS) == ["Likes teal."]
    at = keep(app, other, "plum")
    reads = SlowReads(monkeypatch, slow.user_id)
    waiting = ask(slow, "My teal colour?", stood[slow])
    try:
        assert reads.began.wait(SECONDS)
        assert ask(other, "My teal colour?", stood[other]).result(SECONDS) == ["Likes teal."]
        assert ask(other, "My plum colour?", at).result(SECONDS) == ["Likes plum."]
        assert ask(new, "My teal colour?", stood[new]).result(SECONDS) == ["Likes teal."]
        assert not waiting.done()
        assert ask(slow, "My teal colour?", stood[slow], 0.0).result(SECONDS) == ["Likes teal."], "nor for ever"
    finally:
        reads.go.set()
    assert waiting.result(SECONDS) == ["Likes teal."]


def test_two_turns_of_a_person_read_their_keys_once(app, user, ask, monkeypatch):
    at = keep(app, user, "teal")
    reads = SlowReads(monkeypatch, user.user_id)
    first = ask(user, "My teal colour?", at)
    assert reads.began.wait(SECONDS)
    second = ask(user, "My teal colour?", at)
    reads.go.set()
    assert first.result(SECONDS) == second.result(SECONDS) == ["Likes teal."]
    assert reads.read == [user.user_id]


def test_what_could_not_be_read_is_read_by_the_next(app, user, ask, monkeypatch):
    at = keep(app, user, "teal")
    assert ask(user, "My teal colour?", at).result(SECONDS) == ["Likes teal."]
    at = keep(app, user, "plum")
    with monkeypatch.context() as patch:
        patch.setattr(cache, "changed_memories", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ask(user, "My plum colour?", at).result(SECONDS)
    assert ask(user, "My plum colour?", at).result(SECONDS) == ["Likes plum."], "nor is a change lost"


def test_a_turn_that_began_before_a_change_does_not_have_all_keys_read_again(app, user, ask, monkeypatch):
    before = keep(app, user, "teal")
    after = keep(app, user, "plum")
    assert ask(user, "My plum colour?", after).result(SECONDS) == ["Likes plum."]
    reads = SlowReads(monkeypatch, 0)
    assert ask(user, "My teal colour?", before).result(SECONDS) == ["Likes teal."]
    assert ask(user, "My plum colour?", after).result(SECONDS) == ["Likes plum."]
    assert reads.read == []


def test_a_database_that_went_back_has_all_keys_read_again(app, user, ask):
    at = keep(app, user, "teal")
    assert ask(user, "My teal colour?", at).result(SECONDS) == ["Likes teal."]
    with app.app_context():
        entry = index_cache().get(user.user_id, 0, at)
        entry.position = replace(at, memory_version=at.memory_version + 5)
        entry.fact_keys.replace((), [(10**6, "preference/plum_colour")])
        assert ask(user, "My plum colour?", at).result(SECONDS) == []
        again = index_cache().peek(user.user_id)
    assert again.position.memory_version == again.always_used.version == at.memory_version
    assert again.fact_keys.matching_ids(frozenset({"plum", "colour"})) == []
