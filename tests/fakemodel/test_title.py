"""Titles by rule."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemodel.tasks import memory_operations
from fakemodel.tasks.conversation_title import MAX_CHARS, MAX_WORDS, NAME, run, title_of
from fakemodel.tasks.request import TaskRequest

CASES = json.loads(Path(__file__).with_name("title.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("message", "title"), CASES["titles"])
def test_titles(message, title):
    assert title_of(message) == title


@given(st.text(max_size=300))
def test_a_title_is_never_empty_or_long(message):
    title = title_of(message)
    assert title.strip()
    assert "\n" not in title
    assert len(title.split()) <= MAX_WORDS
    assert len(title) <= MAX_CHARS + 1  # one character may grow when capitalised, as ŉ does


@pytest.mark.parametrize("messages", CASES["the_first_thing_the_user_said_counts"])
def test_the_first_thing_the_user_said_counts(messages):
    assert run(TaskRequest(NAME, {}, messages)) == {"title": "Plan a garden"}


def test_a_message_that_comes_in_parts_is_titled_as_a_whole():
    """Who introduces themselves and then asks was called by the introduction: "I am Ana"."""
    rows = [
        {"message": 1, "role": "user", "text": "Hi, I am Ana."},
        {"message": 2, "role": "user", "continued": True, "text": "What should I cook tonight?"},
        {"context": "assistant", "text": "Lentils?"},
        {"message": 3, "role": "user", "text": "Which lentils should I buy for it?"},
    ]
    messages = [{"role": "user", "content": "\n".join(map(json.dumps, rows))}]
    request = TaskRequest(memory_operations.NAME, {"properties": {"title": {}}}, messages)
    assert memory_operations.run(request)["title"] == "What should I cook tonight"
