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
from webapp.transfer.content import ReadConversation, ReadMemory, Unreadable, instant
from webapp.transfer.readers import recognise
from webapp.transfer.sources import ImportRefused, Upload

ODD = json.loads(Path(__file__).with_name("odd_exports.json").read_text(encoding="utf-8"))

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


@pytest.mark.parametrize("program", ONE)
def test_bad_conversations_and_a_file_that_was_cut_off_discard_nothing(tmp_path, program):
    one = json.dumps(ONE[program])
    text = f'[{one}, 7, {{"title": "Broken"}}, {one}, {one[:50]}'
    found, parts = read(tmp_path / "upload", text.encode(), "a.json")
    told = [part for part in parts if isinstance(part, ReadConversation | Unreadable)]
    kinds = [ReadConversation, Unreadable, Unreadable, ReadConversation, Unreadable]
    assert (found, [type(part) for part in told]) == (program, kinds)
    assert [told[place].place for place in (1, 2, 4)] == ["a.json, conversation 2", "“Broken”", "a.json"]
    assert told[4].reason == "the file is damaged or was cut off"


@pytest.mark.parametrize("row", ODD, ids=[": ".join(row[:2]) for row in ODD])
def test_an_odd_message_costs_no_more_than_itself(tmp_path, row):
    program, _, content, messages, *more = row
    found, parts = read(tmp_path / "upload", json.dumps(content).encode(), "export.json")
    (talk,) = [part for part in parts if isinstance(part, ReadConversation)]
    assert found == program
    assert [[message.role, message.content] for message in talk.messages] == messages
    assert "What only the program was told" not in str([message.content for message in talk.messages])
    told = {
        "title": talk.title,
        "left_out": talk.left_out,
        "began": talk.created_at and talk.created_at.isoformat(),
        "thoughts": [message.thought for message in talk.messages],
        "models": [message.model for message in talk.messages],
        "years": [message.at and message.at.year for message in talk.messages],
    }
    for name, value in (more[0] if more else {}).items():
        assert told[name] == value, name


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", "\n", "\r\n"])
def test_a_file_in_another_encoding_is_read(tmp_path, encoding, separator):
    text = separator.join([json.dumps(ONE["chatgpt"])] * 2)
    data = (f"[{text}]" if separator == "," else text).encode(encoding)
    _, parts = read(tmp_path / "upload", data, "export.json")
    assert sum(isinstance(part, ReadConversation) for part in parts) == 2


@pytest.mark.parametrize(
    "name",
    [
        "My export\\conversations.json",
        "Conversations.JSON",
        "conversations (1).json",
        "conversations_0.json",
        "talks/tea.json",
    ],
)
def test_a_zip_may_name_its_conversations_in_other_ways(tmp_path, name):
    found, parts = read(tmp_path / "upload", zipped({name: [ONE["chatgpt"]]}), "export.zip")
    assert found == "chatgpt" and any(isinstance(part, ReadConversation) for part in parts)


@pytest.mark.parametrize(
    ("content", "words"), [(zipped({"conversations.json": [ONE["chatgpt"]]})[:-9], "broken"), (zipped({}), "nothing")]
)
def test_a_zip_without_its_end_or_without_files_is_called_that(tmp_path, content, words):
    with pytest.raises(ImportRefused, match=words):
        read(tmp_path / "upload", content, "export.zip")


@pytest.mark.parametrize(
    "text", ['{"data": [{"memory": "Likes tea."}]}', '{"memory": "Likes tea."}\n{"memory": "Has a cat."}']
)
def test_memories_come_in_the_same_shapes(tmp_path, text):
    found, parts = read(tmp_path / "upload", text.encode(), "memories.json")
    assert found == "mem0" and parts[0] == ReadMemory("Likes tea.")


def test_conversations_without_an_id_are_told_apart(tmp_path):
    talks = [{"chat_messages": [{"sender": "human", "text": text}]} for text in ("Tea?", "Cake?")]
    parts = read(tmp_path / "upload", json.dumps(talks).encode(), "conversations.json")[1]
    assert parts[0].source_id and parts[0].source_id != parts[1].source_id


@pytest.mark.parametrize(
    "value", [1700000000, 1700000000.0, 1700000000000, 1700000000000000, 17 * 10**17, "1700000000.0"]
)
def test_a_moment_is_read_in_any_unit(value):
    assert instant(value).isoformat() == "2023-11-14T22:13:20+00:00"


@pytest.mark.parametrize(
    "content",
    [
        lambda text: text.replace("%", "\\udc00").encode(),
        lambda text: text.replace("%", "\\ud83d\\ud83d\\ude00").encode(),
        lambda text: text.encode().replace(b"%", b"\xff"),
        lambda text: text.encode("utf-32"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("%", "\u2028").encode("utf-16"),
    ],
    ids=["second half of a pair", "first half twice", "no UTF-8", "UTF-32", "UTF-16", "a separator in UTF-16"],
)
@pytest.mark.parametrize("between", [",", "\n"])
def test_what_is_no_text_costs_one_character(tmp_path, content, between):
    odd = {"id": "1", "conversations": [{"from": "human", "value": "Hi % there"}]}
    rows = between.join(json.dumps(row, ensure_ascii=False) for row in (odd, ONE["sharegpt"]))
    text = rows if between == "\n" else f"[{rows}]"
    found, parts = read(tmp_path / "upload", content(text), "export.json")
    assert found == "sharegpt"
    talks = [part.messages for part in parts if isinstance(part, ReadConversation)]
    assert len(parts) == len(talks) == 2
    assert talks[0][0].content.startswith("Hi ") and talks[0][0].content.endswith(" there")


@pytest.mark.parametrize(
    ("name", "content", "program"),
    [
        ("a/mem0.json", {"results": [{"memory": "Lives in Bonn"}]}, "mem0"),
        ("own.json", [{"memory_type": "fact", "content": "Lives in Bonn"}], "commonplace-memories"),
        ("Data/MEMORIES.JSON", [{"conversations_memory": "She lives in Bonn."}], "claude"),
    ],
)
def test_memories_are_found_in_a_zip_beside_other_files(tmp_path, name, content, program):
    upload = zipped({name: json.dumps(content), "README.md": "# From my other assistant"})
    found, parts = read(tmp_path / "upload", upload, "memories.zip")
    assert found == program
    assert [part.content.endswith("lives in Bonn.") or part.content == "Lives in Bonn" for part in parts] == [True]
