"""What a model thinks, in a field of its own or in the text: told apart from the answer, however the stream is cut."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from webapp.llm.events import Event, Finish, ReasoningDelta, StreamDecoder, TextDelta
from webapp.llm.markdown_state import MarkdownState
from webapp.llm.reply_markup import ReplyMarkup


def apart(events: list[Event]) -> tuple[str, str]:
    """The thoughts and the text of some events."""
    thoughts = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    return thoughts, "".join(event.text for event in events if isinstance(event, TextDelta))


def filter_reply(text: str, size: int, reason: str = "stop") -> tuple[str, str]:
    thinking = ReplyMarkup()
    events: list[Event] = [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]
    shown = [told for event in [*events, Finish(reason)] for told in thinking.feed(event)]
    assert isinstance(shown[-1], Finish)
    return apart(shown)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>\nA < b, so </ no.\n</think>\n\nIt is so.", ("A < b, so </ no.\n", "It is so.")),
        ("\n<thinking>Hm.</thinking>Yes.", ("Hm.", "Yes.")),
        ("<think>\n\n</think>\n\nAt once.", ("", "At once.")),
        ("The tag <think> opens a thought.", ("", "The tag <think> opens a thought.")),
        ("<thi", ("", "<thi")),
        ("<table><tr></table>", ("", "<table><tr></table>")),
        ("  Indented.", ("", "  Indented.")),
        ("<think>a</think>b<think>c</think>", ("ac", "b")),
    ],
)
def test_thoughts_in_the_text_are_told_apart(text, expected, size):
    assert filter_reply(text, size) == expected


def test_a_thought_that_is_cut_off_is_no_answer_and_one_that_just_ends_is():
    assert filter_reply("<think>Long ago", 4, "length") == ("Long ago", "")
    assert filter_reply("<think>", 4, "length") == ("", "")
    thoughts, text = filter_reply("<think> is a tag.", 4)
    assert (thoughts, text) == ("is a tag.", "<think>is a tag.")


def decode(*deltas: dict[str, Any]) -> list[Event]:
    chunks = [{"choices": [{"delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return StreamDecoder().feed(data.encode())


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_thoughts_come_in_a_field_of_their_own(name):
    found = decode({"role": "assistant", "content": "", name: "Let me "}, {name: "see."}, {"content": "Four."})
    assert apart(found) == ("Let me see.", "Four.")
    assert apart(decode({"content": "Four.", name: "Both at once."})) == ("Both at once.", "Four.")
    assert apart(decode({"content": "Four.", name: None})) == ("", "Four.")


def test_one_thought_under_two_names_is_one_thought():
    found = decode({"reasoning": "Hm.", "reasoning_content": "Hm."}, {"content": "Yes."})
    assert apart(found) == ("Hm.", "Yes.")


def test_thoughts_come_as_parts_of_the_content():
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert apart(decode({"content": [part]}, {"content": [{"type": "text", "text": "Yes."}]})) == ("Hm.", "Yes.")


def test_a_model_that_only_thinks_gives_no_answer():
    decoder = StreamDecoder()
    decoder.feed(b'data: {"choices": [{"delta": {"reasoning": "Hm."}}]}\n\ndata: [DONE]\n\n')
    assert decoder.error is not None


MARK = "QQQ"
LINES = st.sampled_from(
    ["word", "", "```", "~~~", "````", "```json", "    indented", "- item", "  more", "1. one", "   goes on", "> quote"]
    + ["> ```", "`tick", "a `code` b", "``x` y``", "# head", "> - in", "      deep", "> ", r"text \` alone"]
)
BEGINNINGS = st.sampled_from(["", "  ", "    ", "\t", "> ", "- ", "words ", "`"])


def mark_place(text: str) -> str:
    """Where the mark at the end of a text is for the parser."""
    quotes, found = 0, ""
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type in ("fence", "code_block") and MARK in token.content + token.info:
            return "code"
        if token.type == "inline" and MARK in token.content:
            codes = [child for child in token.children or () if child.type == "code_inline" and MARK in child.content]
            found = "code" if codes else "quote" if quotes else "text"
    return found


@given(st.lists(LINES, max_size=6), BEGINNINGS, st.integers(1, 9))
def test_what_is_code_or_quoted_for_the_reader_is_so_here(lines, beginning, size):
    text = "\n".join([*lines, beginning])
    place = MarkdownState()
    for at in range(0, len(text), size):
        place = place.advance(text[at : at + size])
    here = "code" if place.in_code else "quote" if place.in_quote else "text"
    there = mark_place(text + MARK + ("`" if beginning == "`" else ""))
    # A backtick may still be closed: what follows counts as code until its paragraph ends.
    assert here == there or (here == "code" and "`" in text)
