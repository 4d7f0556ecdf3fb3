"""What a turn needs of a memory that has changed is there before it is asked for, and is never needed to be."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError

from testkit.people import ApiClient
from testkit.processes import wait_until
from tests.chat.test_stream import begin, wait_for_text
from tests.memories.prompt.test_always_used import add, fill
from tests.spaces.helpers import join, make_space
from tests.support.queries import count_queries
from webapp import loops
from webapp.chat.context import assembly
from webapp.chat.turns import read_ahead
from webapp.chat.turns.read_ahead import ReadAhead
from webapp.config import Settings
from webapp.conversations import messages
from webapp.conversations.models import Conversation
from webapp.db.base import add_row, db, now, write_transaction
from webapp.extensions import make_redis
from webapp.memories.store import forgetting
from webapp.redis.clients import open_redis
from webapp.retrieval import lookup
from webapp.retrieval.cache import Entry, index_cache
from webapp.retrieval.changes import CHANNEL, CHANNELS, GROWN, SPACES, Change, Position, announce, note, position
from webapp.spaces.signals import touch

QUESTION = "Which bird 7 did we see?"


class Calm:
    """Whether there is time, as a test wishes."""

    answer = True

    def __call__(self) -> bool:
        return self.answer


@pytest.fixture
def calm() -> Calm:
    return Calm()


@pytest.fixture
def keeper(app: Flask, settings: Settings, calm: Calm) -> ReadAhead:
    return ReadAhead(app, make_redis(settings.redis_url, tailing=True), calm)


class Told:
    """What is announced from now on. It waits for nothing that is not to come: an answer of Redis marks its end."""

    def __init__(self, channel: PubSub) -> None:
        self._channel, self._found = channel, list[Any]()

    def get_message(self, timeout: float = 0.0) -> Any:
        """The next that was announced by now, if any."""
        if not self._found:
            self._channel.ping()
            while (message := self._channel.get_message(timeout=20) or {}).get("type") != "pong":
                self._found += [message] if message else []
        return self._found.pop(0) if self._found else None


@pytest.fixture
def subscriber(app: Flask, settings: Settings) -> Iterator[Told]:
    with make_redis(settings.redis_url, tailing=True).pubsub(ignore_subscribe_messages=True) as channel:
        channel.subscribe(*CHANNELS)
        yield Told(channel)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test waits for nothing that is not to come, and its look-ups are not slow, however slow the machine."""
    monkeypatch.setattr(lookup, "FRESH_SECONDS", 60.0)
    monkeypatch.setattr(read_ahead, "LISTEN_SECONDS", 0.5)
    monkeypatch.setattr(read_ahead, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(read_ahead, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(read_ahead, "REST", 0)


def keep_up(keeper: ReadAhead, told: Told, times: int = 3) -> None:
    for _ in range(times):
        keeper.listen(told)
        keeper.work()


def received_ids(told: Told, channel: str = CHANNEL) -> list[int]:
    found: list[int] = []
    while message := told.get_message():
        if message["channel"].decode() == channel:
            found += map(int, message["data"].split(b","))
    return found


def turn(user_id: int, created_at: datetime | None = None) -> int:
    """A reply to be written, in a new conversation or in one that was begun at some time."""
    with write_transaction():
        conversation = add_row(Conversation(user_id=user_id, message_count=2, created_at=created_at or now()))
        _, reply = messages.add_exchange(conversation, QUESTION, parent_id=None)
        return int(reply.message_id)


def assemble_prompt(app: Flask, turn_id: int) -> tuple[str, list[str]]:
    """The prompt of a reply, and what was sent to the database for it."""
    with app.app_context(), count_queries() as sent:
        made = assembly.assemble(turn_id, app.extensions["settings"])
    return str(made.messages), sent


def test_a_turn_after_a_change_reads_no_more_than_one_before(app, user, keeper, subscriber):
    begun = now() - timedelta(hours=1)
    with app.app_context():
        fill(user.user_id, 40)
        index_cache().get(user.user_id, 20)
    for created_at in (None, begun):

        def next_turn(created_at: datetime | None = created_at) -> tuple[str, list[str]]:
            with app.app_context():
                turn_id = turn(user.user_id, created_at)
            return assemble_prompt(app, turn_id)

        next_turn()
        _, quiet = next_turn()
        with app.app_context():
            add(user.user_id, 7)
        _, lazy = next_turn()
        with app.app_context():
            add(user.user_id, 7)
            add(user.user_id, 8)
        keep_up(keeper, subscriber, times=1)
        prompt, prepared = next_turn()
        assert "Number 7 is a heron." in prompt and "Number 8 is a heron." in prompt
        # The facts that the question names are read from the table every time; nothing else of memory is. Which models
        # there are is read now and then, by the clock.
        named = [sent for sent in prepared if sent not in quiet and "model_connections" not in sent]
        of_memory = [sent for sent in lazy if sent not in quiet and "FROM memor" in sent]
        assert len(named) <= 1 and len(of_memory) <= 3, "which have changed, these, and the fact that is named"


def test_what_was_forgotten_leaves_the_memory_of_a_process_that_nobody_asks(app, user, keeper, subscriber):
    with app.app_context():
        add(user.user_id, 7)
        entry = index_cache().get(user.user_id, 20)
        assert entry is not None and len(entry.index) == 1
        memory_id = entry.index.keys_of("memory", 0)[0][1]
        with write_transaction():
            forgetting.forget(user.user_id, [memory_id])
        assert len(entry.index) == 1
    keep_up(keeper, subscriber, times=1)
    assert len(entry.index) == 0


@dataclass(frozen=True)
class Family:
    """Two members of a space, which is Ben's, somebody who is in none, and the index of each in this process."""

    anna: ApiClient
    ben: ApiClient
    space_id: int
    indexes: dict[str, Entry]

    def share(self, content: str) -> int:
        """Something Anna shares in the space; its id."""
        body = {"memory_type": "fact", "content": content, "space_id": self.space_id, "visibility": "shared"}
        answer = self.anna.post("/api/memories", json=body)
        assert answer.status_code == 201, answer.text
        return int(answer.get_json()["memory_id"])

    def keys(self, name: str) -> set[Any]:
        """What an index holds, as it is in this process now."""
        return {key[:2] for key in self.indexes[name].index.keys_of("memory", 0)}


@pytest.fixture
def family(app: Flask, api: Any, make_user: Any) -> Family:
    anna, ben, carl = (api(make_user(name=name)) for name in ("Anna", "Ben", "Carl"))
    space_id = make_space(ben, kind="project")
    join(ben, space_id, anna)
    with app.app_context():
        found = {client.person.name: index_cache().get(client.person.user_id, 20) for client in (anna, ben, carl)}
    return Family(anna, ben, space_id, {name: entry for name, entry in found.items() if entry})


def test_what_others_share_in_a_space_is_there_before_anybody_asks(app, family, keeper, subscriber):
    shared = family.share("Sails a red boat")
    assert family.keys("Ben") == set()
    with app.app_context(), count_queries() as sent:
        keep_up(keeper, subscriber)
    assert family.keys("Ben") == family.keys("Anna") == {("memory", shared)}
    carl = family.indexes["Carl"]
    assert carl.position == Position() and sent, "nothing is read of somebody who is not in the space"
    answer = family.anna.put(f"/api/memories/{shared}", json={"content": "Sails a blue boat"})
    assert answer.status_code == 200, answer.text
    keep_up(keeper, subscriber)
    with app.app_context():
        assert family.indexes["Ben"].position == position(family.ben.person.user_id)


@pytest.mark.parametrize("how", ["forgotten", "withdrawn", "archived", "left"])
def test_what_is_no_longer_shared_leaves_the_indexes_of_others(family, keeper, subscriber, how):
    shared = family.share("Sails a red boat")
    keep_up(keeper, subscriber)
    assert family.keys("Ben") == {("memory", shared)}
    if how == "left":
        answer = family.anna.delete(f"/api/spaces/{family.space_id}/members/{family.anna.person.user_id}")
    elif how == "withdrawn":
        answer = family.anna.put(f"/api/memories/{shared}", json={"visibility": "private"})
    else:
        answer = family.anna.delete(f"/api/memories/{shared}" + "?archive=true" * (how == "archived"))
    assert answer.status_code in (200, 204), answer.text
    keep_up(keeper, subscriber)
    assert family.keys("Ben") == set()


def test_a_shared_memory_gets_its_vector_in_the_indexes_of_others(app, family, keeper, subscriber, run_jobs):
    family.share("Sails a red boat")
    keep_up(keeper, subscriber)
    assert not family.indexes["Ben"].index.generations
    run_jobs()
    keep_up(keeper, subscriber)
    assert family.indexes["Ben"].index.generations


def test_what_is_private_in_a_space_concerns_nobody_else(family, subscriber):
    body = {"memory_type": "fact", "content": "Sails a green boat", "space_id": family.space_id}
    made = family.anna.post("/api/memories", json=body).get_json()["memory_id"]
    assert family.anna.put(f"/api/memories/{made}", json={"content": "Sails a grey boat"}).status_code == 200
    assert family.anna.delete(f"/api/memories/{made}").status_code == 200
    assert received_ids(subscriber, SPACES) == []


def test_spaces_are_announced_once_a_commit_and_without_a_statement(app, family, subscriber):
    other = make_space(family.anna, kind="project")
    received_ids(subscriber)
    with app.app_context(), write_transaction(), count_queries() as sent:
        for space_id in (other, family.space_id, other):
            touch(space_id)
        db.session.commit()
    assert [statement.split()[0] for statement in sent if "space_versions" in statement] == ["UPDATE"] * 2
    assert len([statement for statement in sent if not statement.startswith(("BEGIN", "COMMIT"))]) == 2
    assert received_ids(subscriber, SPACES) == sorted([other, family.space_id])
    with app.app_context():
        touch(other)
        db.session.rollback()
    assert received_ids(subscriber, SPACES) == []


def test_it_waits_until_there_is_time(app, user, keeper, subscriber, calm):
    with app.app_context():
        entry = index_cache().get(user.user_id, 20)
        assert entry is not None
        before = entry.position
        calm.answer = False
        add(user.user_id, 7)
        keep_up(keeper, subscriber, times=1)
        assert entry.position == before
        calm.answer = True
        keep_up(keeper, subscriber, times=1)
        assert entry.position == position(user.user_id) != before


def test_there_is_time_while_replies_are_streaming_but_not_before_their_first_words(app, client, model):
    runner = app.extensions["chat"].runner
    assert runner.has_spare_time
    model.script(reply="a slow one that goes on", first_delay=0.6, token_delay=0.3)
    turn_id = begin(client)
    assert not runner.has_spare_time
    wait_for_text(app, turn_id)
    assert runner.has_spare_time and runner.active
    wait_until(lambda: runner.active == 0, "the turn")
    assert runner.has_spare_time


@pytest.mark.parametrize(("knows", "much", "reads"), [(False, 0, False), (True, 1, False), (True, 0, True)])
def test_nothing_is_read_of_people_this_process_knows_little_of(
    app, user, keeper, subscriber, monkeypatch, knows, much, reads
):
    """Whatever leaves their memory is read in any case; what is added, by their next turn."""
    monkeypatch.setattr(read_ahead, "LARGE_INDEX", much)
    with app.app_context():
        if knows:
            index_cache().get(user.user_id, 20)
        with write_transaction():
            note(user.user_id, Change("conversation", 3, 7), channel=GROWN)
    with app.app_context(), count_queries() as sent:
        keep_up(keeper, subscriber, times=1)
    assert bool(sent) is reads


def test_an_index_that_has_to_be_rebuilt_is_left_to_whoever_asks(app, user, keeper, subscriber):
    with app.app_context():
        entry = index_cache().get(user.user_id, 20)
        with write_transaction():
            note(user.user_id, Change("memories"))
        keep_up(keeper, subscriber, times=1)
        assert index_cache().peek(user.user_id) is entry and not index_cache()._building


def test_only_what_is_committed_is_announced_and_once(app, user, subscriber):
    with app.app_context():
        announce(user.user_id)
        db.session.rollback()
        assert received_ids(subscriber) == []
        with write_transaction():
            note(user.user_id, Change("verdicts"))
            note(user.user_id, Change("conversation", 3))
            announce(user.user_id)
        assert received_ids(subscriber) == [user.user_id]


def test_a_change_stands_although_nobody_can_be_told(app, user, monkeypatch):
    def away(*_given: Any) -> None:
        raise RedisConnectionError("away")

    with app.app_context():
        monkeypatch.setattr(app.extensions["redis"], "publish", away)
        add(user.user_id, 7)
        assert position(user.user_id).memory_version == 1


def test_a_process_that_keeps_nothing_does_not_connect(app, user, calm, monkeypatch):
    index_cache.of(app).drop()
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            with app.app_context():
                index_cache().get(user.user_id, 20)

    def connect(**_options: Any) -> None:
        raise SystemExit  # the end of the test

    monkeypatch.setattr(read_ahead, "time", SimpleNamespace(sleep=wait))
    with pytest.raises(SystemExit):
        ReadAhead(app, SimpleNamespace(pubsub=connect), calm).run()
    assert waited == [read_ahead.BEGIN_SECONDS] * 3


def test_it_listens_again_once_redis_is_back_and_survives_what_goes_wrong(app, user, keeper, monkeypatch, caplog):
    monkeypatch.setattr(read_ahead, "RETRY_SECONDS", 0.0)
    caplog.set_level(logging.WARNING)
    tried: list[str] = []
    listen = keeper.listen

    def listens(told: Told) -> None:
        tried.append("listen")
        if len(tried) == 1:
            raise RedisConnectionError("away")
        if len(tried) > 20 or (entry and entry.position.memory_version):
            raise SystemExit  # the end of the test's thread
        listen(told)

    monkeypatch.setattr(keeper, "listen", listens)
    has_broken = threading.Event()
    real = index_cache.of(app).catch_up

    def catches_up(user_id: int) -> None:
        if not has_broken.is_set():
            has_broken.set()
            raise RuntimeError("broken")
        real(user_id)

    monkeypatch.setattr(index_cache.of(app), "catch_up", catches_up)
    with app.app_context():
        entry = index_cache().get(user.user_id, 20)

    def run() -> None:
        with suppress(SystemExit):
            keeper.run()

    thread = threading.Thread(target=run)
    thread.start()
    wait_until(lambda: len(tried) > 2, "it to listen again")
    with app.app_context():
        add(user.user_id, 7)
        assert has_broken.wait(10)
        add(user.user_id, 8)
    thread.join(20)
    assert entry is not None and entry.position.memory_version
    assert [record.message for record in caplog.records if record.name == read_ahead.__name__] == [
        "changes of memory are not heard of, retrying",
        "memory was not read ahead",
    ]


def test_where_it_may_not_listen_it_says_so_once_and_goes_on_asking(
    app, user, silent_redis_url, servers, calm, monkeypatch, caplog
):
    """An ACL user has no channel by default in Redis 7, and the log had a warning every two seconds."""
    caplog.set_level(logging.WARNING)
    keeper = ReadAhead(app, make_redis(silent_redis_url, tailing=True), calm)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            with open_redis(servers.redis_url) as client:
                client.execute_command("ACL", "SETUSER", "silent", "allchannels")

    def work() -> None:
        raise SystemExit  # it has listened: the end of the test

    monkeypatch.setattr(loops, "time", SimpleNamespace(sleep=wait, monotonic=time.monotonic))
    monkeypatch.setattr(keeper, "work", work)
    with app.app_context():
        index_cache().get(user.user_id, 20)
    with pytest.raises(SystemExit):
        keeper.run()
    assert waited == [read_ahead.RETRY_SECONDS] * 3
    (said,) = [record for record in caplog.records if record.name == read_ahead.__name__]
    assert said.message == "changes of memory are not heard of, retrying"
    assert said.error == "NoPermissionError"  # type: ignore[attr-defined]


def test_a_change_stands_where_it_may_not_be_announced(app, user, silent_redis_url, monkeypatch):
    with app.app_context(), make_redis(silent_redis_url) as silent:
        monkeypatch.setitem(app.extensions, "redis", silent)
        add(user.user_id, 7)
        assert position(user.user_id).memory_version == 1
