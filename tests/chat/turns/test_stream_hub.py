"""What viewers get of a turn, from its writer in the same process, from the stream, and while one takes over."""

import pytest
from hypothesis import given, strategies as st
from redis import Redis

from tests.chat.helpers import deltas, parse
from webapp.chat import sse
from webapp.chat.turns import turnlog
from webapp.chat.turns.stream_hub import Hub, Subscription
from webapp.chat.turns.turnlog import Cursor, Entry, fields, log_key
from webapp.config import Settings
from webapp.extensions import make_redis

TURN = 7
END = {"message": {"content": "done"}}


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


def test_an_own_turn_is_brought_by_its_writer_and_not_read(hub, redis):
    hub.own(TURN)
    with hub.subscribe(TURN) as viewer:
        begun = append(redis, "turn", {})
        assert viewer.get(0.3) is None, "nobody reads the stream"
        hub.hand_over(TURN, [begun])
        hub.hand_over(TURN, [append(redis, "delta", {"text": "a"})])
        assert kinds(viewer, 2) == ["turn", "delta"]
    assert hub.viewers == 0
    assert not hub.release(TURN), "nobody is left to read for"


def test_a_viewer_who_comes_later_reads_what_was_before_and_gets_nothing_twice(hub, redis):
    hub.own(TURN)
    begun, said = append(redis, "turn", {}), append(redis, "delta", {"text": "a"})
    hub.hand_over(TURN, [begun])
    with hub.subscribe(TURN) as viewer, hub.subscribe(TURN, after=begun.id) as resumed:
        hub.hand_over(TURN, [said])  # both have read it from the stream already
        hub.hand_over(TURN, [append(redis, "done", END)])
        assert kinds(viewer, 3) == ["turn", "delta", "done"]
        assert kinds(resumed, 2) == ["delta", "done"]


def test_a_viewer_who_comes_before_redis_has_an_entry_gets_it_all_the_same(hub, redis):
    hub.own(TURN)
    hub.hand_over(TURN, [append(redis, "turn", {})])
    unwritten = Entry("9999999999999-0", "delta", {"text": "a"})
    hub.hand_over(TURN, [unwritten], waiting := [unwritten])
    with hub.subscribe(TURN) as viewer, hub.subscribe(TURN, after=unwritten.id) as resumed:
        assert kinds(viewer, 2) == ["turn", "delta"] and resumed.get(0) is None
        redis.xadd(log_key(TURN), fields("delta", {"text": "a"}), id=unwritten.id)
        waiting.clear()
        with hub.subscribe(TURN) as later:
            assert kinds(later, 2) == ["turn", "delta"]


@pytest.mark.parametrize("begun", [True, False])
def test_after_its_writer_the_reader_brings_what_jobs_say(hub, redis, begun):
    hub.own(TURN)
    with hub.subscribe(TURN) as viewer:
        entries = [append(redis, "turn", {}), append(redis, "done", END)]
        if begun:
            hub.hand_over(TURN, entries)
        append(redis, "title", {"title": "Tides"})  # before the reader has taken over
        assert hub.release(TURN)
        hub.wake()
        hub.hand_over(TURN, [Entry("9999999999999999-0", "late", {})])  # nobody's any more
        append(redis, "settled", {})
        assert kinds(viewer, 4) == ["turn", "done", "title", "settled"]


def test_a_turn_of_another_process_is_read(hub, redis):
    append(redis, "turn", {})
    with hub.subscribe(TURN) as viewer:
        append(redis, "delta", {"text": "a"})
        hub.own(TURN)  # and it makes no difference if it begins here, too
        hub.hand_over(TURN, [append(redis, "delta", {"text": "b"}, 1)])
        assert not hub.release(TURN)
        append(redis, "done", END)
        assert kinds(viewer, 4) == ["turn", "delta", "delta", "done"]


TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@st.composite
def logs(draw: st.DrawFn) -> tuple[str, list[Entry]]:
    """A reply, and a stream as the writer may leave it: repeated pieces, and begun anew after a loss."""
    text = draw(TEXT)
    written, number = 0, 1
    entries = [Entry("1-0", "turn", {})]
    while written < len(text):
        number += 1
        step = draw(st.sampled_from(["delta", "again", "lost"]))
        end = draw(st.integers(written + 1, len(text)))
        if step == "lost":
            entries += [Entry(f"{number}-0", "turn", {}), Entry(f"{number}-1", "snapshot", {"text": text[:end]})]
        else:
            entries.append(Entry(f"{number}-0", "delta", {"text": text[written:end]}, written))
            if step == "again":
                entries.append(Entry(f"{number}-1", "delta", {"text": text[written:end]}, written))
        written = end
    entries.append(Entry(f"{number + 1}-0", "done", {"message": {"content": text}}))
    return text, entries


@given(logs())
def test_deltas_are_the_reply_from_every_cursor(log):
    text, entries = log
    assert turnlog.text_of(entries) == text
    events = parse(b"".join(sse.json_events(entries)).decode())
    assert deltas(events) == text
    assert [e.name for e in events].count("turn") == [e.name for e in events].count("done") == 1
    assert all(event.id for event in events), "every event can be resumed from"
    for seen in range(len(events)):
        cursor = Cursor.parse(events[seen].id)
        rest = [item for item in entries if turnlog.order(item.id) > turnlog.order(cursor.id)]
        more = parse(b"".join(sse.json_events(rest, seen=cursor.length or 0, resumed=True)).decode())
        assert deltas(events[: seen + 1]) + deltas(more) == text
        assert [e.name for e in (*events[: seen + 1], *more)].count("done") == 1


@given(logs(), st.integers(0, 40))
def test_a_stream_cut_anywhere_is_completed_from_the_tables(log, cut):
    text, entries = log
    told = [*entries[:cut], Entry("0-3", "done", {"message": {"content": text}})]
    events = parse(b"".join(sse.json_events(told)).decode())
    assert deltas(events) == text and all(event.id for event in events)
    stored = [Entry("0-1", "turn", {}), *([Entry("0-2", "delta", {"text": text})] if text else []), told[-1]]
    for seen in range(len(events) - 1):
        cursor = Cursor.parse(events[seen].id)
        rest = [item for item in stored if turnlog.order(item.id) > turnlog.order(cursor.id)] or stored[-1:]
        more = parse(b"".join(sse.json_events(rest, seen=cursor.length or 0, resumed=True)).decode())
        assert deltas(events[: seen + 1]) + deltas(more) == text and more[-1].name == "done"


@given(st.text(max_size=50))
def test_any_text_is_a_cursor_or_the_beginning(text):
    cursor = Cursor.parse(text)
    assert cursor.id == "" or turnlog.order(cursor.id) >= (0, 0)
    assert Cursor.parse(None) == Cursor("", None)


def test_entries_survive_redis(app):
    client = app.extensions["redis"]
    for kind, data in (("turn", {"a": 1}), ("delta", {"text": "é\n🌊\r"}), ("done", {"message": {"content": "x"}})):
        client.xadd(turnlog.log_key(1), turnlog.fields(kind, data, 7 if kind == "delta" else 0))
    found = turnlog.read(client, 1)
    assert [(e.kind, e.data, e.offset) for e in found] == [
        ("turn", {"a": 1}, 0),
        ("delta", {"text": "é\n🌊\r"}, 7),
        ("done", {"message": {"content": "x"}}, 0),
    ]
    assert turnlog.read(client, 1, found[0].id) == found[1:]
    assert turnlog.read(client, 1, last_id=found[1].id) == found[:2]
    turnlog.report(client, 2, "title", {})
    assert not client.exists(turnlog.log_key(2)), "nobody reads a stream that is gone"


def test_the_last_job_settles_and_only_once(app):
    client = app.extensions["redis"]
    client.xadd(turnlog.log_key(1), turnlog.fields("turn", {}))
    turnlog.note_pending_jobs(client, 1, ["title", "extract"])
    for job in ("title", "title", "unknown"):
        turnlog.settle(client, 1, job)
    assert [e.kind for e in turnlog.read(client, 1)] == ["turn"]
    for _ in range(2):
        turnlog.settle(client, 1, "extract")
    assert [e.kind for e in turnlog.read(client, 1)] == ["turn", "settled"]
