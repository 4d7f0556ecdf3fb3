"""Slides, sheets and OpenDocument files."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import Any

from webapp.files.readers.result import Pages, Unreadable, row_text, table_pages, whole_number, whole_words

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _DRAW, _OFF = (f"{{{_OFFICE}{name}:1.0}}" for name in ("text", "table", "drawing", "office"))
_LOOKS = ("", "docProps/|xl/(?:theme|drawings|charts|chartsheets|worksheets/_rels)/", r"xl/styles\.xml")
"""Parts without which a workbook still has its cells, the formats of numbers last."""
_STYLE = re.compile(rb"""(<(?:\w+:)?(?:c|row)\b[^<>]*?) s="\d+\"""")
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_MAX_REPEATED = 200
_MAX_ROWS = 200_000


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
                values = ("" if value is None else _number(value) for value in series.values)
                yield row_text([str(series.name or ""), *values])
    except (KeyError, ValueError, AttributeError, TypeError):
        left_out["chart"] += 1


def read_sheets(data: bytes) -> Pages:
    """Read sheets as they are shown: numbers in their format, merged cells once for each cell they cover."""
    import openpyxl  # noqa: PLC0415  # a library is loaded only for its kind of file

    data, book, has_formats = _open_workbook(normalise_names(data))
    formulas = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    pages, left_out = [], Counter({"table of number formats": int(not has_formats)})
    for sheet in book.worksheets:
        merged = {
            (row, column): (area.min_row, area.min_col)
            for area in sheet.merged_cells.ranges
            if area.size["rows"] * area.size["columns"] <= _MAX_REPEATED
            for row in range(area.min_row, area.max_row + 1)
            for column in range(area.min_col, area.max_col + 1)
        }
        formula_rows = formulas[sheet.title].iter_rows() if sheet.title in formulas.sheetnames else iter(())
        rows = []
        for number, cells in enumerate(_filled_rows(sheet), 1):
            sources = next(formula_rows, ())
            row = []
            for column, cell in enumerate(cells, 1):
                position = merged.get((number, column))
                value = sheet.cell(*position) if position else cell
                text = _cell_text(value.value, value.number_format)
                source = sources[column - 1].value if column <= len(sources) else None
                if not text and isinstance(source, str) and source.startswith("="):
                    text = source
                    left_out["formula without a stored result"] += 1
                target = (cell.hyperlink and cell.hyperlink.target) or ""
                text += f" ({target})" if target.lstrip("#") not in text else ""
                row.append(text + (f" [note: {cell.comment.text}]" if cell.comment else ""))
            rows.append(row)
        left_out["chart"] += len(getattr(sheet, "_charts", ()))
        left_out["picture"] += len(getattr(sheet, "_images", ()))
        pages += table_pages(f"Sheet “{sheet.title}”", rows)
    return Pages(pages, left_out)


def _open_workbook(data: bytes) -> tuple[bytes, Any, bool]:
    """Return a workbook and its bytes, without the parts that the library cannot read, and whether it has formats."""
    import openpyxl  # noqa: PLC0415

    for looks in _LOOKS:
        if looks:
            data = _repack(data, lambda name, part: None if re.match(looks, name) else (name, part))  # noqa: B023
        if looks == _LOOKS[-1]:
            data = _repack(data, _remove_styles)
        with suppress(Exception):  # whatever the library says to what it does not know
            return data, openpyxl.load_workbook(io.BytesIO(data), data_only=True), looks != _LOOKS[-1]
    raise Unreadable("The workbook is damaged.")


def _remove_styles(name: str, part: bytes) -> tuple[str, bytes]:
    return name, _STYLE.sub(rb"\1", part) if name.startswith("xl/worksheets/") else part


def _filled_rows(sheet: Any) -> Iterator[list[Any]]:
    """Yield the cells of each row up to its last one: a cell far off makes no other row longer."""
    ends: dict[int, int] = {}
    for row, column in sheet._cells:  # noqa: SLF001 - all others would be made by being asked for
        ends[row] = max(ends.get(row, 0), column)
    for row in range(1, min(max(ends, default=0), _MAX_ROWS) + 1):
        yield [sheet.cell(row, column) for column in range(1, ends.get(row, 0) + 1)]


def normalise_names(data: bytes) -> bytes:
    """Return an Office file with the usual names, which readers insist on, and no backslashes in paths."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        is_strict = "_rels/.rels" in names and _STRICT.search(archive.read("_rels/.rels"))
        if not is_strict and not any("\\" in name for name in names):
            return data
    usual = rb"http://schemas.openxmlformats.org/\1/2006/"
    return _repack(data, lambda name, part: (name.replace("\\", "/"), _STRICT.sub(usual, part)))


def _repack(data: bytes, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> bytes:
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


def _cell_text(value: object, form: str) -> str:
    """Return a value as the sheet shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time(0) else value.isoformat(" ", "seconds")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, date | time) or not isinstance(value, int | float):
        return str(value)
    pattern = form.split(";")[0].replace("\\", "").strip()
    if pattern and set(pattern) == {"0"} and len(pattern) > 1:  # post codes and other numbers with zeros in front
        return str(round(value)).zfill(len(pattern))
    if pattern.endswith("%"):
        return f"{value * 100:.{len(pattern.partition('.')[2].rstrip('%'))}f}%"
    return _number(value)


def _number(value: object) -> str:
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
