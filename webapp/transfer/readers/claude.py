"""Claude's data export: conversations, projects with their documents, and what Claude remembered.

The export does not say which conversation belongs to which project, so conversations are imported outside of projects.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from webapp.i18n.marks import N_
from webapp.text.sentences import sentence_texts
from webapp.transfer.content import Omission, Part, ReadConversation, ReadMemory, ReadMessage, ReadProject
from webapp.transfer.field_values import instant, text_or_none
from webapp.transfer.message_tree import by_id, count_omissions, current_branch
from webapp.transfer.readers.records import SideDocuments, as_dict, as_list, read_records, split_thought, text_file
from webapp.transfer.sources import Upload

_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:[^/]*|/[^/]+)\.jsonl?$", re.IGNORECASE)
_PROJECTS = re.compile(r"(?:^|/)projects(?:\.json|/[^/]+\.json)$", re.IGNORECASE)
_MEMORIES = re.compile(r"(?:^|/)memories\.json$", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"```\n?This block is not supported on your current device yet\.\n?```")
"""What the export has in `text` for each block that is no text."""
_ARTIFACT = re.compile(r"(?<!\s)\s*<antArtifact\s([^<>]*)>(.*?)(?:</antArtifact>\s*|\Z)", re.DOTALL)
_ATTRIBUTE = re.compile(r'(?<!\w)(\w+)="([^"]*)"')
_MEMORY_KEYS = {"conversations_memory", "project_memories"}
_STEPS = ("tool_use", "tool_result", "server_tool_use")
_MAX_INLINE = 20_000
"""An attachment's text of at most this many characters stays in its message; a longer one becomes a text file."""


class Claude:
    """Reads Claude's export."""

    name, label = "claude", "Claude"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a conversation with `chat_messages` is in it, or Claude's memories are."""
        return upload.has_record(upload.json_names, _is_ours)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Projects, conversations, memories."""
        yield from read_records(upload, sorted(filter(_PROJECTS.search, upload.names)), _is_project, _projects)
        memories = list(filter(_MEMORIES.search, upload.json_names))
        others = [name for name in upload.json_names if not (_PROJECTS.search(name) or name in memories)]
        talks = [name for name in others if not upload.is_archive or _CONVERSATIONS.search(name)]
        yield from read_records(upload, [*talks, *memories], _is_ours, _parts)


def _is_ours(item: Any) -> bool:
    return isinstance(item, dict) and bool({"chat_messages", "prompt_template", *_MEMORY_KEYS} & item.keys())


def _parts(item: Any) -> Iterator[Part]:
    if isinstance(item, dict) and "chat_messages" not in item and _MEMORY_KEYS & item.keys():
        yield from _memories(item)
    else:
        yield _conversation(item)


def _conversation(item: Any) -> ReadConversation:
    if not isinstance(item, dict) or not isinstance(item.get("chat_messages"), list):
        raise ValueError(N_("it has no messages"))
    rows = by_id(item["chat_messages"], "uuid")
    leaf = item.get("current_leaf_message_uuid")
    path = current_branch(rows, "parent_message_uuid", leaf, lambda row: instant(row.get("created_at")))
    documents, left_out = SideDocuments(), Counter[str]()
    messages = [message for key in path if (message := _message(key, rows[key], documents, left_out)) is not None]
    return ReadConversation(
        source_id=str(item.get("uuid") or ""),
        title=text_or_none(item.get("name")),
        messages=messages,
        created_at=instant(item.get("created_at")),
        updated_at=instant(item.get("updated_at")),
        is_pinned=bool(item.get("is_starred")),
        left_out=+(left_out + count_omissions(rows, path, len(messages))),
    )


def _message(key: str, row: dict[str, Any], documents: SideDocuments, left_out: Counter[str]) -> ReadMessage | None:
    content = row.get("content")
    content = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
    blocks = [block for block in content if isinstance(block, dict)]
    texts = [part for block in blocks if (part := _text_of(block, documents, left_out))]
    text = "\n\n".join(texts).strip()
    if not blocks or (not text and not any(block.get("type") in _STEPS for block in blocks)):
        text = _PLACEHOLDER.sub("", text_or_none(row.get("text")) or "").strip()
    files = []
    for attached in as_list(row.get("attachments")):
        content = text_or_none(attached.get("extracted_content")) if isinstance(attached, dict) else None
        if content:
            title = attached.get("file_name") or "attachment"
            attachment = text_file(content, title) if len(content) > _MAX_INLINE else None
            files += [attachment] if attachment else []
            text += f"\n\n[{title}]" if attachment else f"\n\n[{title}]\n\n{content}"
    others = [*as_list(row.get("files")), *as_list(row.get("files_v2"))]
    for name in dict.fromkeys(text_or_none(as_dict(file).get("file_name")) for file in others):
        if name:
            text += f"\n\n[{name}]"
            left_out[Omission.MISSING_FILES] += 1
    if not text.strip():
        return None
    role = "user" if str(row.get("sender")).lower() in ("human", "user") else "assistant"
    thoughts = [text_or_none(block.get("thinking")) for block in blocks if block.get("type") == "thinking"]
    text, marked = split_thought(text) if role == "assistant" else (text, "")
    thought = "\n\n".join(filter(None, (*thoughts, marked)))
    return ReadMessage(key, role, text.strip(), instant(row.get("created_at")), None, files, thought)  # type: ignore[arg-type]  # one of two words


def _text_of(block: dict[str, Any], documents: SideDocuments, left_out: Counter[str]) -> str:
    """Return the text of a block as Claude shows it: its words, or the document that it writes or changes."""
    kind = block.get("type")
    if kind in ("text", "voice_note"):
        text = block["text"] if isinstance(block.get("text"), str) else ""
        return _ARTIFACT.sub(partial(_artifact, documents), text)
    if kind not in _STEPS:
        return ""
    call = as_dict(block.get("input"))
    key = str(call.get("id") or call.get("path") or "")
    content = call.get("content") if isinstance(call.get("content"), str) else call.get("file_text")
    old, new = call.get("old_str"), call.get("new_str")
    if key and isinstance(content, str):
        return documents.write(key, content, text_or_none(call.get("title")) or "", _language(call, key))
    if key and isinstance(old, str) and isinstance(new, str):
        edit = documents.replace(key, old, new)
        left_out[Omission.CHANGES] += edit is None
        return edit or ""
    left_out[Omission.STEPS] += 1
    return ""


def _artifact(documents: SideDocuments, match: re.Match[str]) -> str:
    """Return a document that stands in the text, as Claude wrote them in 2024, as it is shown."""
    call = dict(_ATTRIBUTE.findall(match[1]))
    key, text = call.get("identifier", ""), match[2].strip("\n")
    return f"\n\n{documents.write(key, text, call.get('title', ''), _language(call, key))}\n\n"


def _language(call: dict[str, Any], key: str) -> str:
    """Return the language of a document: that of its code, or its kind; a file's is its ending."""
    if language := text_or_none(call.get("language")):
        return language
    kind = str(call.get("type") or "").rpartition("/")[2].rpartition(".")[2].partition("+")[0]
    return kind or (key.rpartition(".")[2] if "." in key else "")


def _is_project(item: Any) -> bool:
    return isinstance(item, dict) and text_or_none(item.get("name")) is not None


def _projects(item: Any) -> Iterator[ReadProject]:
    if _is_project(item):
        documents = [
            (str(doc.get("filename") or "Document"), doc["content"])
            for doc in map(as_dict, as_list(item.get("docs")))
            if text_or_none(doc.get("content"))
        ]
        yield ReadProject(
            source_id=str(item.get("uuid") or item["name"]),
            name=item["name"].strip(),
            description=text_or_none(item.get("description")) or "",
            instructions=text_or_none(item.get("prompt_template")) or "",
            documents=documents,
        )


def _memories(item: dict[str, Any]) -> Iterator[ReadMemory]:
    for text in statements(item.get("conversations_memory")):
        yield ReadMemory(text)
    for project, remembered in as_dict(item.get("project_memories")).items():
        for text in statements(remembered):
            yield ReadMemory(text, project=str(project))


def statements(text: Any) -> list[str]:
    """Return the statements of a summary in Markdown: its sentences, without headings, emphasis and list marks."""
    if not isinstance(text, str):
        return []
    statements = []
    for raw in text.splitlines():
        line = re.sub(r"\*\*|__|`", "", raw).strip()
        if not line or line.startswith("#") or line.endswith(":") or not re.search(r"[.!?。]|\w\s+\w", line):
            continue
        if re.fullmatch(r"\*\*[^*]+\*\*", raw.strip()):
            continue
        line = re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", line)
        statements += [part for part in sentence_texts(line) if len(part) > 3]
    return statements
