"""Files of prompts: ours, and Open WebUI's old and new ones."""

import json
from pathlib import Path

import pytest

from webapp.errors import Invalid
from webapp.saved_prompts.formats import (
    MAX_CONTENT_LENGTH,
    FilePrompt,
    Variable,
    fill,
    items_of,
    read,
    variables_of,
    variables_to_fill,
)
from webapp.saved_prompts.schemas import PromptExport

CASES = json.loads(Path(__file__).with_name("formats.json").read_text(encoding="utf-8"))

OLD = [{"command": "/summarise", "user_id": "u", "title": "Summarise", "content": "Sum up {{text}}", "timestamp": 1}]
NEW = CASES["new"]


def test_ours_comes_back_as_it_went():
    prompts = [FilePrompt("One", "{{a}} {{b: c | d}}", "About"), FilePrompt("Two", "Zwei\nZeilen 🎉")]
    assert read(items_of(PromptExport(prompts=prompts).model_dump_json())) == (prompts, [])


def test_open_webui_old_and_new():
    assert read(items_of(json.dumps(OLD)))[0] == [FilePrompt("Summarise", "Sum up {{text}}")]
    (letter,), refused = read(items_of(json.dumps(NEW)))
    assert refused == []
    assert letter == FilePrompt(
        "A letter",
        "To {{name}}: {{tone: dry | warm}} {{days: 3}} {{note:}} {{cc: false | true}} {{CLIPBOARD}}",
        "For every occasion",
    )


def test_one_prompt_alone_is_read():
    assert read(items_of('{"name": "One", "content": "Two"}'))[0] == [FilePrompt("One", "Two")]


@pytest.mark.parametrize("text", ["", "{", "3", '{"a": 1}', '{"prompts": 3}', "[" * 100_000])
def test_what_is_no_file_of_prompts_is_said(text):
    with pytest.raises(ValueError, match="file"):
        items_of(text)


def test_choices_nested_too_deep_are_none():
    content = "{{tone | select:options=" + "[" * 100_000 + "]}}"
    assert read([{"command": "/a", "content": content}])[0] == [FilePrompt("a", "{{tone:}}")]


def test_parts_that_cannot_be_read_are_named():
    items = [
        3,
        {"name": "No text"},
        {"content": "No name"},
        {"name": "Long", "content": "a" * (MAX_CONTENT_LENGTH + 1)},
    ]
    items += [{"name": "Half \ud800", "content": "x"}, {"name": "Good", "content": "x", "description": "\ud800"}]
    prompts, refused = read(items)
    assert prompts == [FilePrompt("Good", "x")]
    assert [(part.place, part.name[:4]) for part in refused] == [
        (1, ""),
        (2, "No t"),
        (3, ""),
        (4, "Long"),
        (5, "Half"),
    ]
    assert refused[-1].name == "Half ?"  # can be shown


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
    with pytest.raises(Invalid) as caught:
        fill("{{topic}} {{tone: warm | dry}} {{more}}", {"topic": " ", "tone": "loud"}, {})
    said = {item["loc"][0]: item["msg"] for item in caught.value.errors}
    assert said == {"topic": "is missing", "tone": "must be one of warm, dry", "more": "is missing"}
    with pytest.raises(Invalid, match="a must have at most 333 characters"):
        fill("{{a}}" * 3_000, {"a": "x" * 334}, {})


def test_values_are_text_and_not_filled_again():
    assert fill("{{a}} {{b}}", {"a": "{{b}}", "b": r"\1 {{a}}"}, {}) == r"{{b}} \1 {{a}}"


def test_many_braces_take_no_time():
    text = "{{a:" * 5_000 + "{{ " * 2_000
    assert variables_of(text) == []
