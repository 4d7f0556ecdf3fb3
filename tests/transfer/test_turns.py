"""Exports that are lists of turns, of each program whose own fields differ from the usual: read as it showed them."""

import json
import time
from pathlib import Path

import pytest

from testkit.exports import HIDDEN, pack
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import Omission, ReadMemory
from webapp.transfer.readers.turns import BETWEEN_PEOPLE

EXPORTS = json.loads(Path(__file__).with_name("turn_exports.json").read_text(encoding="utf-8"))
"""What each program writes, by the name of its file: a value, the lines of one, the members of a ZIP."""
TRANSCRIPTS = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))["transcripts"]


@pytest.fixture
def talks(read):
    """`talks(content, filename)`: the conversations that are found."""
    return lambda content, filename="a.json": read(content, filename)[1]


def _write_export(name):
    """Return an export as its program writes it, after the name of its file."""
    rows = EXPORTS[name]
    if name.endswith(".zip"):
        return pack(rows), name
    begin = "window.YTD.part0 = " if name.endswith(".js") else ""
    return (begin + "\n".join(map(json.dumps, rows if name.endswith(".jsonl") else [rows]))).encode(), name


@pytest.mark.parametrize("name", EXPORTS)
def test_what_each_program_showed_is_read_and_nothing_else(talks, name):
    found = sorted(talks(*_write_export(name)), key=lambda part: isinstance(part, ReadMemory))
    assert [(message.role, message.content) for message in found[0].messages] == [
        ("user", "How?"),
        ("assistant", "At 80."),
    ]
    assert HIDDEN not in str(found)
    assert found[0].messages[1].thought == ("Thought." if "Thought." in json.dumps(EXPORTS[name]) else "")


def test_titles_dates_models_and_what_a_conversation_grew_out_of_come_along(talks):
    (now, before), steps = talks(*_write_export("chatbox.json")), Omission.STEPS
    assert (now.title, now.messages[1].thought, now.left_out[steps], before.title) == ("Tea", "Thought.", 1, "Before")
    (talk,) = talks(*_write_export("nextchat.json"))
    assert (talk.title, talk.created_at.year, talk.left_out[Omission.MISSING_FILES]) == ("Tea", 2023, 1)
    assert talks(*_write_export("sillytavern.jsonl"))[0].created_at.isoformat() == "2024-07-19T20:34:00+00:00"
    assert talks(*_write_export("cherry.zip"))[0].messages[1].model == "GPT"
    (talk,) = talks(*_write_export("opencode.json"))
    found = (talk.title, talk.created_at.year, talk.messages[0].at.year, talk.messages[1].model)
    assert found == ("Tea", 2025, 2025, "gpt-5")
    assert talks(*_write_export("llm-log.json"))[0].title == "Tea"
    assert [part.reason for part in talks(*_write_export("telegram-all.json"))[1:]] == [BETWEEN_PEOPLE]
    (talk, memory), (tea, cake) = talks(*_write_export("jan.zip")), talks(*_write_export("anythingllm.json"))
    assert (memory.content, talk.title, tea.title, cake.title) == ("Likes tea.", "Tea", "Tea", "Cake")
    assert (tea.created_at.year, len(tea.messages[0].files), tea.messages[1].files) == (2025, 1, [])
    assert [part.content for part in talks(*_write_export("letta.af"))[1:]] == ["Likes tea."]


@pytest.mark.cases("part")
def test_pictures_in_a_message_come_with_it(talks, part):
    (talk,) = talks({"messages": [{"role": "user", "content": [part]}, {"role": "assistant", "content": "A cat."}]})
    assert [(message.content, len(message.files)) for message in talk.messages] == [("[image]", 1), ("A cat.", 0)]


@pytest.mark.parametrize(("filename", "text"), [(name, text) for name in TRANSCRIPTS for text in TRANSCRIPTS[name]])
def test_a_table_or_a_text_of_turns_is_a_conversation(talks, filename, text):
    (talk,) = talks(pack(text) if filename.endswith(".zip") else text.encode(), filename)
    assert [(message.role, message.content) for message in talk.messages] == [("user", "How?"), ("assistant", "At 80.")]
    assert talk.title == ("Tea" if "Tea" in text else "a")


def test_a_table_may_hold_several_conversations(talks):
    table = b"Conversation,Author,Message\nTea,Human,How?\nTea,AI,At 80.\nCake,Human,Why?\n"
    assert [(talk.title, len(talk.messages)) for talk in talks(table, "a.csv")] == [("Tea", 2), ("Cake", 1)]
    begin = b"\n# aider chat started at 2024-06-0%d 10:00:00\n\n> Aider v0.37.0\n\n#### /add a.py  \n\n> Added\n\n"
    text = begin % 1 + b"#### How?  \n#### With milk?  \n\nAt 80.\n\n> Tokens: 9 sent\n" + begin % 2
    (talk,) = talks(text, ".aider.chat.history.md")
    assert [message.content for message in talk.messages] == ["How?\nWith milk?", "At 80."]
    assert (talk.title, talk.created_at.day) == (None, 1)


def test_a_model_is_known_by_its_coming_again(talks):
    text = b"## You\nHow?\n\n## GPT\nAt 80.\n\n## Why\n- x\n\n## You\nThanks\n\n## GPT\nSure.\n" + b"Boil it. " * 9_000
    assert [message.content for message in talks(text, "a.md")[0].messages][1] == "At 80.\n\n## Why\n- x"
    lines = ("Ida: How?", "Meta AI: At 80.", "Ida: Thanks", "Meta AI: Sure.")
    (talk,) = talks("".join(f"[01/05/2026, 10:00:0{n}] {line}\n" for n, line in enumerate(lines)).encode(), "a.txt")
    assert [message.content for message in talk.messages if message.role == "assistant"] == ["At 80.", "Sure."]
    names = "Ida\nHow?\n\n%s\nAt 80.\n\nIda\nThanks\n\n%s\nSure.\n"
    assert [message.content for message in talks(names.replace("%s", "Grok").encode(), "a.txt")[0].messages][2:] == [
        "Thanks",
        "Sure.",
    ]
    with pytest.raises(ImportRefused, match="between people"):  # and is taken for no list of memories
        talks(names.replace("%s", "Bob").encode(), "a.txt")


@pytest.mark.parametrize(
    "text",
    [
        "**User:** a baker\n\n**Town:** Porto\n",
        "# User\n- Bakes.\n\n# Work\n- Sells.\n",
        "# User\n- Bakes.\n- Sells.\n\n# Assistant\n- Is to be brief.\n",
        "# Plan\n- Bakes.\n\n# Claude\nWrites recipes.\n\n# Costs\n- Are low.\n",
        "- Work: bakes\n- Work: sells\n- Home: Porto\n- Home: a boat\n",
        "* Work: bakes\n* Work: sells\n* Home: Porto\n* Home: a boat\n",
        "".join(f"{number:014b}User: bakes {number}\n".replace("0", "*").replace("1", "_") for number in range(9_000)),
    ],
)
def test_a_list_with_a_head_is_no_transcript(talks, text):
    start = time.process_time()
    assert {type(part).__name__ for part in talks(text.encode(), "a.md")} == {"ReadMemory"}
    assert time.process_time() - start < 4  # with labels of ever another look, too


@pytest.mark.parametrize(
    "row", [{"expiration_date": "2020-01-01"}, {"deleted": "TRUE"}, {"is_active": "false"}, {"isLatest": False}]
)
def test_a_memory_that_has_ended_is_left_alone(talks, row):
    rows = [{"memory": "Old.", **row}, {"memory": "New.", "deleted": "false", "is_active": "true"}]
    assert [memory.content for memory in talks(rows)] == ["New."]


@pytest.mark.parametrize("key", ["conversations", "messages", "chats"])
def test_conversations_in_an_object_stay_apart(talks, key):
    rows = [{"role": "user", "content": "How?"}, {"role": "assistant", "content": "At 80."}]
    found = talks({key: [{"title": "Tea", "messages": rows}, {"title": "Cake", "messages": rows}]})
    assert [(talk.title, len(talk.messages)) for talk in found] == [("Tea", 2), ("Cake", 2)]
