"""Sheets of workbooks."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any

from webapp.files.readers.office import normalise_names, number_text, parse_xml, repack
from webapp.files.readers.result import Pages, Unreadable, table_pages, whole_number

_LOOKS = re.compile("docProps/|xl/(?:theme|drawings|charts|chartsheets|worksheets/_rels)/")
"""Parts without which a workbook still has its cells."""
_STYLE = re.compile(rb"""(<(?:\w+:)?(?:c|row)\b[^<>]*?) s="\d+\"""")
_STRING = re.compile(rb"<(?:\w+:)?si[\s/>]")
_NUMERAL = re.compile(r"\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?\s*")
_MAX_REPEATED = 200
_MAX_ROWS = 200_000


def read_sheets(data: bytes) -> Pages:
    """Read sheets as they are shown: numbers in their format, merged cells once for each cell they cover."""
    import openpyxl  # noqa: PLC0415  # a library is loaded only for its kind of file

    pages, left_out = [], Counter[str]()
    data, book = _open_workbook(normalise_names(data), left_out)
    formulas = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
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


def _open_workbook(data: bytes, left_out: Counter[str]) -> tuple[bytes, Any]:
    """Return a workbook and its bytes, without what the library cannot read of it."""
    import openpyxl  # noqa: PLC0415

    for repair in (None, _remove_looks, partial(_mend_cells, left_out, _count_strings(data)), _remove_styles):
        data = repack(data, repair) if repair else data
        left_out["table of number formats"] = int(repair is _remove_styles)
        with suppress(Exception):  # whatever the library says to what it does not know
            return data, openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    raise Unreadable("The workbook is damaged.")


def _remove_looks(name: str, part: bytes) -> tuple[str, bytes] | None:
    return None if _LOOKS.match(name) else (name, part)


def _count_strings(data: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(data)) as archive, suppress(KeyError):
        return len(_STRING.findall(archive.read("xl/sharedStrings.xml")))
    return 0


def _mend_cells(left_out: Counter[str], strings: int, name: str, part: bytes) -> tuple[str, bytes]:
    """Return a sheet whose numbers are numbers, or text, and name one of so many strings."""
    from lxml import etree  # noqa: PLC0415

    if not name.startswith("xl/worksheets/") or (sheet := parse_xml(part, left_out)) is None:
        return name, part
    for cell in sheet.iter("{*}c"):
        value, kind = cell.find("{*}v"), cell.get("t", "n")
        text = (value.text or "") if value is not None else "0"
        if kind == "s" and whole_number(text, strings) not in range(strings):
            cell.remove(value)
            left_out["damaged cell"] += 1
        elif kind == "n" and not _NUMERAL.fullmatch(text):
            cell.set("t", "str")
    return name, etree.tostring(sheet)


def _remove_styles(name: str, part: bytes) -> tuple[str, bytes] | None:
    if name == "xl/styles.xml":
        return None
    return name, _STYLE.sub(rb"\1", part) if name.startswith("xl/worksheets/") else part


def _filled_rows(sheet: Any) -> Iterator[list[Any]]:
    """Yield the cells of each row up to its last one: a cell far off makes no other row longer."""
    ends: dict[int, int] = {}
    for row, column in sheet._cells:  # noqa: SLF001 - all others would be made by being asked for
        ends[row] = max(ends.get(row, 0), column)
    for row in range(1, min(max(ends, default=0), _MAX_ROWS) + 1):
        yield [sheet.cell(row, column) for column in range(1, ends.get(row, 0) + 1)]


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
    return number_text(value)
