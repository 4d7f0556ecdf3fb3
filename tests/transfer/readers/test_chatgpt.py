"""ChatGPT's exports: what tools made belongs to the reply, canvases are text, citations are links."""

import json
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


def canvas(call: dict[str, Any], *, tool: str = "create_textdoc") -> dict[str, Any]:
    content = {"content_type": "code", "language": "json", "text": json.dumps(call)}
    return {"role": "assistant", "recipient": f"canmore.{tool}", "content": content}


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


def test_every_version_of_a_canvas_is_shown(tmp_path):
    poem = {"name": "poem", "type": "document", "content": "The heron stands (still)."}
    literal = {"updates": [{"pattern": r"\(still\)", "multiple": False, "replacement": "on one leg"}]}
    whole = {"updates": [{"pattern": ".*", "multiple": False, "replacement": "Gone."}]}
    strange = {"updates": [{"pattern": "(a+)+$", "multiple": False, "replacement": "b"}]}
    changes = [canvas(call, tool="update_textdoc") for call in (literal, whole, strange)]
    found = read(tmp_path, talk(canvas(poem), *changes, REPLY))
    assert [one.content for one in found.messages][1:] == [
        "**poem**\n\nThe heron stands (still).",
        "**poem**\n\nThe heron stands on one leg.",
        "**poem**\n\nGone.",
        "Here it is.",
    ]
    assert found.left_out == {"changes of documents that do not fit": 1}


def test_code_in_a_canvas_is_fenced(tmp_path):
    call = {"name": "tool", "type": "code/python", "content": "print('```')"}
    found = read(tmp_path, talk(canvas(call)))
    assert found.messages[-1].content == "**tool**\n\n````python\nprint('```')\n````"


@pytest.mark.parametrize("repeats", [True, False])
def test_a_report_of_deep_research_is_shown_once(tmp_path, repeats):
    done = {"is_async_task_result_message": True}
    steps = [{"role": role, "text": "# Report", "metadata": done} for role in ("tool", "assistant")]
    found = read(tmp_path, talk(*steps[: 2 if repeats else 1]))
    assert [one.content for one in found.messages] == ["Draw a heron", "# Report"]


def test_thoughts_are_folded_and_no_text(tmp_path):
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "x", "content": "musings"}]}
    found = read(tmp_path, talk({"role": "assistant", "content": thoughts}, REPLY))
    assert [(one.content, one.thought) for one in found.messages][1:] == [("Here it is.", "musings")]


def test_citations_are_links(tmp_path):
    new = "\ue200cite\ue202turn0search1\ue201"
    references = [
        {"matched_text": new, "type": "grouped_webpages", "items": [{"title": "Birds", "url": "https://b.example"}]},
        {"matched_text": " ", "type": "sources_footnote"},
        {"matched_text": "\ue200x\ue201", "alt": "([Herons](https://h.example))"},
    ]
    text = f"They stand{new} and fish \ue200x\ue201.\ue200gone\ue201"
    reply = {"role": "assistant", "text": text, "metadata": {"content_references": references}}
    assert read(tmp_path, talk(reply)).messages[-1].content == (
        "They stand ([Birds](https://b.example)) and fish ([Herons](https://h.example))."
    )
    old = {"citations": [{"start_ix": 2, "end_ix": 12, "metadata": {"title": "B", "url": "https://b.example"}}]}
    reply = {"role": "assistant", "text": "So【4†source】.", "metadata": old}
    assert read(tmp_path, talk(reply)).messages[-1].content == "So ([B](https://b.example))."


def test_steps_of_tools_are_counted(tmp_path):
    steps = (
        {"role": "assistant", "text": "plot(1)", "recipient": "python"},
        {"role": "tool", "text": "done"},
        {"role": "assistant", "content": {"content_type": "text", "parts": [""]}},
    )
    found = read(tmp_path, talk(*steps, REPLY))
    assert found.left_out == {"steps of tools": 2, "hidden messages": 1}
