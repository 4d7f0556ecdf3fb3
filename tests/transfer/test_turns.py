"""Exports that are lists of turns, of each program whose own fields differ from the usual: read as it showed them."""

import json

import pytest

from testkit.exports import HIDDEN, zipped
from webapp.transfer.archives import ImportRefused
from webapp.transfer.content import MISSING_FILES, STEPS
from webapp.transfer.readers import recognise
from webapp.transfer.sources import Upload

AT = 1_700_000_000_000


@pytest.fixture
def talks(tmp_path):
    """`talks(content, filename)`: the conversations that are found."""

    def work(content, filename="a.json"):
        path = tmp_path / "upload"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with Upload(path, filename) as upload:
            return list(recognise(upload).read(upload))

    return work


def _lines(*rows):
    return "\n".join(map(json.dumps, rows)).encode()


def _text(text, kind="text"):
    return {"type": kind, "text": text}


def _code_line(key, parent, role, content, **more):
    message = {"id": "msg", "role": role, "content": content}
    return {"type": role, "uuid": key, "parentUuid": parent, "sessionId": "s", "message": message, **more}


NEXTCHAT = {
    "chat-next-web-store": {
        "sessions": [
            {
                "id": "s",
                "topic": "Tea",
                "lastUpdate": AT,
                "mask": {"context": [{"role": "system", "content": HIDDEN}]},
                "messages": [
                    {"id": "a", "date": "11/29/2025, 8:00:00 PM", "role": "user", "content": "How?"},
                    {"id": "b", "role": "assistant", "content": HIDDEN, "isError": True},
                    {
                        "id": "c",
                        "role": "assistant",
                        "content": [_text("At 80."), {"type": "image_url", "image_url": {}}],
                    },
                ],
            }
        ]
    },
    "prompt-store": {"prompts": {"p": {"id": "p", "content": HIDDEN}}},
}
CHATBOX = {
    "settings": {"language": "en"},
    "chat-sessions-list": [{"id": "s", "name": "Tea"}],
    "session:s": {
        "id": "s",
        "name": "Tea",
        "messages": [
            {"id": "0", "role": "system", "contentParts": [_text(HIDDEN)]},
            {"id": "a", "role": "user", "contentParts": [_text("How?")], "timestamp": AT},
            {
                "id": "b",
                "role": "assistant",
                "timestamp": AT + 1,
                "contentParts": [
                    _text("Thought.", "reasoning"),
                    {"type": "tool-call", "args": _text(HIDDEN), "result": _text(HIDDEN)},
                    _text("At 80."),
                ],
            },
        ],
        "threads": [{"id": "t", "name": "Before", "messages": [{"role": "user", "contentParts": [_text("Earlier?")]}]}],
    },
}
LM_STUDIO = {
    "name": "Tea",
    "createdAt": AT,
    "systemPrompt": HIDDEN,
    "messages": [
        {
            "versions": [{"role": "user", "content": [_text(HIDDEN)]}, {"role": "user", "content": [_text("How?")]}],
            "currentlySelected": 1,
        },
        {
            "versions": [
                {
                    "role": "assistant",
                    "steps": [
                        {"type": "contentBlock", "style": {"type": "thinking"}, "content": [_text("Thought.")]},
                        {"type": "toolCallRequest", "parameters": _text(HIDDEN)},
                        {"type": "contentBlock", "content": [_text("At "), _text("80.")]},
                    ],
                }
            ],
            "currentlySelected": 0,
        },
    ],
}
SILLYTAVERN = _lines(
    {"user_name": "You", "character_name": "Ada", "chat_metadata": {}},
    {"name": "You", "is_user": True, "is_system": False, "send_date": "July 19, 2024 8:34pm", "mes": "How?"},
    {"name": "Ada", "is_user": False, "mes": "At 80.", "extra": {"reasoning": "Thought."}, "swipes": [HIDDEN]},
    {"name": "Note", "is_user": False, "is_system": True, "mes": HIDDEN},
)
CHARACTER_AI = {
    "turns": [
        {
            "create_time": "2024-01-01T10:00:02Z",
            "author": {"author_id": "1", "name": "Ada"},
            "candidates": [
                {"candidate_id": "x", "raw_content": HIDDEN},
                {"candidate_id": "y", "raw_content": "At 80."},
            ],
            "primary_candidate_id": "y",
        },
        {
            "create_time": "2024-01-01T10:00:01Z",
            "author": {"author_id": "2", "name": "Me", "is_human": True},
            "candidates": [{"candidate_id": "z", "raw_content": "How?"}],
            "primary_candidate_id": "z",
        },
    ]
}
CHARACTER_AI_DUMP = {
    "info": {"character": {"name": "Ada"}},
    "histories": {
        "histories": [
            {
                "external_id": "h",
                "msgs": [
                    {"src": {"is_human": True}, "text": "How?"},
                    {"src": {"is_human": False}, "text": HIDDEN, "is_alternative": True},
                    {"src": {"is_human": False}, "text": "At 80.", "is_alternative": False},
                ],
            }
        ]
    },
}
CLAUDE_CODE = _lines(
    {"type": "summary", "summary": HIDDEN, "leafUuid": "e"},
    _code_line("a", None, "user", "How?", timestamp="2025-01-01T10:00:00Z"),
    _code_line("b", "a", "user", HIDDEN, isMeta=True, timestamp="2025-01-01T10:00:01Z"),
    _code_line("c", "b", "assistant", [{"type": "thinking", "thinking": "Thought."}], timestamp="2025-01-01T10:00:02Z"),
    _code_line("d", "c", "assistant", [{"type": "tool_use", "input": _text(HIDDEN)}], timestamp="2025-01-01T10:00:03Z"),
    _code_line("e", "d", "user", [{"type": "tool_result", "content": HIDDEN}], timestamp="2025-01-01T10:00:04Z"),
    _code_line("f", "e", "assistant", [_text("At 80.")], timestamp="2025-01-01T10:00:05Z"),
    _code_line("g", None, "assistant", [_text(HIDDEN)], isSidechain=True, timestamp="2025-01-01T10:00:09Z"),
)
CODEX = _lines(
    {"type": "session_meta", "payload": {"id": "s"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [_text("How?", "input_text")]}},
    {"type": "response_item", "payload": {"type": "function_call", "arguments": HIDDEN}},
    {"type": "response_item", "payload": {"role": "assistant", "content": [_text("At 80.", "output_text")]}},
)
CHERRY_STUDIO = zipped(
    {
        "data.json": {
            "indexedDB": {
                "topics": [
                    {
                        "id": "t",
                        "messages": [
                            {"id": "a", "role": "user", "blocks": ["1"]},
                            {"id": "b", "role": "assistant", "blocks": ["2", "3", "gone"], "model": {"name": "GPT"}},
                        ],
                    }
                ],
                "message_blocks": [
                    {"id": "1", "type": "main_text", "content": "How?"},
                    {"id": "2", "type": "thinking", "content": "Thought."},
                    {"id": "3", "type": "main_text", "content": "At 80."},
                ],
            }
        }
    }
)


@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("nextchat.json", NEXTCHAT),
        ("chatbox.json", CHATBOX),
        ("chatbox-old.json", {"settings": {}, "chat-sessions": [CHATBOX["session:s"]]}),
        ("1.conversation.json", LM_STUDIO),
        ("Ada.jsonl", SILLYTAVERN),
        ("character.json", CHARACTER_AI),
        ("dump.json", CHARACTER_AI_DUMP),
        ("0205f437.jsonl", CLAUDE_CODE),
        ("rollout.jsonl", CODEX),
        ("cherry.zip", CHERRY_STUDIO),
    ],
)
def test_what_each_program_showed_is_read_and_nothing_else(talks, filename, content):
    found = talks(content, filename)
    assert [(message.role, message.content) for message in found[0].messages] == [
        ("user", "How?"),
        ("assistant", "At 80."),
    ]
    assert HIDDEN not in str(found)
    assert found[0].messages[1].thought == ("Thought." if b"Thought." in json.dumps(str(found)).encode() else "")


def test_titles_dates_models_and_what_a_conversation_grew_out_of_come_along(talks):
    now, before = talks(CHATBOX)
    assert (now.title, now.messages[1].thought, now.left_out[STEPS], before.title) == ("Tea", "Thought.", 1, "Before")
    (talk,) = talks(NEXTCHAT)
    assert (talk.title, talk.created_at.year, talk.left_out[MISSING_FILES]) == ("Tea", 2023, 1)
    assert talks(SILLYTAVERN, "Ada.jsonl")[0].created_at.isoformat() == "2024-07-19T20:34:00+00:00"
    assert talks(CHERRY_STUDIO, "a.zip")[0].messages[1].model == "GPT"
    assert [talk.messages[-1].thought for talk in (*talks(CLAUDE_CODE, "a.jsonl"), *talks(LM_STUDIO))] == [
        "Thought."
    ] * 2


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    ],
)
def test_pictures_in_a_message_come_with_it(talks, part):
    (talk,) = talks({"messages": [{"role": "user", "content": [part]}, {"role": "assistant", "content": "A cat."}]})
    assert [(message.content, len(message.files)) for message in talk.messages] == [("[image]", 1), ("A cat.", 0)]


def test_turns_are_in_the_order_of_their_times(talks):
    rows = [{"role": "assistant", "content": "At 80.", "time": AT + 1}, {"role": "user", "content": "How?", "time": AT}]
    assert [message.content for message in talks({"messages": rows})[0].messages] == ["How?", "At 80."]


TABLES = [
    "role,content\nuser,How?\nassistant,At 80.\n",
    "Role;Message\nUser;How?\nAssistant;At 80.\n",
    "speaker\ttext\nhuman\tHow?\nai\tAt 80.\n",
    "author,text\nIda,How?\nbot,At 80.\n",
    "prompt,response\nHow?,At 80.\n",
    "sender,text,isCreatedByUser\nUser,How?,TRUE\nGPT-4,At 80.,FALSE\n",
]
TRANSCRIPTS = [
    "# Tea\n\n## User\n\nHow?\n\n## Assistant\n\nAt 80.\n",
    "#### Human:\nHow?\n\n---\n\n#### Assistant:\nAt 80.\n",
    "**User:** How?\n\n**Assistant:** At 80.\n",
    "User: How?\nAssistant: At 80.\n",
    "## You · 1 May 2026, 10:00\n\nHow?\n\n## Assistant · 1 May 2026, 10:01\n\nAt 80.\n",
]


@pytest.mark.parametrize(
    ("filename", "text"),
    [("a.tsv" if "\t" in text else "a.csv", text) for text in TABLES] + [("a.md", text) for text in TRANSCRIPTS],
)
def test_a_table_or_a_text_of_turns_is_a_conversation(talks, filename, text):
    (talk,) = talks(text.encode(), filename)
    assert [(message.role, message.content) for message in talk.messages] == [("user", "How?"), ("assistant", "At 80.")]


def test_a_table_may_hold_several_conversations(talks):
    table = b"Conversation,Author,Message\nTea,Human,How?\nTea,AI,At 80.\nCake,Human,Why?\n"
    assert [(talk.title, len(talk.messages)) for talk in talks(table, "a.csv")] == [("Tea", 2), ("Cake", 1)]


def test_a_model_is_known_by_its_coming_again(talks):
    text = b"## You\nHow?\n\n## GPT\nAt 80.\n\n## Why\n- x\n\n## You\nThanks\n\n## GPT\nSure.\n"
    assert [message.content for message in talks(text, "a.md")[0].messages][1] == "At 80.\n\n## Why\n- x"


@pytest.mark.parametrize(
    "text",
    [
        "**User:** a baker\n\n**Town:** Porto\n",
        "# User\n- Bakes.\n\n# Work\n- Sells.\n",
        "# User\n- Bakes.\n- Sells.\n\n# Assistant\n- Is to be brief.\n",
        "- Work: bakes\n- Work: sells\n- Home: Porto\n- Home: a boat\n",
        "* Work: bakes\n* Work: sells\n* Home: Porto\n* Home: a boat\n",
    ],
)
def test_a_list_with_a_head_is_no_transcript(talks, text):
    assert {type(part).__name__ for part in talks(text.encode(), "a.md")} == {"ReadMemory"}


def test_of_a_transcript_without_a_known_person_nothing_becomes_a_memory(talks):
    with pytest.raises(ImportRefused, match="not an export"):
        talks(b"**Ida:** How?\n\n**Kim:** At 80.\n\n**Ida:** Thanks.\n\n**Kim:** Sure.\n", "a.md")


@pytest.mark.parametrize(
    "row", [{"expiration_date": "2020-01-01"}, {"deleted": "TRUE"}, {"is_active": "false"}, {"isLatest": False}]
)
def test_a_memory_that_has_ended_is_left_alone(talks, row):
    rows = [{"memory": "Old.", **row}, {"memory": "New.", "deleted": "false", "is_active": "true"}]
    assert [memory.content for memory in talks(rows)] == ["New."]
