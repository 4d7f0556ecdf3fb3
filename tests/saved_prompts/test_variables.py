"""What stands in braces, and what becomes of it."""

import pytest

from webapp.saved_prompts.variables import InvalidValues, Variable, fill, variables_of, variables_to_fill


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no braces { {a} }", []),
        ("{{topic}}", [Variable("topic")]),
        ("{{ topic }} and {{topic}}", [Variable("topic")]),
        ("{{topic}} {{topic: bees}}", [Variable("topic", "bees")]),
        ("{{length: 200 words}}", [Variable("length", "200 words")]),
        ("{{notes:}}", [Variable("notes", "")]),
        ("{{tone: warm | dry|warm }}", [Variable("tone", "warm", ("warm", "dry"))]),
        ("{{für wen: dich}}", [Variable("für wen", "dich")]),
        ("{{ user.name }} {{#if x}} {{1st}} {{a\nb}} {{}}", []),
    ],
)
def test_variables_are_found(text, expected):
    assert variables_of(text) == expected


def test_what_fills_itself_is_not_asked_for():
    text = "{{USER_NAME}} on {{CURRENT_DATE}} about {{topic}}"
    assert [variable.name for variable in variables_to_fill(text)] == ["topic"]
    assert (
        fill(text, {"topic": "bees"}, {"USER_NAME": "Ada", "CURRENT_DATE": "2026-11-22"})
        == "Ada on 2026-11-22 about bees"
    )


def test_defaults_and_choices_fill_what_is_not_given():
    text = "Write {{length: 200 words}} on {{topic}}, {{tone: warm | dry}}. {{notes:}}"
    assert fill(text, {"topic": "bees"}, {}) == "Write 200 words on bees, warm. "
    assert fill(text, {"topic": "bees", "length": "", "tone": "dry"}, {}) == "Write  on bees, dry. "


def test_what_is_missing_or_not_offered_is_said():
    with pytest.raises(InvalidValues) as caught:
        fill("{{topic}} {{tone: warm | dry}} {{more}}", {"topic": " ", "tone": "loud"}, {})
    assert caught.value.errors == {
        "topic": "is missing",
        "tone": "must be one of warm, dry",
        "more": "is missing",
    }


def test_values_are_text_and_not_filled_again():
    assert fill("{{a}} {{b}}", {"a": "{{b}}", "b": r"\1 {{a}}"}, {}) == r"{{b}} \1 {{a}}"


def test_many_braces_take_no_time():
    text = "{{a:" * 5_000 + "{{ " * 2_000
    assert variables_of(text) == []
