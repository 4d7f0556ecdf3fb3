"""Slides and OpenDocument files, and what all files of Office share."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from webapp.files.readers.result import Pages, Unreadable, row_text, table_pages, whole_number, whole_words

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _DRAW, _OFF = (f"{{{_OFFICE}{name}:1.0}}" for name in ("text", "table", "drawing", "office"))
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_MAX_REPEATED = 200


def read_slides(data: bytes) -> Pages:
    """Read slides in order: title first, then what stands higher; tables, charts, groups and notes included."""
    import pptx  # noqa: PLC0415  # a library is loaded only for its kind of file

    slides, left_out = [], Counter[str]()
    for slide in pptx.Presentation(io.BytesIO(normalise_names(data))).slides:
        first = getattr(slide.shapes.title, "shape_id", -1)
        shapes = sorted(_flat(slide.shapes), key=lambda item: (item.top or 0, item.left or 0))
        shapes.sort(key=lambda item: item.shape_id != first)  # noqa: B023 - used at once
        lines = [line for shape in shapes for line in _of_shape(shape, left_out)]
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
            lines.append(f"Notes: {_with_breaks(notes.text)}")
        slides.append(whole_words("\n".join(line for line in lines if line.strip())))
    return Pages(slides, left_out)


def _flat(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        yield from _flat(shape.shapes) if hasattr(shape, "shapes") else (shape,)


def _of_shape(shape: Any, left_out: Counter[str]) -> Iterator[str]:
    if shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            yield "  " * paragraph.level + _with_breaks(paragraph.text)
    elif shape.has_table:
        yield from (row_text(cell.text for cell in row.cells) for row in shape.table.rows)
    elif shape.has_chart:
        yield from _of_chart(shape.chart, left_out)
    elif type(shape).__name__ == "Picture":
        left_out["picture"] += 1
    elif getattr(shape._element, "tag", "").endswith("}graphicFrame"):  # SmartArt and the like
        left_out["drawing"] += 1


def _with_breaks(text: str) -> str:
    return text.replace("\v", "\n")  # as which the library gives the end of a line within a paragraph


def _of_chart(chart: Any, left_out: Counter[str]) -> Iterator[str]:
    try:
        if chart.has_title and chart.chart_title.has_text_frame:
            yield f"Chart: {chart.chart_title.text_frame.text}"
        for plot in chart.plots:
            yield row_text(["", *map(str, plot.categories)])
            for series in plot.series:
                values = ("" if value is None else number_text(value) for value in series.values)
                yield row_text([str(series.name or ""), *values])
    except (KeyError, ValueError, AttributeError, TypeError):
        left_out["chart"] += 1


def normalise_names(data: bytes) -> bytes:
    """Return an Office file with the usual names, which readers insist on, and no backslashes in paths."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        is_strict = "_rels/.rels" in names and _STRICT.search(archive.read("_rels/.rels"))
        if not is_strict and not any("\\" in name for name in names):
            return data
    usual = rb"http://schemas.openxmlformats.org/\1/2006/"
    return repack(data, lambda name, part: (name.replace("\\", "/"), _STRICT.sub(usual, part)))


def repack(data: bytes, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> bytes:
    result = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as archive,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as changed,
    ):
        for name in archive.namelist():
            if (part := change(name, archive.read(name))) is not None:
                changed.writestr(*part)
    return result.getvalue()


def parse_xml(data: bytes, left_out: Counter[str]) -> Any:
    """Return the root of an XML document, of a damaged one as far as it can be read; None if it cannot."""
    from lxml import etree  # noqa: PLC0415  # a library is loaded only for its kind of file

    options: dict[str, Any] = {"resolve_entities": False, "no_network": True, "huge_tree": False}
    try:
        return etree.fromstring(data, etree.XMLParser(**options))
    except etree.XMLSyntaxError:
        left_out["damaged part"] += 1
        return etree.fromstring(data, etree.XMLParser(recover=True, **options)) if data else None


def number_text(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


_VALUES = [f"{_OFF}{kind}value" for kind in ("", "string-", "date-", "time-", "boolean-")]


def read_open_document(data: bytes) -> Pages:
    """Read a document of LibreOffice, packed or as one file of XML: a page for each slide, pages for each sheet."""
    from lxml import etree  # noqa: PLC0415

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                tree = etree.fromstring(archive.read("content.xml"), parser)
                left_out = Counter(picture=sum(name.startswith("Pictures/") for name in archive.namelist()))
        else:
            tree = etree.fromstring(data, parser)
            left_out = Counter(picture=sum(1 for _ in tree.iter(f"{_DRAW}image")))
    except (KeyError, etree.XMLSyntaxError, zipfile.BadZipFile):
        raise Unreadable("The document is damaged or protected.") from None
    body = tree.find(f"{_OFF}body")
    pages: list[str] = []
    for kind in body if body is not None else ():
        if kind.tag == f"{_OFF}presentation":
            pages += ["\n".join(_paragraphs(slide)) for slide in kind.iter(f"{_DRAW}page")]
        elif kind.tag == f"{_OFF}spreadsheet":
            for table in kind.iter(f"{_TABLE}table"):
                pages += table_pages(f"Sheet “{table.get(f'{_TABLE}name', '')}”", list(_rows(table)))
        else:
            pages.append("\n".join(_paragraphs(kind)))
    return Pages([whole_words(page) for page in pages], left_out)


def _paragraphs(node: Any) -> Iterator[str]:
    for child in node:
        if child.tag in (f"{_TEXT}p", f"{_TEXT}h"):
            level = whole_number(child.get(f"{_TEXT}outline-level"), 1) if child.tag == f"{_TEXT}h" else 0
            boxes = [line for box in child.iter(f"{_DRAW}text-box") for line in _paragraphs(box)]
            yield ("#" * level + " " if level else "") + _words(child)
            yield from boxes
        elif child.tag == f"{_TABLE}table":
            yield from map(row_text, _rows(child))
        elif child.tag == f"{_TEXT}list-item":
            yield from (f"- {line}" for line in _paragraphs(child))
        elif child.tag not in (f"{_TEXT}tracked-changes", f"{_TEXT}sequence-decls"):
            yield from _paragraphs(child)


def _rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row:
            if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                text = " ".join(_paragraphs(cell)) or next(filter(None, (cell.get(name) for name in _VALUES)), "")
                times = whole_number(cell.get(f"{_TABLE}number-columns-repeated"), 1)
                cells += [text] * (times if text else min(times, _MAX_REPEATED))
        while cells and not cells[-1].strip():
            cells.pop()
        yield from [cells] * min(
            whole_number(row.get(f"{_TABLE}number-rows-repeated"), 1), _MAX_REPEATED if cells else 1
        )


def _words(node: Any) -> str:
    out = [node.text or ""]
    for child in node:
        if child.tag == f"{_TEXT}s":
            out.append(" " * whole_number(child.get(f"{_TEXT}c"), 1))
        elif child.tag == f"{_TEXT}tab":
            out.append("\t")
        elif child.tag == f"{_TEXT}line-break":
            out.append("\n")
        elif child.tag == f"{_OFF}annotation":
            out.append(f" [note: {' '.join(_paragraphs(child))}] ")
        elif child.tag == f"{_TEXT}note":
            out.append(f" [{' '.join(_paragraphs(child)).strip()}] ")
        elif child.tag not in (f"{_DRAW}frame", f"{_DRAW}text-box"):
            out.append(_words(child))
        out.append(child.tail or "")
    return "".join(out)
