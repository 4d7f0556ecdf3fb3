"""Portraits and conversations as PDF, loaded only when needed: the libraries take 25 MB.

`python -m webapp.transfer.writers.pdf` makes a portrait, in a process that loads no more of the application.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from webapp.journeys.report_fonts import add_fonts, printable, printable_texts, texts_of
from webapp.journeys.report_pages import BODY, INDENT, MUTED, NOTE, OCHRE, SECTION, TITLE, Pages, Style, is_rtl_text
from webapp.transfer.writers.portrait_data import PrintedPortrait, PrintedSource, read_printed

if TYPE_CHECKING:
    from .conversation import ExportedConversation

THIN_SPACE = "\u2009"
_WRITTEN = Style("sans", 10, 5.4, MUTED)
_PORTRAIT = Style("serif", 13, 7.4)
_SPEAKER = Style("sans", 9, 5, MUTED, "B")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def make_pdf(portrait: PrintedPortrait) -> bytes:
    """Return the PDF. Text that no font can show is left out; no text makes it fail."""
    portrait = printable_texts(portrait)
    with tempfile.TemporaryDirectory() as folder:
        pages = Pages(portrait.title, portrait.foot, tag=portrait.tag, is_rtl=portrait.is_rtl)
        add_fonts(pages, [*texts_of(portrait), f"{THIN_SPACE}“”·/.0123456789⁰¹²³⁴⁵⁶⁷⁸⁹"], Path(folder))
        _write(pages, portrait)
        return bytes(pages.output())


def _write(pages: Pages, portrait: PrintedPortrait) -> None:
    pages.add_page()
    pages.heading(portrait.heading, portrait.title)
    pages.ln(1)
    pages.text_block(portrait.written, _WRITTEN)
    pages.ln(6)
    pages.own_block(" ".join(_add_marks(text, marks) for text, marks in portrait.sentences), _PORTRAIT)
    pages.ln(8)
    pages.ensure_room(34)
    pages.text_block(portrait.rests_on, SECTION)
    pages.ln(2)
    for number, source in enumerate(portrait.sources, 1):
        _source(pages, number, source)


def _source(pages: Pages, number: int, source: PrintedSource) -> None:
    pages.ensure_room(min(pages.height_of(source.content, BODY, pages.epw - 2 * INDENT) + 12, 60))
    top = pages.get_y()
    pages.set_text_color(*OCHRE)
    pages.set_xy(pages.left_edge(0, 2 * INDENT), top)
    pages.cell(2 * INDENT, BODY.height, f"{number}.", align=pages.start)
    pages.set_y(top)
    pages.text_block(source.content, BODY, indent=2 * INDENT)
    if source.by:
        pages.text_block(source.by, NOTE, indent=2 * INDENT)
    pages.ln(1)
    for quote, origin in source.quotes:
        pages.quotation(quote, origin, indent=2 * INDENT)
    pages.ln(1.5)


def _add_marks(text: str, marks: Sequence[int]) -> str:
    """Return a sentence with its marks. From right to left they stand apart: a number before would take them in."""
    raised = "·".join(str(mark).translate(_SUPERSCRIPTS) for mark in marks)
    return f"{text}{THIN_SPACE if is_rtl_text(text) else ''}{raised}"


def as_pdf(transcript: ExportedConversation) -> bytes:
    """Return pages of plain text; characters that no font has are left out."""
    entries = [
        (printable(transcript.wording.heading(message)), printable(message.content)) for message in transcript.messages
    ]
    title = printable(transcript.title) or transcript.wording.untitled
    with tempfile.TemporaryDirectory() as folder:
        pages = Pages(title, "", tag=transcript.wording.tag, is_rtl=transcript.wording.direction == "rtl")
        add_fonts(pages, [title, *(f"{head} {text}" for head, text in entries), "0123456789/"], Path(folder))
        pages.add_page()
        pages.text_block(title, TITLE)
        for head, text in entries:
            pages.ln(5)
            pages.text_block(head, _SPEAKER)
            pages.text_block(text, BODY)
        return bytes(pages.output())


if __name__ == "__main__":
    made = make_pdf(read_printed(sys.stdin.buffer.read()))
    sys.stdout.write(json.dumps({"pdf": base64.b64encode(made).decode()}))
