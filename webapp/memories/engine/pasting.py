"""The parts of a message that were pasted into it, told by their form: what they say is not said by the user."""

from __future__ import annotations

import re

from webapp.memories.engine.phrases import FENCED, LETTER, QUOTED, TEXT_WORK
from webapp.text.quotes import Span

_MOST_SEARCHED = 20_000
_LABEL = re.compile(
    r"^[ \t>*_]*(?:\[[^\]\n]{1,30}\]\s*|\d{1,2}[:.]\d\d\S*\s+)?[^\W\d_][\w .'’-]{0,29}[*_]*:[*_]*[ \t]+\S.*$",
    re.MULTILINE,
)
"""A line with a name before it, as transcripts and the heads of e-mails have."""
_DATED = re.compile(r"@|\d{1,2}:\d\d|\d{4}")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")


def pasted_spans(message: str) -> list[Span]:
    """Return the parts of a message that are quoted text: fenced, quoted at length, a letter, or given to work on."""
    text = message[:_MOST_SEARCHED]
    spans = [Span(*found.span()) for pattern in (FENCED, QUOTED, LETTER) for found in pattern.finditer(text)]
    if work := TEXT_WORK.match(text):
        spans.append(Span(work.end(), len(message)))
    return spans


def is_pasted(span: Span, message: str) -> bool:
    """Tell whether a quote touches pasted text, a transcript or a forwarded e-mail: nobody is told there what to do."""
    return any(
        part.start < span.end and span.start < part.end for part in (*pasted_spans(message), *_transcripts(message))
    )


def label_and_quote(span: Span, message: str) -> str:
    """Return a quote with the words before it on its line, or on the line before, if a colon or the like joins them:
    they say what it is."""
    before = message[: span.start].rstrip(" \t\n*_`\"'")
    label = before[before.rfind("\n") + 1 :] if before.endswith((":", "=", "|")) else ""
    return label + message[span.start : span.end]


def _transcripts(message: str) -> list[Span]:
    """Return the part from the first of several lines with names before them to the end of the last one's paragraph; if
    they have addresses or dates, as the head of an e-mail has, to the end of the message."""
    lines = list(_LABEL.finditer(message[:_MOST_SEARCHED]))
    if len(lines) < 2:
        return []
    end = _PARAGRAPH.search(message, lines[-1].end())
    is_head = end is not None and any(_DATED.search(line.group()) for line in lines)
    return [Span(lines[0].start(), len(message) if is_head or end is None else end.start())]
