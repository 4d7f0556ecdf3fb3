"""ChatGPT's exports: what tools made belongs to the reply. Canvases, citations and thoughts: odd_exports.json."""

from pathlib import Path
from typing import Any

import pytest

from testkit.exports import node, zipped
from webapp.transfer.content import ReadConversation
from webapp.transfer.readers import READERS
from webapp.transfer.sources import Upload

PICTURE = b"\x89PNG"


def talk(*steps: dict[str, Any]) -> dict[str, Any]:
    """A conversation of a question and these steps, one after the other."""
    nodes = [node("root", None), node("q", "root", "user", "Draw a heron", 1_735_800_000.0)]
    for number, step in enumerate(steps):
        fields = {"text": "", "at": 1_735_800_001.0 + number} | step
        nodes.append(node(f"s{number}", nodes[-1]["id"], **fields))
    return {"conversation_id": "c", "mapping": {one["id"]: one for one in nodes}, "current_node": nodes[-1]["id"]}


def read(tmp_path: Path, item: dict[str, Any], **members: bytes) -> ReadConversation:
    path = tmp_path / "export.zip"
    path.write_bytes(zipped({"conversations.json": [item], **members}))
    with Upload(path, path.name) as upload:
        return next(part for part in READERS["chatgpt"].read(upload) if isinstance(part, ReadConversation))


def made_by(name: str, pointer: str) -> dict[str, Any]:
    """The message of a tool with a picture, as a part or as what code made."""
    part = {"content_type": "image_asset_pointer", "asset_pointer": pointer}
    if name == "python":
        made = {"aggregate_result": {"messages": [{"message_type": "image", "image_url": pointer}]}}
        return {"role": "tool", "content": {"content_type": "execution_output", "text": "saved"}, "metadata": made}
    return {"role": "tool", "content": {"content_type": "multimodal_text", "parts": [part]}}


REPLY = {"role": "assistant", "text": "Here it is."}


@pytest.mark.parametrize("tool", ["dalle.text2im", "python"])
@pytest.mark.parametrize(
    ("pointer", "member"),
    [
        ("file-service://file-abc", "dalle-generations/file-abc-11111111-2222.webp"),
        ("file-service://file-abc", "file-abc.dat"),
        ("sediment://file_00ab", "user-x/file_00ab-sanitized.png"),
        ("sediment://0f9e#file_00ab#p_0.jpg", "file_00ab.png"),
        ("file-service://file-a_b-C", "file-a_b-C-plot.png"),
    ],
)
def test_a_picture_that_a_tool_made_belongs_to_the_reply(tmp_path, tool, pointer, member):
    others = {"file-abcd-other.png": PICTURE, "file_00abc.png": PICTURE}
    found = read(tmp_path, talk(made_by(tool, pointer), REPLY), **others, **{member: PICTURE})
    assert [(one.role, one.content) for one in found.messages] == [
        ("user", "Draw a heron"),
        ("assistant", "Here it is."),
    ]
    assert [file.member for file in found.messages[1].files] == [member]


def test_a_picture_without_a_reply_after_it_is_one(tmp_path):
    steps = (made_by("dalle", "file-service://file-abc"), {"role": "user", "text": "Nice"})
    found = read(tmp_path, talk(*steps), **{"file-abc-x.png": PICTURE})
    assert [(one.role, one.content, len(one.files)) for one in found.messages][1:] == [
        ("assistant", "[image]", 1),
        ("user", "Nice", 0),
    ]


def test_what_is_missing_is_named_and_counted(tmp_path):
    attached = {"attachments": [{"id": "file-9", "name": "plan.pdf"}]}
    steps = (made_by("dalle", "file-service://file-abc"), REPLY, {"role": "user", "text": "Read", "metadata": attached})
    found = read(tmp_path, talk(*steps))
    assert [one.content for one in found.messages][1:] == ["[image]\n\nHere it is.", "Read\n\n[plan.pdf]"]
    assert found.left_out == {"files that are not in the export": 2}
