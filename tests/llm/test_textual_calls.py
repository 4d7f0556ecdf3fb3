"""Tool calls written as text: run if they can be read, else hidden; ordinary text is never touched or held for long."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from webapp.llm.events import TextDelta
from webapp.llm.partial_calls import ToolCall
from webapp.llm.section_tags import SECTION_TAGS
from webapp.llm.textual_calls import TextualCalls

CASES = json.loads(Path(__file__).with_name("textual_calls.json").read_text(encoding="utf-8"))

NAMES = ("remember", "search_memories")
ARGUMENTS = '{"query": "tea {green}"}'
CALL = f'{{"name": "search_memories", "arguments": {ARGUMENTS}}}'


def run(text: str, size: int = 3, names: tuple[str, ...] = NAMES) -> tuple[str, list[tuple[str, str]]]:
    """The text shown and the calls made, the answer coming in pieces."""
    calls = TextualCalls(names)
    events = [event for at in range(0, len(text), size) for event in calls.feed(text[at : at + size])] + calls.end()
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    return shown, [(event.name, event.arguments) for event in events if isinstance(event, ToolCall)]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "block",
    [
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tools>{CALL}</tools>",
        f"<tools>\n{CALL}",
        CALL,
        f"[TOOL_CALLS] [{CALL}]",
        f"[{CALL}]",
        f"<function=search_memories>{ARGUMENTS}</function>",
        f"<function=remember.search_memories>{ARGUMENTS}</function>",
        f'{{"type": "function", "function": {CALL}}}',
        f'<tool_call>{{"name": "search_memories", "parameters": {ARGUMENTS}}}</tool_call>',
    ],
)
def test_a_written_call_is_made_and_not_shown(block, size):
    shown, calls = run(block, size)
    assert shown.strip() == "" and calls == [("search_memories", ARGUMENTS)]
    shown, calls = run(f"Let me look.\n{block}\nOne moment.", size)
    if "</" in block or block[0] in "[{":
        assert shown.split() == ["Let", "me", "look.", "One", "moment."]
    assert "search_memories" not in shown and calls == [("search_memories", ARGUMENTS)]


@pytest.mark.parametrize("block", CASES["one_that_cannot_be_read_is_hidden"])
def test_one_that_cannot_be_read_is_hidden(block):
    assert run(block) == ("", [])


TAGGED = f"<tool_call>{CALL}</tool_call>"
EXAMPLES = CASES["examples"]
ORDINARY = [*CASES["ordinary_text_comes_through_as_it_is"], *CASES["tags_in_code_and_other_tags_stay"]]


@pytest.mark.parametrize("size", [1, 4, 5, 1000])
@pytest.mark.parametrize("text", [*ORDINARY, *EXAMPLES])
def test_ordinary_text_and_what_stands_in_code_or_a_quote_comes_through_as_it_is(text, size):
    assert run(text, size) == (text, [])


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("before", CASES["a_call_after_code_and_quotes_is_made"])
def test_a_call_after_code_and_quotes_is_made(before, size):
    assert run(f"{before}{TAGGED}", size) == (before, [("search_memories", ARGUMENTS)])


@given(st.lists(st.sampled_from(EXAMPLES[:10]), max_size=4), st.integers(1, 9))
def test_however_many_examples_come_first_the_call_alone_is_made(examples, size):
    before = "".join(f"{example}\n\n" for example in examples)
    assert run(f"{before}{TAGGED}", size) == (before, [("search_memories", ARGUMENTS)])


@given(st.text(alphabet=st.sampled_from('<>`{}[]"abn:/ \n'), max_size=60), st.integers(1, 7))
def test_nothing_is_lost_of_what_names_no_tool(text, size):
    assert run(text, size) == (text, [])


def test_text_is_not_held_back_longer_than_it_may_be_a_beginning():
    calls = TextualCalls(NAMES)
    assert calls.feed("a ") == [TextDelta("a ")]
    assert calls.feed("<b ") != [] and calls.feed(">c") == [TextDelta(">c")]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("names", [NAMES, ()])
@pytest.mark.parametrize(("text", "shown"), CASES["the_tags_of_the_prompt_s_own_sections_are_never_shown"])
def test_the_tags_of_the_prompt_s_own_sections_are_never_shown(text, shown, names, size):
    assert run(text, size, names) == (shown, [])


def test_no_piece_of_a_tag_is_shown_before_it_is_whole():
    calls = TextualCalls(())
    pieces = ["Hi <", "kno", "wn", ">Lisbon", "</", "known", "> ok"]
    assert ["".join(event.text for event in calls.feed(piece) if isinstance(event, TextDelta)) for piece in pieces] == [
        "Hi ", "", "", "Lisbon", "", "", " ok",
    ]  # fmt: skip


def test_text_that_begins_with_an_attribute_of_ours_and_goes_on_without_end_is_not_held_for_long():
    text = '<item n="' + "a" * 2_000
    assert run(text, 50) == (text, [])


def test_every_section_of_a_reply_s_prompt_is_known_by_its_tag():
    context = Path(__file__).parents[2] / "webapp" / "chat" / "context"
    opened = {
        name
        for path in (context / "sections.py", context / "memory_sections.py", context / "composition.py")
        for names in re.findall(r"(?:section_block|close)\(\"(\w+)\"|\"<(\w+)>\"", path.read_text())
        for name in names
        if name
    }
    assert {"known", "summaries", "reference", "request"} <= opened <= set(SECTION_TAGS)
