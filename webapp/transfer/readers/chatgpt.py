"""ChatGPT's data export: a ZIP, a folder or single files of conversations, each a tree of messages.

Memories are read from calls of the `bio` tool, the latest list given to the model, and custom instructions.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.i18n.marks import N_
from webapp.transfer.content import Omission, Part, ReadConversation, ReadFile, ReadMemory, ReadMessage, Role
from webapp.transfer.field_values import instant, text_or_none
from webapp.transfer.json_text import object_in
from webapp.transfer.message_tree import current_branch
from webapp.transfer.readers.chatgpt_text import IMAGE, text_of, with_citations
from webapp.transfer.readers.memory_rows import MEMORY_FILE, read_rows
from webapp.transfer.readers.records import Assets, SideDocuments, as_dict, as_list, read_records
from webapp.transfer.sources import Upload

_FILE = re.compile(r"(?:^|/)conversations[^/]*\.jsonl?$", re.IGNORECASE)
_MEMORY_LINE = re.compile(r"^[ \t]*\d+\.[ \t]*(?:\[(\d{4}-\d\d-\d\d)\]\.?)?[ \t]*(\S.*)$", re.MULTILINE)
_CANVAS = "canmore."
"""The tool that writes canvases."""
_HIDDEN_TYPES = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "system_error")


class ChatGPT:
    """Reads ChatGPT's export."""

    name, label = "chatgpt", "ChatGPT"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a conversation with a `mapping` is in it."""
        return upload.has_record(_files(upload), _is_conversation)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield conversations, then memories."""
        memories, assets = _Memories(), Assets(upload)
        yield from read_records(
            upload, _files(upload), _is_conversation, lambda item: [_conversation(item, memories, assets)]
        )
        yield from memories.memories()
        yield from read_rows(upload, filter(MEMORY_FILE.search, upload.names))


class _Memories:
    """ChatGPT's memories, collected while reading the conversations."""

    def __init__(self) -> None:
        self._noted_lines: dict[str, ReadMemory] = {}
        self._listed: tuple[float, list[ReadMemory]] = (-1.0, [])
        self._instructions: tuple[float, list[ReadMemory]] = (-1.0, [])

    def note(self, message: dict[str, Any], at: datetime | None) -> None:
        """Take in what a message that is not shown says about the person."""
        content = message.get("content") or {}
        kind, moment = content.get("content_type"), at.timestamp() if at else 0.0
        own_context = as_dict(message["metadata"].get("user_context_message_data"))
        profile = content.get("user_profile") or own_context.get("about_user_message")
        instructions = content.get("user_instructions") or own_context.get("about_model_message")
        if message.get("recipient") == "bio":
            for line in text_of({**content, "content_type": "text"}).splitlines():
                if line.strip():
                    self._noted_lines.setdefault(line.strip(), ReadMemory(line.strip(), at))
        elif kind == "model_editable_context" and moment >= self._listed[0]:
            lines = _MEMORY_LINE.findall(text_or_none(content.get("model_set_context")) or "")
            if lines:
                self._listed = (moment, [ReadMemory(text.strip(), instant(day)) for day, text in lines])
        elif moment >= self._instructions[0]:
            own_memories = [ReadMemory(text, at) for text in _lines(profile)]
            own_memories += [ReadMemory(text, at, "instruction") for text in _lines(instructions)]
            if own_memories:
                self._instructions = (moment, own_memories)

    def memories(self) -> Iterator[ReadMemory]:
        """Yield the latest list or, without one, everything the `bio` tool was told; then the custom instructions."""
        yield from self._listed[1] or self._noted_lines.values()
        yield from self._instructions[1]


@dataclass
class _ConversationBuilder:
    """The messages that a conversation becomes, one by one; files and thoughts wait for the reply they belong to."""

    assets: Assets
    model: str | None
    messages: list[ReadMessage] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    files: list[ReadFile] = field(default_factory=list)
    missing: int = 0
    thoughts: list[str] = field(default_factory=list)
    documents: SideDocuments = field(default_factory=SideDocuments)

    def show(self, key: str, message: dict[str, Any], moment: datetime | None) -> None:
        """Take in a message that ChatGPT shows."""
        content, metadata = as_dict(message.get("content")), as_dict(message.get("metadata"))
        files, missing = self.assets.of(content, metadata)
        text = with_citations(text_of(content), metadata).strip()
        if files and text != IMAGE:
            text = text.replace(IMAGE, "", len(files)).strip() or IMAGE
        text = "\n\n".join([text, *(f"[{name}]" for name in missing if name)]).strip()
        self.left_out[Omission.MISSING_FILES] += len(missing)
        is_user = as_dict(message.get("author")).get("role") == "user"
        if is_user:
            self.finish(key, moment)
        repeated = self.messages[-1].content if self.messages else None
        if metadata.get("is_async_task_result_message") and text == repeated:
            return
        if not text:
            self.left_out[Omission.HIDDEN] += 1
            return
        model = None if is_user else text_or_none(metadata.get("model_slug")) or self.model
        role: Role = "user" if is_user else "assistant"
        self._add(ReadMessage(str(message.get("id") or key), role, text, moment, model, files))

    def use_tool(self, key: str, message: dict[str, Any], moment: datetime | None) -> bool:
        """Take in what a message to or from a tool made; returns whether it was one."""
        content, metadata = as_dict(message.get("content")), as_dict(message.get("metadata"))
        recipient, kind = str(message.get("recipient") or ""), content.get("content_type")
        if kind == "thoughts":
            self.thoughts += [str(as_dict(item).get("content") or "") for item in as_list(content.get("thoughts"))]
            return True
        if recipient.startswith(_CANVAS):
            for text in self._canvas(content):
                self._add(ReadMessage(str(message.get("id") or key), "assistant", text, moment, self.model))
            return True
        if as_dict(message.get("author")).get("role") == "tool":
            if metadata.get("is_async_task_result_message"):
                self.show(key, message, moment)
                return True
            files, missing = self.assets.of(content, metadata)
            self.files += files
            self.missing += len(missing)
            self.left_out[Omission.MISSING_FILES] += len(missing)
            self.left_out[Omission.STEPS] += not (files or missing)
            return True
        if recipient not in ("", "all", "bio"):
            self.left_out[Omission.STEPS] += 1
            return True
        return False

    def finish(self, key: str, moment: datetime | None) -> None:
        """Show the files for which no reply came."""
        if self.files or self.missing:
            self._add(ReadMessage(f"{key}-files", "assistant", "" if self.missing else IMAGE, moment, self.model))

    def _add(self, message: ReadMessage) -> None:
        if message.role == "assistant":
            message.files, self.files = [*self.files, *message.files], []
            message.content = "\n\n".join([*[IMAGE] * self.missing, message.content]).strip()
            self.missing = 0
            message.thought, self.thoughts = "\n\n".join(filter(None, self.thoughts)), []
        self.messages.append(message)

    def _canvas(self, content: dict[str, Any]) -> Iterator[str]:
        """Yield the versions of a document that one call of its tool writes."""
        call = object_in(content.get("text") or "".join(map(str, as_list(content.get("parts")))))
        kind, _, language = str(call.get("type") or "").partition("/")
        if isinstance(call.get("content"), str):
            title = str(call.get("name") or "")
            yield self.documents.write(title, call["content"], title, language if kind == "code" else "")
            return
        document = None
        for change in map(as_dict, as_list(call.get("updates"))):
            key, pattern, new = self.documents.latest(), change.get("pattern"), change.get("replacement")
            result = None
            if isinstance(pattern, str) and isinstance(new, str):
                result = self.documents.substitute(key, pattern, new, replace_all=bool(change.get("multiple")))
            document = result or document
            self.left_out[Omission.CHANGES] += result is None
        self.left_out[Omission.STEPS] += not call.get("updates")
        if document:
            yield document


def _files(upload: Upload) -> list[str]:
    if not upload.is_archive:
        return upload.json_names
    return sorted(filter(_FILE.search, upload.names)) or upload.json_names


def _is_conversation(item: Any) -> bool:
    """Return whether an item has ChatGPT's nodes, or none: others' messages name no author."""
    nodes = as_dict(item).get("mapping")
    if not isinstance(nodes, dict):
        return False
    messages = [message for node in nodes.values() if (message := as_dict(as_dict(node).get("message")))]
    return not messages or any("author" in message for message in messages)


def _conversation(item: Any, memories: _Memories, assets: Assets) -> ReadConversation:
    if not isinstance(item, dict):
        raise ValueError(N_("it is not a conversation"))
    nodes = item.get("mapping")
    if not isinstance(nodes, dict) or not nodes:
        raise ValueError(N_("it has no messages (no “mapping”)"))
    remembers = not item.get("is_do_not_remember")
    nodes = {key: {**node, "message": _message(node.get("message"))} for key, node in nodes.items() if as_dict(node)}
    path = current_branch(
        nodes, "parent", item.get("current_node"), lambda node: instant(as_dict(node["message"]).get("create_time"))
    )
    builder, moment, key = _ConversationBuilder(assets, text_or_none(item.get("default_model_slug"))), None, ""
    for key in path:
        message = nodes[key]["message"]
        if message is None:
            continue
        moment = instant(message.get("create_time"))
        if _is_shown(message):
            builder.show(key, message, moment)
            continue
        if remembers:
            memories.note(message, moment)
        if not builder.use_tool(key, message, moment):
            builder.left_out[Omission.HIDDEN] += 1
    builder.finish(key, moment)
    seen = set(path)
    builder.left_out[Omission.OTHER_VERSIONS] += sum(
        node["message"] is not None for key, node in nodes.items() if key not in seen
    )
    return ReadConversation(
        source_id=str(item.get("conversation_id") or item.get("id") or item.get("current_node") or next(iter(nodes))),
        title=text_or_none(item.get("title")),
        messages=builder.messages,
        created_at=instant(item.get("create_time")),
        updated_at=instant(item.get("update_time")),
        is_archived=bool(item.get("is_archived")),
        is_pinned=bool(item.get("is_starred")),
        may_remember=remembers,
        left_out=+builder.left_out,
    )


def _message(message: Any) -> dict[str, Any] | None:
    """Return a message with its parts as they usually are; None if it is none."""
    if not isinstance(message, dict):
        return None
    author, content = message.get("author"), message.get("content")
    author = {"role": author} if isinstance(author, str) else as_dict(author)
    content = {"parts": [content]} if isinstance(content, str) else as_dict(content)
    if isinstance(content.get("parts"), str):
        content = {**content, "parts": [content["parts"]]}
    return {**message, "author": author, "content": content, "metadata": as_dict(message.get("metadata"))}


def _is_shown(message: dict[str, Any]) -> bool:
    metadata = message["metadata"]
    return (
        message["author"].get("role") in ("user", "assistant")
        and message.get("recipient") in (None, "all")
        and message.get("channel") != "analysis"
        and message.get("weight") != 0
        and not metadata.get("is_visually_hidden_from_conversation")
        and message["content"].get("content_type") not in _HIDDEN_TYPES
    )


def _lines(text: Any) -> list[str]:
    """Return the statements in a text that people wrote about themselves, without what ChatGPT puts around it."""
    if not isinstance(text, str):
        return []
    inner = re.search(r"```(?:\w*\n)?(.*?)```", text, re.DOTALL)
    lines = (inner.group(1) if inner else text).splitlines()
    return [line.strip(" -*•\t") for line in lines if len(line.strip(" -*•\t")) > 2 and not line.rstrip().endswith(":")]
