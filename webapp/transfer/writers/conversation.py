"""A conversation as Markdown, JSON, HTML or PDF."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from fpdf import FPDF
from fpdf.enums import XPos, YPos

from webapp.journeys.report_fonts import FALLBACKS, cut, needed, printable
from webapp.markdown import render

SPEAKERS = {"user": "You", "assistant": "Assistant"}
_STYLE = (
    "body{font:16px/1.6 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1f1c18;background:#faf7f2}"
    "article{margin:0 0 2rem}h2{font-size:.9rem;color:#6a6258;margin:0 0 .25rem}pre{overflow:auto;background:#f0ebe1;"
    "padding:.75rem;border-radius:8px}table{border-collapse:collapse}"
    "td,th{border:1px solid #e6dfd3;padding:.25rem .5rem}"
    ".you p{white-space:pre-wrap}"
)


@dataclass(frozen=True)
class Said:
    """One message as it goes out."""

    role: str
    content: str
    at: datetime | None
    model: str | None = None


@dataclass(frozen=True)
class Talk:
    """A conversation as it goes out; messages in their order."""

    title: str
    created_at: datetime | None
    messages: Sequence[Said]

    @property
    def file_stem(self) -> str:
        """A name for its file that every system takes."""
        return re.sub(r"[^\w\- ]+", "", self.title, flags=re.UNICODE).strip()[:80].rstrip() or "conversation"


def as_markdown(talk: Talk) -> str:
    """Headings by speaker, the messages as they were written."""
    parts = [f"# {talk.title}\n"]
    for said in talk.messages:
        parts.append(f"## {SPEAKERS[said.role]}{_when(said)}\n\n{said.content}\n")
    return "\n".join(parts)


def as_json(talk: Talk) -> str:
    """Title, times and messages."""
    messages: list[dict[str, Any]] = [
        {"role": said.role, "content": said.content, "created_at": _iso(said.at), "model": said.model}
        for said in talk.messages
    ]
    whole = {"title": talk.title, "created_at": _iso(talk.created_at), "messages": messages}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def as_html(talk: Talk) -> str:
    """A page of its own, without scripts and without anything fetched from elsewhere."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(talk.title)}</title><style>{_STYLE}</style></head>",
        f"<body><h1 dir=auto>{escape(talk.title)}</h1>",
    ]
    for said in talk.messages:
        body = str(render(said.content)) if said.role == "assistant" else f"<p>{escape(said.content)}</p>"
        kind = "reply" if said.role == "assistant" else "you"
        heading = escape(SPEAKERS[said.role] + _when(said))
        parts.append(f'<article class="{kind}" dir="auto"><h2>{heading}</h2>{body}</article>')
    return "".join([*parts, "</body></html>"])


def as_pdf(talk: Talk) -> bytes:
    """Pages of plain text; letters that no font has are left out."""
    shown = [(SPEAKERS[said.role] + _when(said), printable(said.content), said.role) for said in talk.messages]
    title = printable(talk.title) or "Conversation"
    with tempfile.TemporaryDirectory() as folder:
        faces, points = needed([title, *(f"{head} {text}" for head, text, _ in shown), "0123456789/"])
        pages = FPDF(format="A4")
        pages.set_margins(24, 24, 24)
        pages.set_auto_page_break(True, margin=24)
        pages.set_title(title)
        for face, path in cut(faces, points, Path(folder)):
            for style in ("", "B", "I") if face in FALLBACKS else (face.style,):
                pages.add_font(face.family, style, str(path))
        pages.set_fallback_fonts([face.family for face in faces if face in FALLBACKS])
        pages.set_text_shaping(use_shaping_engine=True)
        pages.add_page()
        pages.set_font("serif", size=20)
        _block(pages, title, 9)
        for head, text, _role in shown:
            pages.ln(5)
            pages.set_font("sans", "B", 9)
            pages.set_text_color(106, 98, 88)
            _block(pages, head, 5)
            pages.set_font("sans", size=11)
            pages.set_text_color(31, 28, 24)
            _block(pages, text, 5.8)
        return bytes(pages.output())


def _block(pages: FPDF, text: str, height: float) -> None:
    pages.set_x(pages.l_margin)
    pages.multi_cell(pages.epw, height, text, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _when(said: Said) -> str:
    return f" · {said.at:%Y-%m-%d %H:%M}" if said.at else ""


def _iso(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
