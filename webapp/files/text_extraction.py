"""Reads a file to pages of text, in a separate process: `python -m webapp.files.text_extraction PATH MEDIA_TYPE`.

Writes {"pages": [...]} or {"error": "..."}, within limits of time and memory.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from webapp.files import kinds
from webapp.files.readers import mail, office, pdf, sheets, text, word
from webapp.files.readers.page import read_book, read_page
from webapp.files.readers.result import Pages, Unreadable, write_result
from webapp.i18n.marks import N_

MAX_PAGES = 2_000
MAX_CHARACTERS = 8_000_000
PAGE = 4_000
"""Characters per page of a text without pages: short enough to go with a question."""
MAX_TEXT_CHARS = 1_000_000
"""Characters that fit into a row, for pages that the file itself has."""
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,30}[A-Za-z]")
"""What programs write for a terminal."""
_PAGED = (kinds.PDF, kinds.PPTX, kinds.XLSX, kinds.CSV)


READERS: dict[str, Callable[[bytes], Pages]] = {
    kinds.PDF: pdf.read_pdf,
    kinds.DOCX: word.read_word,
    kinds.PPTX: office.read_slides,
    kinds.XLSX: sheets.read_sheets,
    **dict.fromkeys(kinds.OPEN_DOCUMENTS, office.read_open_document),
    kinds.OFFICE_2003: word.read_office_2003,
    kinds.CSV: text.read_table,
    kinds.MAIL: mail.read_mail,
    kinds.MAILBOX: mail.read_mailbox,
    kinds.HTML: read_page,
    kinds.BOOK: read_book,
    kinds.NOTEBOOK: text.read_notebook,
    kinds.RTF: text.read_rich_text,
}
"""By media type; anything else is plain text. A new kind is a line here, its mark in `kinds`, and a reader."""


def main(path: str, media_type: str) -> None:
    """Read the file and write the result."""
    write_result(
        "pages", lambda: read(Path(path).read_bytes(), media_type), N_("The file needs too much memory to be read.")
    )


def read(data: bytes, media_type: str) -> list[str]:
    """Return the pages of a file as text. Raises Unreadable, and anything libraries raise for broken files."""
    result = READERS.get(media_type, text.read_text)(data)
    size = MAX_TEXT_CHARS if media_type in _PAGED else PAGE
    pages = [piece for source_page in result.texts[:MAX_PAGES] for piece in pieces(_clean(source_page), size)]
    if (note := result.note()) and pages:
        pages[-1] = f"{pages[-1]}\n\n{note}".strip()
    if len(pages) > MAX_PAGES:
        pages = [*pages[: MAX_PAGES - 1], pages[MAX_PAGES - 1] + "\n[… cut]"]
    total = 0
    for number, page in enumerate(pages):
        total += len(page)
        if total > MAX_CHARACTERS:
            pages = [*pages[:number], page[: max(0, len(page) - (total - MAX_CHARACTERS))] + "\n[… cut]"]
            break
    if media_type != kinds.PDF and not any(page.strip() for page in pages):
        raise Unreadable("There is no text in it.")
    return pages  # a PDF page without text is a picture


def pieces(text: str, size: int) -> Iterator[str]:
    """Yield a text in pieces of at most this many characters, cut between paragraphs, lines or words if possible."""
    start = 0
    while len(text) - start > size:
        cuts = (text.rfind(mark, start + size // 2, start + size) for mark in ("\n\n", "\n", " "))
        end = next((cut for cut in cuts if cut > 0), start + size)
        yield text[start:end].strip()
        start = end
    yield text[start:].strip()


def _clean(text: str) -> str:
    text = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    text = _COLOURS.sub("", text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t])[ \t]+\n", "\n", text)).strip()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
