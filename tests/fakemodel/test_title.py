"""Titles by rule."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemodel.tasks import memory_operations
from fakemodel.tasks.conversation_title import MAX_CHARS, MAX_WORDS, NAME, run, title_of
from fakemodel.tasks.request import TaskRequest


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Hello! Can you please help me to plan a weekend trip to Lisbon with kids?", "Plan a weekend trip to Lisbon"),
        ("How do I bake rye bread?", "How to bake rye bread"),
        ("I need help with my taxes, please", "My taxes"),
        ("Write a poem about autumn", "Poem about autumn"),
        ("```python\nprint(1)\n``` why does this fail?", "Why does this fail"),
        ("Hi, I am Ana and I live in Porto. What should I cook tonight?", "What should I cook tonight"),
        ("Explain the tides in detail, please", "The tides"),
        ("I'm allergic to peanuts and I live in Lisbon. My sister is called Maria.", "Allergy to peanuts"),
        ("I live in Porto and work as a nurse", "Life in Porto"),
        ("**Budget** for _2026_", "Budget for 2026"),
        ("hi", "Hi"),
        ("🎉 party planning for 30 people!", "🎉 party planning for 30 people"),
        ("", "New conversation"),
        ("?!", "New conversation"),
        ("你好，请帮我写一首关于秋天的诗", "帮我写一首关于秋天的诗"),
        ("Bonjour, peux-tu m'aider à écrire une lettre ?", "Écrire une lettre"),
    ],
)
def test_titles(message, title):
    assert title_of(message) == title


@given(st.text(max_size=300))
def test_a_title_is_never_empty_or_long(message):
    title = title_of(message)
    assert title.strip()
    assert "\n" not in title
    assert len(title.split()) <= MAX_WORDS
    assert len(title) <= MAX_CHARS + 1  # one character may grow when capitalised, as ŉ does


@pytest.mark.parametrize(
    "content",
    [
        "Plan a garden",
        "Give a title to:\n\nUser: Plan a garden\nAssistant: Sure, where?\nUser: Here",
        '<message role="user">Plan a garden</message><message role="ai">x</message>',
        [{"type": "text", "text": "[1] user: Plan a garden"}],
    ],
)
def test_the_first_thing_the_user_said_counts(content):
    assert run(TaskRequest(NAME, {}, [{"role": "user", "content": content}])) == {"title": "Plan a garden"}


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
