"""What the screen tour says, and what it takes from what people tell it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.memories.worlds import INSTRUCTIONS
from webapp.i18n import LANGUAGES
from webapp.memories.learning.prompt import ConversationLine, OpenPoint, build_extraction
from webapp.tour.answers import EXAMPLE_REQUEST, reply_to, statements_in, tour_text

CASES = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))

AT = datetime(2026, 11, 26, tzinfo=UTC)

LEARNED = CASES["learned"]
"""Introductions in the tour's own words."""

NOT_LEARNED = CASES["not learned"]
"""Forty and more first messages of strangers, in nine languages: nothing is taken from those that say more."""


def extraction(*texts: str) -> list[dict[str, Any]]:
    """The messages of an extraction call about what a user said."""
    lines = [ConversationLine(n, "user", text, AT) for n, text in enumerate(texts, 1)]
    return list(build_extraction(lines, instructions=INSTRUCTIONS).messages)


@pytest.mark.parametrize("text", LEARNED)
def test_sentences_of_the_introduction_are_taken_word_for_word(text):
    found = statements_in(extraction(text))
    assert found
    for statement in found:
        assert statement["content"] == statement["quote"] and statement["quote"] in text
        assert statement["about"] == "user" and not {"key", "value"} & statement.keys()
    assert "".join(statement["quote"] for statement in found).replace(" ", "") == "".join(
        line for line in text.replace(" ", "").splitlines() if "…" not in line
    )


@pytest.mark.parametrize("text", NOT_LEARNED)
def test_nothing_is_taken_from_what_it_does_not_wholly_understand(text):
    assert not statements_in(extraction(text))


def test_a_message_that_says_more_leaves_the_others_to_a_model_too():
    assert statements_in(extraction("My name is Sam.", "And what shall we cook?")) is None
    assert statements_in(extraction(EXAMPLE_REQUEST)) == []
    assert [found["message"] for found in statements_in(extraction(EXAMPLE_REQUEST, "My name is Sam.")) or ()] == [2]


def test_what_a_guided_conversation_asks_is_left_to_a_model():
    lines = [ConversationLine(1, "user", "My name is Sam.", AT)]
    call = build_extraction(lines, points=[OpenPoint("Your name")], instructions=INSTRUCTIONS)
    assert statements_in(call.messages) is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_it_says_in_the_readers_language_that_no_model_is_connected(code):
    asked = [{"role": "user", "content": "What could we cook tonight?"}]
    for_admin, for_others = reply_to(asked, code, is_admin=True), reply_to(asked, code, is_admin=False)
    assert for_admin != for_others and (code == "en" or for_admin != reply_to(asked, "en", is_admin=True))
    assert code == "en" or for_others != reply_to(asked, "en", is_admin=False)


@pytest.mark.parametrize("code", LANGUAGES)
def test_an_example_is_shown_to_those_who_ask_for_it(code):
    question = tour_text(EXAMPLE_REQUEST, code)
    shown = reply_to([{"role": "user", "content": f"<memories>\n- …\n</memories>\n\n{question}"}], code, is_admin=False)
    assert "```python" in shown and "|:--|" in shown
    assert "```" not in reply_to([{"role": "user", "content": f"{question} In Rust."}], code, is_admin=False)


def test_an_unknown_language_is_answered_in_english():
    assert reply_to([{"role": "assistant", "content": "?"}], "tlh", is_admin=False).startswith("No language model")
