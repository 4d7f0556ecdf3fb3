"""What models write for their servers, in all dialects, however the answer is cut into pieces."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from webapp.llm.events import Event, Finish, ReasoningDelta, TextDelta, ThoughtSoFar
from webapp.llm.partial_calls import PartialCalls, ToolCall
from webapp.llm.reply_markup import ReplyMarkup, answer_and_thought
from webapp.llm.textual_calls import TextualCalls

CASES = json.loads(Path(__file__).with_name("dialects.json").read_text(encoding="utf-8"))
TYPES = {"brew": {"cups": "integer", "tea": "string"}}


def read(text: str, size: int, unopened: str = "") -> tuple[str, str, list[list[Any]]]:
    """The answer, the thoughts and the calls in a text that arrives in pieces of a size."""
    markup, written = ReplyMarkup(unopened), TextualCalls(TYPES, TYPES)
    pieces: list[Event] = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    answer, thoughts, calls = "", "", []
    for event in [part for piece in [*pieces, Finish("stop")] for part in markup.feed(piece)]:
        ends = isinstance(event, Finish)
        for found in written.feed(event.text) if isinstance(event, TextDelta) else written.end() if ends else [event]:
            if isinstance(found, TextDelta):
                answer += found.text
            elif isinstance(found, ReasoningDelta):
                thoughts += found.text
            elif isinstance(found, ThoughtSoFar):
                answer, thoughts = "", answer + thoughts
            elif isinstance(found, ToolCall):
                calls.append([found.name, json.loads(found.arguments)])
    return answer, thoughts, calls


@pytest.mark.parametrize(
    ("text", "answer", "thought", "calls"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_dialect_is_understood(text, answer, thought, calls):
    for size in (1, 2, 5, 1000):
        found = read(text, size)
        assert (found[0].strip(), found[1].strip(), found[2]) == (answer, thought.strip(), calls), size


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_model_whose_opening_mark_is_known_to_be_eaten_begins_with_a_thought(size):
    assert read("Tea.\n</think>\n\nEarl Grey.", size, "</think>")[:2] == ("Earl Grey.", "Tea.\n")
    assert read("Earl Grey.", size, "</think>")[0] == "Earl Grey."


@given(
    st.text(alphabet=st.characters(exclude_characters="<[◁{", exclude_categories=["Cs"]), max_size=60),
    st.integers(1, 9),
)
def test_a_text_without_marks_stays_as_it_is(text, size):
    assert read(text, size)[0] == text == answer_and_thought(text)[0]


@pytest.mark.parametrize("pieces", json.loads(Path(__file__).with_name("partial_calls.json").read_text("utf-8")))
def test_calls_are_put_together_whatever_their_numbers(pieces):
    calls = PartialCalls()
    for one in pieces:
        calls.add({"index": one[0], "id": one[1], "function": {"name": one[2], "arguments": one[3]}})
    found = list(calls.complete())
    assert [(call.name, json.loads(call.arguments)) for call in found] == [("brew", {"cups": 2}), ("brew", {"cups": 3})]
    assert len({call.id for call in found}) == 2


def test_a_name_loses_what_a_template_has_left_around_it():
    calls = TextualCalls(["brew"])
    names = ['"brew"', "Brew", "brew:0", "brew()", "functions.brew", "default_api:brew", "brew<|channel|>commentary"]
    assert {calls.tool_name(name) for name in [" brew", *names]} == {"brew"}
    assert calls.tool_name("steep") == "steep"


def test_reasoning_that_goes_back_with_calls_is_whole():
    calls = PartialCalls()
    calls.add_reasoning([{"type": "reasoning.text", "index": 0, "text": "Tea", "format": "own"}])
    calls.add_reasoning([{"type": "reasoning.text", "index": 0, "text": "?"}])
    calls.add_reasoning([{"type": "reasoning.text", "index": 0, "signature": "c2ln", "text": ""}])
    calls.add_reasoning([{"type": "reasoning.encrypted", "index": 1, "data": "eHk="}])
    calls.add_reasoning(None)
    assert calls.reasoning == [
        {"type": "reasoning.text", "index": 0, "text": "Tea?", "format": "own", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 1, "data": "eHk="},
    ]
