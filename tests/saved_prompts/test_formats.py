"""Files of prompts: ours, and Open WebUI's old and new ones."""

import json
from pathlib import Path

import pytest

from webapp.saved_prompts.formats import LONGEST_CONTENT, ReadPrompt, items_of, read, write_prompts

CASES = json.loads(Path(__file__).with_name("formats.json").read_text(encoding="utf-8"))

OLD = [{"command": "/summarise", "user_id": "u", "title": "Summarise", "content": "Sum up {{text}}", "timestamp": 1}]
NEW = CASES["new"]


def test_ours_comes_back_as_it_went():
    prompts = [ReadPrompt("One", "{{a}} {{b: c | d}}", "About"), ReadPrompt("Two", "Zwei\nZeilen 🎉")]
    text = json.dumps(write_prompts(prompts))
    assert read(items_of(text)) == (prompts, [])


def test_open_webui_old_and_new():
    assert read(items_of(json.dumps(OLD)))[0] == [ReadPrompt("Summarise", "Sum up {{text}}")]
    (letter,), refused = read(items_of(json.dumps(NEW)))
    assert refused == []
    assert letter == ReadPrompt(
        "A letter",
        "To {{name}}: {{tone: dry | warm}} {{days: 3}} {{note:}} {{cc: false | true}} {{CLIPBOARD}}",
        "For every occasion",
    )


def test_one_prompt_alone_is_read():
    assert read(items_of('{"name": "One", "content": "Two"}'))[0] == [ReadPrompt("One", "Two")]


@pytest.mark.parametrize("text", ["", "{", "3", '{"a": 1}', '{"prompts": 3}', "[" * 100_000])
def test_what_is_no_file_of_prompts_is_said(text):
    with pytest.raises(ValueError, match="file"):
        items_of(text)


def test_choices_nested_too_deep_are_none():
    content = "{{tone | select:options=" + "[" * 100_000 + "]}}"
    assert read([{"command": "/a", "content": content}])[0] == [ReadPrompt("a", "{{tone:}}")]


def test_parts_that_cannot_be_read_are_named():
    items = [3, {"name": "No text"}, {"content": "No name"}, {"name": "Long", "content": "a" * (LONGEST_CONTENT + 1)}]
    items += [{"name": "Half \ud800", "content": "x"}, {"name": "Good", "content": "x", "description": "\ud800"}]
    prompts, refused = read(items)
    assert prompts == [ReadPrompt("Good", "x")]
    assert [(part.place, part.name[:4]) for part in refused] == [
        (1, ""),
        (2, "No t"),
        (3, ""),
        (4, "Long"),
        (5, "Half"),
    ]
    assert refused[-1].name == "Half ?"  # can be shown
