"""What viewers get of a turn, from its writer in the same process, from the stream, and while one takes over."""

import pytest
from flask import Flask
from redis import Redis

from webapp.chat.turns.stream_hub import Hub, Subscription
from webapp.chat.turns.turnlog import Entry, fields, log_key
from webapp.config import Settings
from webapp.extensions import make_redis

TURN = 7
END = {"message": {"content": "done"}}


@pytest.fixture
def redis(app: Flask) -> Redis:
    return app.extensions["redis"]


@pytest.fixture
def hub(redis: Redis, settings: Settings) -> Hub:
    return Hub(redis, make_redis(settings.redis_url, tailing=True))


def append(client: Redis, kind: str, data: dict, offset: int = 0) -> Entry:
    """What a writer does: to the stream, whoever reads it."""
    return Entry(client.xadd(log_key(TURN), fields(kind, data, offset)).decode(), kind, data, offset)


def kinds(subscription: Subscription, count: int) -> list[str]:
    """The next so many entries, and that no other follows them at once."""
    found = [subscription.get(5) for _ in range(count)]
    assert subscription.get(0) is None
    return [item.kind if item is not None else "" for item in found]


def test_an_own_turn_is_brought_by_its_writer_and_not_read(hub: Hub, redis: Redis) -> None:
    hub.own(TURN)
    with hub.subscribe(TURN) as viewer:
        begun = append(redis, "turn", {})
        assert viewer.get(0.3) is None, "nobody reads the stream"
        hub.hand_over(TURN, [begun])
        hub.hand_over(TURN, [append(redis, "delta", {"text": "a"})])
        assert kinds(viewer, 2) == ["turn", "delta"]
    assert hub.viewers == 0
    assert not hub.disown(TURN), "nobody is left to read for"


def test_a_viewer_who_comes_later_reads_what_was_before_and_gets_nothing_twice(hub: Hub, redis: Redis) -> None:
    hub.own(TURN)
    begun, said = append(redis, "turn", {}), append(redis, "delta", {"text": "a"})
    hub.hand_over(TURN, [begun])
    with hub.subscribe(TURN) as viewer, hub.subscribe(TURN, after=begun.id) as resumed:
        hub.hand_over(TURN, [said])  # both have read it from the stream already
        hub.hand_over(TURN, [append(redis, "done", END)])
        assert kinds(viewer, 3) == ["turn", "delta", "done"]
        assert kinds(resumed, 2) == ["delta", "done"]


def test_a_viewer_who_comes_before_redis_has_an_entry_gets_it_all_the_same(hub: Hub, redis: Redis) -> None:
    hub.own(TURN)
    hub.hand_over(TURN, [append(redis, "turn", {})])
    hub.confirm(TURN, 1)
    unwritten = Entry("9999999999999-0", "delta", {"text": "a"})
    hub.hand_over(TURN, [unwritten])
    with hub.subscribe(TURN) as viewer, hub.subscribe(TURN, after=unwritten.id) as resumed:
        assert kinds(viewer, 2) == ["turn", "delta"] and resumed.get(0) is None
        redis.xadd(log_key(TURN), fields("delta", {"text": "a"}), id=unwritten.id)
        hub.confirm(TURN, 1)
        with hub.subscribe(TURN) as later:
            assert kinds(later, 2) == ["turn", "delta"]


@pytest.mark.parametrize("begun", [True, False])
def test_after_its_writer_the_reader_brings_what_jobs_say(hub: Hub, redis: Redis, begun: bool) -> None:
    hub.own(TURN)
    with hub.subscribe(TURN) as viewer:
        entries = [append(redis, "turn", {}), append(redis, "done", END)]
        if begun:
            hub.hand_over(TURN, entries)
        append(redis, "title", {"title": "Tides"})  # before the reader has taken over
        assert hub.disown(TURN)
        hub.wake()
        hub.hand_over(TURN, [Entry("9999999999999999-0", "late", {})])  # nobody's any more
        append(redis, "settled", {})
        assert kinds(viewer, 4) == ["turn", "done", "title", "settled"]


def test_a_turn_of_another_process_is_read(hub: Hub, redis: Redis) -> None:
    append(redis, "turn", {})
    with hub.subscribe(TURN) as viewer:
        append(redis, "delta", {"text": "a"})
        hub.own(TURN)  # and it makes no difference if it begins here, too
        hub.hand_over(TURN, [append(redis, "delta", {"text": "b"}, 1)])
        assert not hub.disown(TURN)
        append(redis, "done", END)
        assert kinds(viewer, 4) == ["turn", "delta", "delta", "done"]
