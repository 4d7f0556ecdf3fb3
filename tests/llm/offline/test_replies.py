"""What the demonstration says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.llm.offline.arithmetic import solve
from webapp.llm.offline.facts import known_about_user, to_second_person
from webapp.llm.offline.replies import reply_to
from webapp.llm.offline.wire import tokens_of
from webapp.llm.seeing import without_pictures

SYSTEM = {
    "role": "system",
    "content": "You are a helpful assistant.\n- Answer in Markdown.\n\n## What you know about the user\n- name: Alex\n"
    "- The user is allergic to peanuts\n- The user likes hill walking (confidence 0.9)\n"
    "- The user's dog is called Rex\n\n"
    "## Rules\n- style: brief",
}


def user(text):
    return {"role": "user", "content": text}


def ask(text, *before):
    return reply_to([*(before or (SYSTEM,)), user(text)])


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Hello", "Hello, Alex!"),
        ("What's my name?", "**Alex**"),
        (
            "what do you know about me?",
            "- You are allergic to peanuts\n- You like hill walking\n- Your dog is called Rex",
        ),
        ("What am I allergic to?", "you are allergic to peanuts"),
        ("What is my dog called?", "your dog is called Rex"),
        ("what is 12 * (3 + 4)?", "= **84**"),
        ("How tall is Everest?", "> How tall is Everest?"),
        ("I moved to Porto last year.", "> I moved to Porto last year."),
        ("who are you?", "no language model"),
        ("How do I connect a model?", "OPENAI_BASE_URL"),
        ("show me markdown", "| Ingredient |"),
        ("Write code that counts words", "```python"),
        ("thank you", "welcome"),
    ],
)
def test_replies(question, part):
    assert part in ask(question)


def test_instructions_are_not_facts():
    statements = known_about_user([SYSTEM, user("x")]).statements
    assert len(statements) == 4
    assert not any("brief" in statement or "Markdown" in statement for statement in statements)


def test_facts_come_from_the_retrieved_block_too_and_it_is_not_echoed():
    block = "<memories>\n- The user lives in Porto\n</memories>\n\n"
    assert "you live in Porto" in ask(block + "Where do I live?")
    assert "Porto" not in ask(block + "How tall is Everest?")


def test_earlier_messages_are_remembered():
    before = (user("Hi, my name is Zoë and I play the cello."), {"role": "assistant", "content": "Noted"})
    assert "**Zoë**" in ask("What is my name?", *before)
    assert "cello" in ask("what do you know about me?", *before)
    assert "not told me" in ask("What's my name?", user("Hi"))
    assert ask("what do you know about me?", user("Hi")).startswith("Nothing yet")


def test_the_name_said_last_wins_over_memory():
    assert "**Sam**" in ask("What's my name?", SYSTEM, user("Call me Sam"))


def test_the_introduction_is_not_repeated():
    later = (user("How tall is Everest?"), {"role": "assistant", "content": "…"})
    assert "demonstration" in ask("How deep is it?")
    assert "demonstration" not in ask("How deep is it?", *later)


def test_a_long_story_lasts_ten_seconds_at_the_usual_pace():
    from webapp.llm.offline.server import DEFAULT_RATE

    assert len(tokens_of(ask("tell me a long story"))) / DEFAULT_RATE > 10


def test_a_turn_that_the_assistant_begins_asks_the_prompts_question():
    system = {
        "role": "system",
        "content": "Goals: childhood\nExample questions:\n- Where did you grow up?\n- With whom?",
    }
    assert "?" in reply_to([system])


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text(max_size=80)), max_size=5))
def test_any_conversation_gets_a_reply(turns):
    assert reply_to([{"role": role, "content": text} for role, text in turns]).strip()


@given(st.text(max_size=200))
def test_tokens_are_the_text(text):
    assert "".join(tokens_of(text)) == text


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The user studies law", "You study law"),
        ("Lives in Porto", "You live in Porto"),
        ("Allergic to peanuts", "You are allergic to peanuts"),
        ("Wife is called Anna", "Your wife is called Anna"),
        ("Does not eat meat", "You do not eat meat"),
        ("Decided to leave their job", "You decided to leave your job"),
        ("Porto is by the sea", "Porto is by the sea"),
        ("The user watches birds.", "You watch birds"),
        ("The user does not eat meat", "You do not eat meat"),
        ("identity/birthday: 3 May", "Your birthday is 3 May"),
        ("I'm a nurse and my cat is old", "You are a nurse and your cat is old"),
    ],
)
def test_perspective(said, told):
    assert to_second_person(said) == told


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2+2", "4"),
        ("what is 7 times 6?", "42"),
        ("15% of 80", "12"),
        ("2^10", "1024"),
        ("1,000 + 24", "1024"),
        ("5 - 8", "-3"),
        ("1/3", "0.3333333333"),
        ("0.1 + 0.2", "0.3"),
        ("3 x 4", "12"),
        ("100000*3", "300,000"),
        ("1/0", None),
        ("9**9**9", None),
        ("on 2024-05-03", None),
        ("hello", None),
        ("((((", None),
        ("__import__('os')", None),
    ],
)
def test_sums(text, result):
    solved = solve(text)
    assert (solved[1] if solved else None) == result


@given(st.text(alphabet="0123456789+-*/^().,% x", max_size=60))
def test_sums_never_raise(text):
    solve(text)


def test_a_number_in_a_statement_is_not_a_sum():
    assert "=" not in ask("Remember that my sister can be reached on 555-1234 in the evening")


def test_a_picture_is_no_part_of_the_question_and_said_not_to_be_seen() -> None:
    told = without_pictures(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "[bees.jpg]"},
                    {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AA=="}},
                    {"type": "text", "text": "How many hives were counted?"},
                ],
            }
        ]
    )
    said = reply_to(told)
    assert "> How many hives were counted?" in said and "I cannot see pictures" in said
    assert "bees.jpg" not in said and "attached here" not in said
    assert "I cannot see" not in reply_to([{"role": "user", "content": "How many hives were counted?"}])
