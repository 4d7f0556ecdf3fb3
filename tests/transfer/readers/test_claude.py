"""Claude's exports: artifacts and files as they were written step by step, thinking folded, the rest counted."""

from pathlib import Path
from typing import Any

from testkit.exports import zipped
from webapp.transfer.content import ReadConversation
from webapp.transfer.readers import READERS
from webapp.transfer.sources import Upload

PLACEHOLDER = "```\nThis block is not supported on your current device yet.\n```"


def read(tmp_path: Path, *replies: list[dict[str, Any]]) -> ReadConversation:
    rows = [
        {"uuid": str(number), "sender": "assistant", "text": PLACEHOLDER, "content": blocks}
        for number, blocks in enumerate(replies)
    ]
    path = tmp_path / "export.zip"
    path.write_bytes(zipped({"conversations.json": [{"uuid": "c", "chat_messages": rows}]}))
    with Upload(path, path.name) as upload:
        return next(part for part in READERS["claude"].read(upload) if isinstance(part, ReadConversation))


def use(**call: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "artifacts", "input": call}


def test_an_artifact_is_shown_with_each_change(tmp_path):
    found = read(
        tmp_path,
        [{"type": "text", "text": "Here."}, use(id="p", type="text/markdown", title="Page", content="# Heron\nOld.")],
        [use(id="p", command="update", old_str="Old.", new_str="New.")],
        [use(id="p", command="rewrite", content="All new.")],
        [use(id="p", command="update", old_str="Not there", new_str="x"), {"type": "text", "text": "Changed."}],
    )
    assert [one.content for one in found.messages] == [
        "Here.\n\n**Page**\n\n# Heron\nOld.",
        "**Page**\n\n# Heron\nNew.",
        "**Page**\n\nAll new.",
        "Changed.",
    ]
    assert found.left_out == {"changes of documents that do not fit": 1}


def test_code_and_files_are_fenced_in_their_language(tmp_path):
    found = read(
        tmp_path,
        [use(id="a", type="application/vnd.ant.code", language="rust", title="Main", content="fn main() {}")],
        [{"type": "tool_use", "name": "create_file", "input": {"path": "/tmp/a.py", "file_text": "print(1)"}}],
        [{"type": "tool_use", "name": "str_replace", "input": {"path": "/tmp/a.py", "old_str": "1", "new_str": "2"}}],
    )
    assert [one.content for one in found.messages] == [
        "**Main**\n\n```rust\nfn main() {}\n```",
        "**a.py**\n\n```py\nprint(1)\n```",
        "**a.py**\n\n```py\nprint(2)\n```",
    ]


def test_thinking_is_folded_and_steps_are_counted(tmp_path):
    result = {"type": "tool_result", "name": "repl", "content": [{"type": "text", "text": "2"}]}
    found = read(
        tmp_path,
        [
            {"type": "thinking", "thinking": "Adding."},
            {"type": "tool_use", "name": "repl", "input": {"code": "1+1"}},
            result,
            {"type": "text", "text": "It is 2."},
        ],
        [{"type": "tool_use", "name": "repl", "input": {"code": "2"}}],
    )
    assert [(one.content, one.thought) for one in found.messages] == [("It is 2.", "Adding.")]
    assert found.left_out == {"steps of tools": 3, "hidden messages": 1}
