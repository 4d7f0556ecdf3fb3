"""Sections of the prompt that a model writes into its reply."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.people import ApiClient
from webapp.chat.echoes import LONGEST, SECTIONS, Echoes
from webapp.llm.offline.testing import ServerHandle


def shown(text: str, size: int = 1) -> str:
    echoes = Echoes()
    pieces = [echoes.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(pieces) + echoes.end()


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<known>\n- Lives in Porto\n</known>\n\nYou live in Porto.", "You live in Porto."),
        ("You live in Porto. <known>- Lives in Porto</known>", "You live in Porto. "),
        ('Sure.\n<tool_result from="web">text</tool_result>\nIt rains.', "Sure.\n\nIt rains."),
        ("<known>\nYou live in Porto.\n</known>", "You live in Porto."),  # nothing else: shown without the marks
        ("<known>\nYou live in Porto.", "You live in Porto."),  # cut off
        ("You live in Porto.</known>", "You live in Porto."),
        ("Write `<known>` and `</known>` around it.", "Write `<known>` and `</known>` around it."),
        ("```xml\n<known>1</known>\n```\ndone", "```xml\n<known>1</known>\n```\ndone"),
        ("1 < 2, a <knot> and <b>bold</b>, <known", "1 < 2, a <knot> and <b>bold</b>, <known"),
        ("<files><known-good/></files>", "<files><known-good/></files>"),
    ],
)
def test_the_prompts_marks_never_show_however_they_are_cut(text: str, expected: str, size: int) -> None:
    assert shown(text, size).strip() == expected.strip()


def test_a_mark_that_never_ends_holds_nothing_back_for_long() -> None:
    echoes = Echoes()
    assert echoes.feed("<known>" + "a" * (LONGEST - 20)) == ""
    assert echoes.feed("b" * 40).endswith("b" * 40)


@given(
    st.lists(st.sampled_from(["a ", "\n", "`", "<", ">", "</", "x > y", "<kno", "stand", "```\n", "known "])),
    st.integers(1, 9),
)
def test_text_without_a_whole_mark_comes_through_as_it_is(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    if not any(f"<{name}" in text or f"</{name}" in text for name in SECTIONS):
        assert shown(text, size) == text


@given(
    st.lists(st.sampled_from(["a", "\n", "<known>", "</known>", "`", "<", "reference>", "</", "b c"]), max_size=12),
    st.integers(1, 9),
)
def test_how_it_arrives_changes_nothing(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    assert shown(text, size) == shown(text, 10_000)


def test_nothing_of_it_is_streamed_or_kept(client: ApiClient, model: ServerHandle) -> None:
    model.script(reply=["<kno", "wn>\n- Lives in", " Porto\n</known>", "\n\nYou live", " in Porto."], times=1)
    answer = client.post("/api/chat/stream", json={"message": "Where do I live?"}).text
    events = re.findall(r"event: (\w+)\n(?:id: .*\n)?data: (.*)\n", answer)
    assert json.loads(events[-1][1])["message"]["content"] == "You live in Porto."
    assert "".join(json.loads(data)["text"] for kind, data in events if kind == "delta") == "You live in Porto."
