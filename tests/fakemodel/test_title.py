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
        ("hey there, what's the capital of France?", "Capital of France"),
        ("How do I bake rye bread?", "How to bake rye bread"),
        ("WHY IS MY CODE BROKEN", "Why is my code broken"),
        ("I need help with my taxes, please", "My taxes"),
        ("Write a poem about autumn", "Poem about autumn"),
        ("thanks, what about the second option?", "Second option"),
        ("Hello, please explain tides to me", "Tides"),
        ("```python\nprint(1)\n``` why does this fail?", "Why does this fail"),
        ("# Budget 2026\n- rent", "Budget 2026"),
        ("iPhone battery drains quickly", "iPhone battery drains quickly"),
        ("hill walking in Wales", "Hill walking in Wales"),
        ("so what should I cook tonight?", "What should I cook tonight"),
        ("Hi, I am Ana and I live in Porto. What should I cook tonight?", "What should I cook tonight"),
        ("Is it ok? I want to plan a trip to Porto.", "Is it ok"),
        ("Please tell me at length a story about the sea", "Story about the sea"),
        ("Please tell me at length what memory is and how it works here", "What memory is"),
        ("Can you explain in detail how photosynthesis works?", "How photosynthesis works"),
        ("Explain the tides in detail, please", "The tides"),
        ("Give me three ideas for dinner", "Three ideas for dinner"),
        ("I'm allergic to peanuts and I live in Lisbon. My sister is called Maria.", "Allergy to peanuts"),
        ("I am allergic to nuts and shellfish", "Allergy to nuts and shellfish"),
        ("I live in Porto and work as a nurse", "Life in Porto"),
        ("Remember that my sister is called Maria", "My sister Maria"),
        ("I have been tired and my head hurts, so what now", "I have been tired"),
        ("12*7=", "12*7="),
        ("**Budget** for _2026_", "Budget for 2026"),
        ("hi", "Hi"),
        ("👋", "👋"),
        ("🎉 party planning for 30 people!", "🎉 party planning for 30 people"),
        ("", "New conversation"),
        (" \n ", "New conversation"),
        ("?!", "New conversation"),
        ("你好，请帮我写一首关于秋天的诗", "帮我写一首关于秋天的诗"),
        ("Bonjour, peux-tu m'aider à écrire une lettre ?", "Écrire une lettre"),
        ("¿Puedes explicarme cómo funciona la fotosíntesis?", "Explicarme cómo funciona la fotosíntesis"),
        ("Привет! Расскажи мне о Байкале", "О Байкале"),
        ("Hallo, kannst du mir bitte die Relativitätstheorie erklären?", "Die Relativitätstheorie erklären"),
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
    "messages",
    [
        [
            {"role": "system", "content": "Name it."},
            {"role": "user", "content": "Plan a garden"},
            {"role": "assistant", "content": "Sure"},
            {"role": "user", "content": "With a pond"},
        ],
        [{"role": "user", "content": "Give a title to:\n\nUser: Plan a garden\nAssistant: Sure, where?\nUser: Here"}],
        [{"role": "user", "content": '<message role="user">Plan a garden</message><message role="ai">x</message>'}],
        [{"role": "user", "content": [{"type": "text", "text": "[1] user: Plan a garden"}]}],
    ],
)
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
