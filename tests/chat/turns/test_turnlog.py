"""The entries of a turn's stream, and the events made of them: any prefix, any repetition, any loss of the stream."""

from flask import Flask
from hypothesis import given
from hypothesis import strategies as st

from tests.chat.helpers import deltas, parse
from webapp.chat import sse
from webapp.chat.turns import turnlog
from webapp.chat.turns.turnlog import Cursor, Entry

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
def test_deltas_are_the_reply_from_every_cursor(log: tuple[str, list[Entry]]) -> None:
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
def test_a_stream_cut_anywhere_is_completed_from_the_tables(log: tuple[str, list[Entry]], cut: int) -> None:
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
def test_any_text_is_a_cursor_or_the_beginning(text: str) -> None:
    cursor = Cursor.parse(text)
    assert cursor.id == "" or turnlog.order(cursor.id) >= (0, 0)
    assert Cursor.parse(None) == Cursor("", None)


def test_entries_survive_redis(app: Flask) -> None:
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


def test_the_last_job_settles_and_only_once(app: Flask) -> None:
    client = app.extensions["redis"]
    client.xadd(turnlog.log_key(1), turnlog.fields("turn", {}))
    turnlog.owe(client, 1, ["title", "extract"])
    for job in ("title", "title", "unknown"):
        turnlog.settle(client, 1, job)
    assert [e.kind for e in turnlog.read(client, 1)] == ["turn"]
    for _ in range(2):
        turnlog.settle(client, 1, "extract")
    assert [e.kind for e in turnlog.read(client, 1)] == ["turn", "settled"]
