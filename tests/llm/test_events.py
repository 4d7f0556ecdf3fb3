"""The stream decoder, whatever the network does to the bytes."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from webapp.llm import chunks
from webapp.llm.answer_filter import AnswerFilter
from webapp.llm.chunks import LineSplitter
from webapp.llm.errors import MalformedOutput
from webapp.llm.events import Finish, ReasoningDelta, StreamDecoder, TextDelta
from webapp.llm.partial_calls import ToolCall
from webapp.llm.usage import Usage

CASES = json.loads(Path(__file__).with_name("odd_streams.json").read_text(encoding="utf-8"))
BREW = {"function": {"name": "brew", "parameters": {"properties": {"cups": {"type": "integer"}}}}}
texts = st.lists(st.text(max_size=12), min_size=1, max_size=8)
ends = st.sampled_from(["\n", "\r\n", "\r"])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    points = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in zip(points, points[1:], strict=False)]


def stream_of(pieces: list[str], end: str, ascii_only: bool, done: bool = True) -> bytes:
    events = [{"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    events += [{"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": len(pieces)}}]
    lines = [": comment"]
    for event in events:
        lines += ["event: message", f"data: {json.dumps(event, ensure_ascii=ascii_only)}", ""]
    if done:
        lines += ["data: [DONE]", ""]
    return (end.join(lines) + end).encode("utf-8", "surrogatepass")


@pytest.fixture
def decoder() -> StreamDecoder:
    """A new one."""
    return StreamDecoder()


@given(texts, ends, st.booleans(), st.booleans(), st.lists(st.integers(0, 5000), max_size=40))
def test_any_chunking_gives_the_same_text(pieces, end, ascii_only, done, places):
    pieces = [piece.encode("utf-8", "replace").decode() for piece in pieces]
    decoder = StreamDecoder()
    events = []
    for chunk in cut(stream_of(pieces, end, ascii_only, done), places):
        events += decoder.feed(chunk)
    events += decoder.end()
    assert decoder.error is None
    assert decoder.finished
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(pieces)
    assert events[-1] == Finish("stop", Usage(3, len(pieces)), None)
    assert sum(isinstance(event, Finish) for event in events) == 1


@given(st.binary(max_size=200), st.lists(st.integers(0, 300), max_size=20))
def test_lines_do_not_depend_on_the_chunks(data, places):
    def split(chunks):
        splitter = LineSplitter()
        found = [line for chunk in chunks for line in splitter.feed(chunk)]
        return found, splitter.rest()

    assert split(cut(data, places)) == split([data])


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=20))
def test_noise_never_raises(data, places):
    decoder = StreamDecoder()
    for chunk in cut(data, places):
        decoder.feed(chunk)
    decoder.end()


@pytest.mark.parametrize(("sent", "seen"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_odd_stream_is_understood(sent, seen):
    chunks = [chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}\n\n" for chunk in sent]
    decoder, answer = StreamDecoder(), AnswerFilter([BREW])
    received = [*decoder.feed("".join(chunks).encode()), *decoder.end()]
    events = [part for event in received for part in answer.feed(event)]

    def join(kind):
        return "".join(event.text for event in events if isinstance(event, kind))

    assert (join(TextDelta), join(ReasoningDelta)) == (seen.get("text", ""), seen.get("thought", ""))
    assert (decoder.error and decoder.error.code) == seen.get("error")
    assert seen.get("says", "") in (decoder.error.detail if decoder.error else "")
    assert [[event.id, event.name, event.arguments] for event in events if isinstance(event, ToolCall)] == seen.get(
        "calls", []
    )
    assert all((event.model or "").isprintable() for event in events if isinstance(event, Finish))
    if reason := seen.get("reason"):
        assert events[-1].reason == reason
    if counts := seen.get("counts"):
        assert [events[-1].usage.prompt_tokens, events[-1].usage.completion_tokens] == counts


def test_text_of_one_read_is_one_delta(decoder):
    events = decoder.feed(stream_of(["a", "b", "c"], "\n", True))
    assert [type(event) for event in events] == [TextDelta, Finish]
    assert events[0].text == "abc"


def test_an_event_that_is_nested_too_deep_is_malformed(decoder):
    decoder.feed(b"data: " + b"[" * 50_000 + b"\n\n")
    decoder.end()
    assert isinstance(decoder.error, MalformedOutput)


def test_an_answer_without_end_is_given_up(monkeypatch):
    call = {"function": {"name": "brew", "arguments": "{}"}}
    decoder = StreamDecoder()
    for number in range(300):
        piece = {"choices": [{"delta": {"tool_calls": [call | {"index": number, "id": f"c{number}"}]}}]}
        decoder.feed(f"data: {json.dumps(piece)}\n\n".encode())
    assert isinstance(decoder.error, MalformedOutput)
    monkeypatch.setattr(chunks, "MAX_ANSWER_BYTES", 100_000)
    thought = b'data: {"choices": [{"delta": {"reasoning": "hm"}}]}\n\n'
    for endless in (b"never a line", b"data: never an event\n", thought):
        decoder = StreamDecoder()
        with pytest.raises(MalformedOutput):
            for _ in range(10_000):
                decoder.feed(endless)


def test_a_long_event_costs_what_it_is_long(decoder):
    start = time.process_time()
    for _ in range(8_000):
        decoder.feed(b"x" * 1_000)
    assert time.process_time() - start < 10, "as the square of its length it takes more than a minute"


@pytest.mark.parametrize(
    ("sent", "returned"),
    [
        ([[{"text": "Tea"}], [{"text": " first."}]], [{"text": "Tea first."}]),
        ([["Tea", {"type": "summary", "summary": "Tea."}]], [{"type": "summary", "summary": "Tea."}]),
        ([[{"type": "encrypted", "data": {"a": 1}}], [{"type": "encrypted", "data": {"b": 2}}]],
         [{"type": "encrypted", "data": {"b": 2}}]),
    ],
    ids=["without a type or number", "texts instead of objects", "data that is no text"],
)  # fmt: skip
def test_details_of_reasoning_go_back_as_they_came(sent, returned):
    pieces = [{"choices": [{"delta": {"reasoning_details": details}}]} for details in sent]
    decoder = StreamDecoder()
    sent_lines = [*pieces, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    events = decoder.feed(
        "".join(f"data: {json.dumps(line)}\n\n" for line in sent_lines).encode() + b"data: [DONE]\n\n"
    )
    assert decoder.error is None
    assert [*events[-1].reasoning] == returned
