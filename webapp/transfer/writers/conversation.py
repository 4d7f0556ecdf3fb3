"""A conversation as Markdown, JSON or HTML; for PDF see pdf."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from webapp.conversations.models import Message
from webapp.markdown import render

_STYLE = (
    "body{font:16px/1.6 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1f1c18;background:#faf7f2}"
    "article{margin:0 0 2rem}h2{font-size:.9rem;color:#6a6258;margin:0 0 .25rem}pre{overflow:auto;background:#f0ebe1;"
    "padding:.75rem;border-radius:8px}table{border-collapse:collapse}"
    "td,th{border:1px solid #e6dfd3;padding:.25rem .5rem}"
    ".you p{white-space:pre-wrap}"
)


@dataclass(frozen=True)
class FileTexts:
    """The texts of a file besides the messages, in a language: its tag and direction, names, the format of times."""

    tag: str = "en"
    direction: str = "ltr"
    untitled: str = "Conversation"
    you: str = "You"
    assistant: str = "Assistant"
    format_time: Callable[[datetime], str] = lambda at: f"{at:%Y-%m-%d %H:%M}"

    def heading(self, message: Message) -> str:
        """Return the heading of a message: its speaker and, if known, its time."""
        speaker = self.you if message.role == "user" else self.assistant
        return f"{speaker} · {self.format_time(message.created_at)}" if message.created_at else speaker


@dataclass(frozen=True)
class ExportedConversation:
    """A conversation to export; messages in order."""

    title: str
    created_at: datetime | None
    messages: Sequence[Message]
    wording: FileTexts

    @property
    def file_stem(self) -> str:
        """Return a name for its file that every system accepts."""
        return re.sub(r"[^\w\- ]+", "", self.title, flags=re.UNICODE).strip()[:80].rstrip() or "conversation"


def as_markdown(transcript: ExportedConversation) -> str:
    """Return the messages as they were written, each under a heading with its speaker."""
    parts = [f"# {transcript.title}\n"]
    for message in transcript.messages:
        parts.append(f"## {transcript.wording.heading(message)}\n\n{message.content}\n")
    return "\n".join(parts)


def as_json(transcript: ExportedConversation) -> str:
    """Return title, times and messages."""
    messages: list[dict[str, Any]] = [
        {"role": row.role, "content": row.content, "created_at": _iso(row.created_at), "model": row.model}
        for row in transcript.messages
    ]
    document = {"title": transcript.title, "created_at": _iso(transcript.created_at), "messages": messages}
    return json.dumps(document, ensure_ascii=False, indent=2)


def as_html(transcript: ExportedConversation) -> str:
    """Return a self-contained page without scripts, which fetches nothing from elsewhere."""
    wording = transcript.wording
    parts = [
        f'<!doctype html><html lang="{wording.tag}" dir="{wording.direction}"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(transcript.title)}</title><style>{_STYLE}</style></head>",
        f"<body><h1 dir=auto>{escape(transcript.title)}</h1>",
    ]
    for message in transcript.messages:
        body = str(render(message.content)) if message.role == "assistant" else f"<p>{escape(message.content)}</p>"
        kind = "reply" if message.role == "assistant" else "you"
        heading = escape(transcript.wording.heading(message))
        parts.append(f'<article class="{kind}" dir="auto"><h2>{heading}</h2>{body}</article>')
    return "".join([*parts, "</body></html>"])


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
