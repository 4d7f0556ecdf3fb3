"""ChatGPT's data export: a ZIP, a folder or single files of conversations, each a tree of messages.

What is hidden in ChatGPT stays hidden here. There is no file of memories: they are read from what the model told its
`bio` tool, from the latest list of memories given to it, and from the custom instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from webapp.transfer.content import (
    Part,
    ReadConversation,
    ReadMemory,
    ReadMessage,
    Unreadable,
    branch,
    instant,
    newest_leaf,
    text_or_none,
)
from webapp.transfer.readers.attachments import Assets
from webapp.transfer.sources import ImportRefused, Upload

_FILE = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201|[\ue200-\ue206]|【\\d+[†:][^【】]*】")
_REMEMBERED = re.compile(r"^[ \t]*\d+\.[ \t]*\[(\d{4}-\d\d-\d\d)\]\.?[ \t]*(\S.*)$", re.MULTILINE)
IMAGE = "[image]"
"""Stands for a picture in a text."""
_SHOWN = {"text", "multimodal_text", "code"}


class ChatGPT:
    """Reads ChatGPT's export."""

    name, label = "chatgpt", "ChatGPT"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a conversation with a `mapping` is in it."""
        return any(_is_conversation(upload.first_item(name)) for name in _files(upload)[:2])

    def read(self, upload: Upload) -> Iterator[Part]:
        """Conversations, then memories."""
        known, assets = _Known(), Assets(upload)
        for name in _files(upload):
            try:
                for number, item in enumerate(upload.items(name), 1):
                    try:
                        yield _conversation(item, known, assets)
                    except Exception as error:  # whatever is wrong with one, the others are still read
                        yield Unreadable(_place(item, name, number), _reason(error))
            except ImportRefused:
                raise
            except ValueError as error:
                yield Unreadable(name, str(error))
        yield from known.memories()


class _Known:
    """What ChatGPT remembered, collected while reading the conversations."""

    def __init__(self) -> None:
        self._told: dict[str, ReadMemory] = {}
        self._listed: tuple[float, list[ReadMemory]] = (-1.0, [])
        self._instructions: tuple[float, list[ReadMemory]] = (-1.0, [])

    def note(self, message: dict[str, Any], at: datetime | None) -> None:
        """Take in what a message that is not shown says about the person."""
        content = message.get("content") or {}
        kind, moment = content.get("content_type"), at.timestamp() if at else 0.0
        if message.get("recipient") == "bio":
            for line in _text(content).splitlines():
                if line.strip():
                    self._told.setdefault(line.strip(), ReadMemory(line.strip(), at))
        elif kind == "model_editable_context" and moment >= self._listed[0]:
            listed = _REMEMBERED.findall(content.get("model_set_context") or "")
            if listed:
                self._listed = (moment, [ReadMemory(text.strip(), instant(day)) for day, text in listed])
        elif kind == "user_editable_context" and moment >= self._instructions[0]:
            wishes = [ReadMemory(text, at) for text in _lines(content.get("user_profile"))]
            wishes += [ReadMemory(text, at, "instruction") for text in _lines(content.get("user_instructions"))]
            if wishes:
                self._instructions = (moment, wishes)

    def memories(self) -> Iterator[ReadMemory]:
        """The latest list or, without one, everything the `bio` tool was told; then the custom instructions."""
        yield from self._listed[1] or self._told.values()
        yield from self._instructions[1]


def _files(upload: Upload) -> list[str]:
    if not upload.is_archive:
        return upload.names if upload.names[0].lower().endswith(".json") else []
    return sorted(name for name in upload.names if _FILE.search(name))


def _is_conversation(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("mapping"), dict)


def _conversation(item: Any, known: _Known, assets: Assets) -> ReadConversation:
    if not isinstance(item, dict):
        raise ValueError("it is not a conversation")
    nodes = item.get("mapping")
    if not isinstance(nodes, dict) or not nodes:
        raise ValueError("it has no messages (no “mapping”)")
    remembers = not item.get("is_do_not_remember")
    nodes = {key: node for key, node in nodes.items() if isinstance(node, dict)}
    parents = {key: node.get("parent") for key, node in nodes.items()}
    times = {key: _number((node.get("message") or {}).get("create_time")) for key, node in nodes.items()}
    leaf = item.get("current_node")
    path = branch(parents, leaf if leaf in nodes else newest_leaf(parents, times))
    messages, hidden = [], 0
    for key in path:
        message = nodes[key].get("message")
        if not isinstance(message, dict):
            continue
        at = instant(message.get("create_time"))
        if not _is_shown(message):
            hidden += 1
            if remembers:
                known.note(message, at)
            continue
        content, metadata = message.get("content") or {}, message.get("metadata") or {}
        files = assets.of(content, metadata)
        text = _CITATION.sub("", _text(content)).strip()
        if files and text != IMAGE:
            text = text.replace(IMAGE, "").strip() or IMAGE
        if not text:
            continue
        role = "user" if (message.get("author") or {}).get("role") == "user" else "assistant"
        model = metadata.get("model_slug") or item.get("default_model_slug") if role == "assistant" else None
        messages.append(ReadMessage(str(message.get("id") or key), role, text, at, text_or_none(model), files))  # type: ignore[arg-type]  # one of two words
    elsewhere = sum(isinstance(node.get("message"), dict) for key, node in nodes.items() if key not in set(path))
    return ReadConversation(
        source_id=str(item.get("conversation_id") or item.get("id") or item.get("current_node") or next(iter(nodes))),
        title=text_or_none(item.get("title")),
        messages=messages,
        created_at=instant(item.get("create_time")),
        updated_at=instant(item.get("update_time")),
        is_archived=bool(item.get("is_archived")),
        is_pinned=bool(item.get("is_starred")),
        may_remember=remembers,
        left_out=hidden + elsewhere,
    )


def _is_shown(message: dict[str, Any]) -> bool:
    role = (message.get("author") or {}).get("role")
    metadata = message.get("metadata") or {}
    return (
        role in ("user", "assistant")
        and message.get("recipient") in (None, "all")
        and message.get("weight") != 0
        and not metadata.get("is_visually_hidden_from_conversation")
        and (message.get("content") or {}).get("content_type") in _SHOWN
    )


def _text(content: dict[str, Any]) -> str:
    kind = content.get("content_type")
    if kind == "code":
        language = content.get("language")
        fence = language if isinstance(language, str) and language != "unknown" else ""
        return f"```{fence}\n{content.get('text') or ''}\n```"
    parts = content.get("parts")
    if not isinstance(parts, list):
        return content.get("text") or ""
    return "\n\n".join(text for text in map(_part, parts) if text)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = part.get("content_type")
    if kind == "audio_transcription":
        return part.get("text") or ""
    if kind == "image_asset_pointer":
        return IMAGE
    return part.get("text") if isinstance(part.get("text"), str) else ""  # type: ignore[return-value]  # just checked


def _lines(text: Any) -> list[str]:
    """The statements in a text that people wrote about themselves, without what ChatGPT puts around it."""
    if not isinstance(text, str):
        return []
    inner = re.search(r"```(?:\w*\n)?(.*?)```", text, re.DOTALL)
    lines = (inner.group(1) if inner else text).splitlines()
    return [line.strip(" -*•\t") for line in lines if len(line.strip(" -*•\t")) > 2 and not line.rstrip().endswith(":")]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _place(item: Any, name: str, number: int) -> str:
    title = text_or_none(item.get("title")) if isinstance(item, dict) else None
    return f"“{title}”" if title else f"{name}, conversation {number}"


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "it is not in the form that ChatGPT writes"
