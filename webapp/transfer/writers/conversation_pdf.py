"""A conversation as PDF, separate from the other forms: its libraries take 25 MB, and are loaded only when needed."""

import tempfile
from pathlib import Path

from fpdf import FPDF
from fpdf.enums import Align, XPos, YPos

from webapp.journeys.report_fonts import add_fonts, printable

from .conversation import ExportedConversation


def as_pdf(transcript: ExportedConversation) -> bytes:
    """Return pages of plain text; characters that no font has are left out."""
    entries = [
        (printable(transcript.wording.heading(message)), printable(message.content)) for message in transcript.messages
    ]
    title = printable(transcript.title) or transcript.wording.untitled
    align = Align.R if transcript.wording.direction == "rtl" else Align.L
    with tempfile.TemporaryDirectory() as folder:
        pages = FPDF(format="A4")
        pages.set_margins(24, 24, 24)
        pages.set_auto_page_break(True, margin=24)
        pages.set_title(title)
        pages.set_lang(transcript.wording.tag)
        add_fonts(pages, [title, *(f"{head} {text}" for head, text in entries), "0123456789/"], Path(folder))
        pages.add_page()
        pages.set_font("serif", size=20)
        _block(pages, title, 9, align)
        for head, text in entries:
            pages.ln(5)
            pages.set_font("sans", "B", 9)
            pages.set_text_color(106, 98, 88)
            _block(pages, head, 5, align)
            pages.set_font("sans", size=11)
            pages.set_text_color(31, 28, 24)
            _block(pages, text, 5.8, align)
        return bytes(pages.output())


def _block(pages: FPDF, text: str, height: float, align: Align) -> None:
    pages.set_x(pages.l_margin)
    pages.multi_cell(pages.epw, height, text, align=align, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
