"""PDF files: the text of their pages, with notes and the values of forms."""

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from webapp.files.readers.result import Pages, Unreadable, whole_words

MAX_PAGES = 2_000
STAMP = 100
"""A page that is a picture may have so many characters of text and still be one."""
SCAN_SHARE = 0.6
_LINE_HYPHEN = re.compile("(?<=\\w)[\ufffe\u0002](?:\r?\n)?(?=\\w)")
"""How PDFium gives a hyphen at the end of a line."""


def read_pdf(data: bytes) -> Pages:
    """Read a PDF. A page without text is a picture."""
    import pypdfium2  # noqa: PLC0415  # a library is loaded only for its kind of file

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("The PDF is protected by a password.") from None
        raise Unreadable("The PDF is damaged.") from None
    texts = []
    for number in range(min(len(document), MAX_PAGES)):
        page = document[number]
        text = whole_words(_join_lines(page.get_textpage().get_text_range()))
        if len(text.strip()) < STAMP and _is_scan(page):
            text = ""  # "Scanned with …" says nothing of what the page says
        texts.append("\n".join([text, *_notes(page)]).strip())
    return Pages(texts)


def _is_scan(page: Any) -> bool:
    """Return whether a picture covers most of a page."""
    import pypdfium2.raw as pdfium  # noqa: PLC0415

    width, height = page.get_size()
    for picture in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = picture.get_bounds()
        if (right - left) * (top - bottom) >= SCAN_SHARE * width * height:
            return True
    return False


def _join_lines(text: str) -> str:
    """Return a text without hyphens that only end a line: before a capital letter a hyphen is the word's own."""
    first, *parts = _LINE_HYPHEN.split(text)
    return first + "".join(part if part[:1].islower() else f"-{part}" for part in parts)


def _notes(page: Any) -> Iterator[str]:
    """Yield the notes on a page, and the values of its form's fields."""
    import pypdfium2.raw as pdfium  # noqa: PLC0415

    for number in range(pdfium.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                name, value = _value(annotation, b"T"), _value(annotation, b"V") or _value(annotation, b"AS")
                if value and value != "Off":
                    yield f"{name}: {value}" if name else value
            elif kind in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                continue
            elif text := _value(annotation, b"Contents"):
                yield f"[note: {text}]"
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(annotation: Any, key: bytes) -> str:
    import pypdfium2.raw as pdfium  # noqa: PLC0415

    size = pdfium.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()
