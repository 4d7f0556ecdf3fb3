"""Reads a file to pages of text, in a separate process: `python -m webapp.files.text_extraction PATH MEDIA_TYPE`.

Writes one JSON line: {"pages": [...]} or {"error": "..."}. The caller limits its time and it limits its own memory, so
that a file made to be slow or to expand brings down nothing but this process.
"""

from __future__ import annotations

import csv
import email
import email.policy
import io
import json
import re
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from webapp.files.kinds import CSV, DOCX, HTML, MAIL, PDF, PPTX, XLSX
from webapp.files.plain import text_of_html

MEMORY = 1024**3
MOST_PAGES = 2_000
MOST_CHARACTERS = 8_000_000
ROWS_A_PAGE = 200
PAGE = 4_000
"""Characters per page of a text without pages: short enough to go with a question."""
LONGEST = 1_000_000
"""Characters that fit into a row, for pages that the file itself has."""
_PAGED = (PDF, PPTX, XLSX, CSV)


class Unreadable(ValueError):
    """No text can be read; the message says why."""


def main(path: str, media_type: str) -> None:
    """Read the file and write the result."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        pages = read(Path(path).read_bytes(), media_type)
        answer: dict[str, object] = {"pages": pages}
    except Unreadable as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": "The file needs too much memory to be read."}
    except Exception:  # anything a library raises for a broken file
        answer = {"error": "The file is damaged, or not what its name says."}
    sys.stdout.write(json.dumps(answer))


def read(data: bytes, media_type: str) -> list[str]:
    """The pages of a file as text. Raises Unreadable, and anything libraries raise for broken files."""
    reader: Callable[[bytes], list[str]] = {
        PDF: _pdf,
        DOCX: _docx,
        PPTX: _pptx,
        XLSX: _xlsx,
        CSV: _csv,
        MAIL: _mail,
        HTML: lambda found: [text_of_html(_decoded(found))],
    }.get(media_type, lambda found: [_decoded(found)])
    size = LONGEST if media_type in _PAGED else PAGE
    pages = [piece for text in reader(data)[:MOST_PAGES] for piece in pieces(_clean(text), size)]
    if len(pages) > MOST_PAGES:
        pages = [*pages[: MOST_PAGES - 1], pages[MOST_PAGES - 1] + "\n[… cut]"]
    total = 0
    for number, page in enumerate(pages):
        total += len(page)
        if total > MOST_CHARACTERS:
            pages = [*pages[:number], page[: max(0, len(page) - (total - MOST_CHARACTERS))] + "\n[… cut]"]
            break
    if media_type != PDF and not any(page.strip() for page in pages):
        raise Unreadable("There is no text in it.")
    return pages  # a PDF page without text is a picture


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of at most this many characters, cut between paragraphs, lines or words if there are any."""
    start = 0
    while len(text) - start > size:
        cuts = (text.rfind(mark, start + size // 2, start + size) for mark in ("\n\n", "\n", " "))
        end = next((cut for cut in cuts if cut > 0), start + size)
        yield text[start:end].strip()
        start = end
    yield text[start:].strip()


def _pdf(data: bytes) -> list[str]:
    import pypdfium2  # noqa: PLC0415  # a library is loaded only for its kind of file

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("The PDF is protected by a password.") from None
        raise Unreadable("The PDF is damaged.") from None
    return [document[number].get_textpage().get_text_range() for number in range(min(len(document), MOST_PAGES))]


def _docx(data: bytes) -> list[str]:
    import mammoth  # noqa: PLC0415

    return [text_of_html(mammoth.convert_to_html(io.BytesIO(data)).value)]


def _pptx(data: bytes) -> list[str]:
    import pptx  # noqa: PLC0415

    slides = []
    for slide in pptx.Presentation(io.BytesIO(data)).slides:
        lines = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
        for shape in slide.shapes:
            if shape.has_table:
                lines += [" | ".join(cell.text for cell in row.cells) for row in shape.table.rows]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            lines.append(f"Notes: {slide.notes_slide.notes_text_frame.text}")
        slides.append("\n".join(line for line in lines if line.strip()))
    return slides


def _xlsx(data: bytes) -> list[str]:
    import python_calamine  # noqa: PLC0415

    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    pages = []
    for name in book.sheet_names:
        rows = [[str(cell) for cell in row] for row in book.get_sheet_by_name(name).to_python()]
        pages += _tables(f"Sheet “{name}”", rows)
    return pages


def _csv(data: bytes) -> list[str]:
    text = _decoded(data)
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:20_000], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    return _tables("", list(csv.reader(io.StringIO(text), dialect)))


def _mail(data: bytes) -> list[str]:
    message = email.message_from_bytes(data, policy=email.policy.default)
    heads = [f"{name}: {message[name]}" for name in ("From", "To", "Cc", "Date", "Subject") if message[name]]
    body = message.get_body(preferencelist=("plain", "html"))
    text = body.get_content() if body is not None else ""
    if body is not None and body.get_content_type() == "text/html":
        text = text_of_html(text)
    attached = [part.get_filename() for part in message.iter_attachments() if part.get_filename()]
    tail = [f"Attached: {', '.join(map(str, attached))}"] if attached else []
    return ["\n".join([*heads, "", text, *tail])]


def _tables(title: str, rows: list[list[str]]) -> list[str]:
    """Rows as pages of ROWS_A_PAGE, each headed by the first row."""
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        return []
    head, rest = " | ".join(rows[0]), rows[1:] or [[]]
    pages = []
    for start in range(0, len(rest), ROWS_A_PAGE):
        lines = [" | ".join(row) for row in rest[start : start + ROWS_A_PAGE] if row]
        pages.append("\n".join([line for line in (title, head) if line] + lines))
    return pages


def _decoded(data: bytes) -> str:
    for encoding in ("utf-8-sig", "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("cp1252", "replace")


def _clean(text: str) -> str:
    text = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t])[ \t]+\n", "\n", text)).strip()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
