"""Tool calls written as text: run if they can be read, else hidden; ordinary text is never touched or held for long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.llm.events import TextDelta, ToolCall
from webapp.llm.textual_calls import TextualCalls

NAMES = ("remember", "search_memories")
ARGUMENTS = '{"query": "tea {green}"}'
CALL = f'{{"name": "search_memories", "arguments": {ARGUMENTS}}}'


def run(text: str, size: int = 3) -> tuple[str, list[tuple[str, str]]]:
    """The text shown and the calls made, the answer coming in pieces."""
    calls = TextualCalls(NAMES)
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
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        CALL,
        f"[TOOL_CALLS] [{CALL}]",
        f"[{CALL}]",
        f"<function=search_memories>{ARGUMENTS}</function>",
        f'{{"type": "function", "function": {CALL}}}',
        f'<tool_call>{{"name": "search_memories", "parameters": {ARGUMENTS}}}</tool_call>',
    ],
)
def test_a_written_call_is_made_and_not_shown(block, size):
    shown, calls = run(block, size)
    assert shown.strip() == "" and calls == [("search_memories", ARGUMENTS)]
    shown, calls = run(f"Let me look.\n{block}\nOne moment.", size)
    if "</" in block or block.endswith("```") or block[0] in "[{" and "<" not in block:
        assert shown.split() == ["Let", "me", "look.", "One", "moment."]
    assert "search_memories" not in shown and calls == [("search_memories", ARGUMENTS)]


@pytest.mark.parametrize(
    "block",
    [
        '<tool_call>{"name": "remember", "arguments": {"content": "tea"</tool_call>',
        '<tools>remember(content="tea")</tools>',
        '```json\n{"name": "remember", "arguments": \n```',
        '{"name": "remember", "arguments": {"content":',
    ],
)
def test_one_that_cannot_be_read_is_hidden(block):
    assert run(block) == ("", [])


@pytest.mark.parametrize(
    "text",
    [
        "Plain words.",
        "In HTML <b>bold</b> and <tool> is no element; a < b.",
        '```json\n{"name": "Ada", "age": 3}\n```',
        '{"name": "Ada"}',
        "A set {1, 2} and a list [1, 2].",
        "```python\nprint({'name': 'remember'})\n```",
        "<toolbar>no</toolbar>",
        "Ends with <too",
        "Ends with `",
        "The tool remember keeps things.",
    ],
)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_ordinary_text_comes_through_as_it_is(text, size):
    assert run(text, size) == (text, [])


@given(st.text(alphabet=st.sampled_from('<>`{}[]"abn:/ \n'), max_size=60), st.integers(1, 7))
def test_nothing_is_lost_of_what_names_no_tool(text, size):
    assert run(text, size) == (text, [])


def test_text_is_not_held_back_longer_than_it_may_be_a_beginning():
    calls = TextualCalls(NAMES)
    assert calls.feed("a ") == [TextDelta("a ")]
    assert calls.feed("<b") != [] and calls.feed(">c") == [TextDelta(">c")]
