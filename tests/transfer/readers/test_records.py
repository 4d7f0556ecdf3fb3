"""The shapes in which programs write many conversations, whatever the file is called."""

import json
from pathlib import Path

import pytest

from testkit.exports import (
    chatgpt_conversation,
    claude_conversation,
    librechat_conversation,
    openwebui_chat,
    zipped,
)
from webapp.transfer.content import ReadConversation, Unreadable
from webapp.transfer.readers import recognise
from webapp.transfer.sources import Upload

ONE = {
    "chatgpt": chatgpt_conversation(),
    "claude": claude_conversation(),
    "openwebui": openwebui_chat(),
    "librechat": librechat_conversation(),
    "sharegpt": {"id": "1", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes"}]},
}
SHAPES = {
    "array": lambda one: [one],
    "bare": lambda one: one,
    "wrapped": lambda one: {"version": 1, "data": [one]},
    "named": lambda one: {"exported": "today", "chats": [one]},
}


def read(path: Path, content: bytes, name: str) -> tuple[str, list[object]]:
    path.write_bytes(content)
    with Upload(path, name) as upload:
        reader = recognise(upload)
        return reader.name, list(reader.read(upload))


@pytest.mark.parametrize("name", ["export.json", "export", "export.txt"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("program", ONE)
def test_a_conversation_is_found_in_any_shape(tmp_path, program, shape, name):
    found, parts = read(tmp_path / "upload", json.dumps(SHAPES[shape](ONE[program])).encode(), name)
    talks = [part for part in parts if isinstance(part, ReadConversation)]
    assert found == program and len(talks) == 1 and talks[0].messages


@pytest.mark.parametrize("program", ONE)
def test_lines_of_json_are_read_until_one_is_cut_off(tmp_path, program):
    lines = [json.dumps(ONE[program]) for _ in range(3)]
    found, parts = read(tmp_path / "upload", "\n".join([*lines, lines[0][:50]]).encode(), "export.jsonl")
    assert found == program
    assert [type(part) for part in parts if isinstance(part, ReadConversation | Unreadable)] == [
        *[ReadConversation] * 3,
        Unreadable,
    ]


def test_lines_in_a_zip_are_read(tmp_path):
    lines = "\n".join(json.dumps(chatgpt_conversation(number)) for number in (1, 2))
    found, parts = read(tmp_path / "upload", zipped({"conversations.jsonl": lines}), "export.zip")
    assert found == "chatgpt" and sum(isinstance(part, ReadConversation) for part in parts) == 2
