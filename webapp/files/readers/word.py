"""Word documents: all that is written in them, in order, and what is only drawn."""

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

from webapp.files.readers.mail import read_mail
from webapp.files.readers.office import normalise_names, parse_xml
from webapp.files.readers.page import read_page
from webapp.files.readers.result import Pages, Unreadable, row_text, table_pages, whole_number, whole_words

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_W_2003 = b"http://schemas.microsoft.com/office/word/2003/wordml"
_S = "{urn:schemas-microsoft-com:office:spreadsheet}"
_MAX_GAP = 200
_PARTS = (("header", "Header"), ("footer", "Footer"), ("footnotes", "Footnotes"), ("endnotes", "Endnotes"))
_ROMAN = ((100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_REL = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def read_word(data: bytes) -> Pages:
    """Read a document with its tables, lists, text boxes, formulas, fields, notes, comments and tracked changes."""
    with zipfile.ZipFile(io.BytesIO(normalise_names(data))) as archive:
        names = [name for name in archive.namelist() if name.startswith("word/") and name.endswith(".xml")]
        left_out = Counter[str]()
        links, inserts = _links(archive, left_out)
        read = ((name[5:-4], parse_xml(archive.read(name), left_out)) for name in names if "/" not in name[5:])
        trees = {name: tree for name, tree in read if tree is not None}
        left_out["picture"] = sum(name.startswith("word/media/") for name in archive.namelist())
        left_out["chart"] = sum(name.startswith("word/charts/chart") for name in archive.namelist())
    main = next((trees[name] for name in sorted(trees) if re.fullmatch(r"document\d*", name)), None)
    body = main.find(f"{_W}body") if main is not None else None
    if body is None:
        raise Unreadable("The document is damaged.")
    word = _Document(trees, links, inserts)
    texts = ["\n".join(word.blocks(body))]
    for start, title in _PARTS:
        for name in sorted(name for name in trees if name.startswith(start)):
            if text := "\n".join(line for line in word.blocks(trees[name]) if line.strip()):
                texts.append(f"{title}: {text}")
    if "comments" in trees:
        for comment in trees["comments"].iter(f"{_W}comment"):
            texts.append(f"Comment by {comment.get(f'{_W}author', '')}: {' '.join(word.blocks(comment))}")
    whole = whole_words("\n\n".join(text for text in texts if text.strip()))
    if left_out["damaged part"] and not whole:
        raise Unreadable("The document is damaged.")
    return Pages([whole], left_out)


def read_office_2003(data: bytes) -> Pages:
    """Read a document or workbook that is one file of XML, as Office 2003 wrote them."""
    left_out = Counter[str]()
    tree = parse_xml(data.replace(_W_2003, _W[1:-1].encode()), left_out)
    if tree is None:
        raise Unreadable("The document is damaged.")
    pages = ["\n".join(_Document({}, {}, {}).blocks(tree.find(f"{_W}body")))]
    for sheet in tree.iter(f"{_S}Worksheet"):
        rows = [_cells(row) for row in sheet.iter(f"{_S}Row")]
        pages += table_pages(f"Sheet “{sheet.get(f'{_S}Name', '')}”", rows)
    return Pages([whole_words(page) for page in pages if page.strip()], left_out)


def _cells(row: Any) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{_S}Cell"):
        place = whole_number(cell.get(f"{_S}Index"), 0) - 1
        cells += [""] * min(place - len(cells), _MAX_GAP)
        cells.append("".join(text for part in cell.iter(f"{_S}Data") for text in part.itertext()))
    return cells


class _Document:
    def __init__(self, trees: dict[str, Any], links: dict[str, str], inserts: dict[str, str]) -> None:
        self._links = links
        self._inserts = inserts
        self._levels = _numbering(trees.get("numbering"))
        self._counts: dict[tuple[str, int], int] = {}
        styles = trees.get("styles")
        self._lists = {
            style.get(f"{_W}styleId"): number
            for style in (styles.iter(f"{_W}style") if styles is not None else ())
            if (number := style.find(f"{_W}pPr/{_W}numPr")) is not None
        }
        self._headings = {
            style.get(f"{_W}styleId"): whole_number(level.get(f"{_W}val"), 0) + 1
            for style in (styles.iter(f"{_W}style") if styles is not None else ())
            for level in style.iter(f"{_W}outlineLvl")
        }

    def blocks(self, parent: Any) -> Iterator[str]:
        """Yield the paragraphs and the rows of tables in a part of the document."""
        for child in parent if parent is not None else ():
            if child.tag == f"{_W}p":
                yield from self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                yield from self._table(child)
            elif child.tag == f"{_W}del":
                yield from (f"[deleted: {line}]" for line in self.blocks(child) if line.strip())
            elif child.tag == f"{_W}altChunk":
                yield from self._inserts.get(child.get(_REL, ""), "").splitlines()
            elif child.tag not in (f"{_W}sectPr", _FALLBACK):
                yield from self.blocks(child)

    def _table(self, table: Any) -> Iterator[str]:
        for row in table.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not table:
                continue  # of a table within a cell, which is part of that cell's text
            cells = [cell for cell in row.iter(f"{_W}tc") if next(cell.iterancestors(f"{_W}tr")) is row]
            yield row_text(" ".join(self.blocks(cell)) for cell in cells)

    def _paragraph(self, paragraph: Any) -> Iterator[str]:
        boxes: list[str] = []
        text = "".join(self._runs(paragraph, boxes))
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        level = self._headings.get(style.get(f"{_W}val")) if style is not None else None
        of_list = paragraph.find(f"{_W}pPr/{_W}numPr")
        if of_list is None and style is not None:
            of_list = self._lists.get(style.get(f"{_W}val"))
        mark = "#" * level + " " if level else self._number(of_list)
        yield f"{mark}{text}" if text.strip() else ""
        yield from boxes

    def _number(self, of_list: Any) -> str:
        number = of_list.find(f"{_W}numId") if of_list is not None else None
        if number is None:
            return ""
        depth = of_list.find(f"{_W}ilvl")
        key = (number.get(f"{_W}val", ""), whole_number(depth.get(f"{_W}val"), 0) if depth is not None else 0)
        kind, start = self._levels.get(key, ("bullet", 1))
        if kind in ("bullet", "none"):
            return "  " * key[1] + "- "
        self._counts[key] = self._counts.get(key, start - 1) + 1
        for other in [other for other in self._counts if other[0] == key[0] and other[1] > key[1]]:
            del self._counts[other]
        return "  " * key[1] + f"{_in_form(self._counts[key], kind)}. "

    def _runs(self, node: Any, boxes: list[str]) -> Iterator[str]:
        for child in node:
            tag = child.tag
            if tag in (f"{_W}t", f"{_M}t") or tag == f"{_W}delText":
                yield child.text or ""
            elif tag in (f"{_W}tab", f"{_W}ptab"):
                yield "\t"
            elif tag in (f"{_W}br", f"{_W}cr"):
                yield "\n"
            elif tag == f"{_W}noBreakHyphen":
                yield "-"
            elif tag in (f"{_W}del", f"{_W}moveFrom"):
                yield f"[deleted: {''.join(self._runs(child, boxes))}]"
            elif tag == f"{_W}r" and _is_hidden(child):
                text = "".join(self._runs(child, boxes))
                yield f"[hidden: {text}]" if text.strip() else text
            elif tag == f"{_W}hyperlink":
                text, target = "".join(self._runs(child, boxes)), self._links.get(child.get(_REL, ""), "")
                yield text if not target or target in text else f"{text} ({target})"
            elif tag == f"{_W}txbxContent":
                boxes += [line for line in self.blocks(child) if line.strip()]
            elif tag == f"{_M}f":
                yield f"({''.join(self._runs(child[-2], boxes))})/({''.join(self._runs(child[-1], boxes))})"
            elif tag == f"{_M}sSup":
                yield f"{''.join(self._runs(child[-2], boxes))}^{''.join(self._runs(child[-1], boxes))}"
            elif tag == f"{_W}sdtPr" and any(text.strip() for text in node.itertext(f"{_W}t")):
                continue  # the state of a box that is shown by a character of the font
            elif tag == f"{_W}checkBox" or tag.endswith("}checkbox"):
                states = [mark for mark in child if mark.tag.endswith(("}checked", "}default"))]
                yield "☒" if states and not any(value in ("0", "false") for value in states[0].attrib.values()) else "☐"
            elif tag not in (f"{_W}instrText", f"{_W}pPr", f"{_W}rPr", f"{_W}rt", _FALLBACK):
                yield from self._runs(child, boxes)


def _is_hidden(run: Any) -> bool:
    """Return whether Word shows a run to nobody."""
    mark = run.find(f"{_W}rPr/{_W}vanish")
    return mark is not None and mark.get(f"{_W}val") not in ("0", "false")


def _links(archive: zipfile.ZipFile, left_out: Counter[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the URLs that the document links to, and the texts of the pages that Word would insert, by their ids."""
    name = "word/_rels/document.xml.rels"
    tree = parse_xml(archive.read(name), left_out) if name in archive.namelist() else None
    links, inserts = {}, {}
    for link in () if tree is None else tree:
        key, target = link.get("Id", ""), link.get("Target", "")
        path = posixpath.join("/word", target)[1:]
        if link.get("TargetMode") == "External":
            links[key] = target
        elif link.get("Type", "").endswith("/aFChunk") and path in archive.namelist():
            data = archive.read(path)
            pages = read_mail(data) if path.lower().endswith((".mht", ".mhtml")) else read_page(data)
            inserts[key] = "\n".join(pages.texts).strip()
    return links, inserts


def _numbering(tree: Any) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the form and the first number of each level of each list."""
    if tree is None:
        return {}
    abstract = {node.get(f"{_W}abstractNumId"): node for node in tree.iter(f"{_W}abstractNum")}
    levels = {}
    for number in tree.iter(f"{_W}num"):
        link = number.find(f"{_W}abstractNumId")
        node = abstract.get(link.get(f"{_W}val")) if link is not None else None
        for level in node.iter(f"{_W}lvl") if node is not None else ():
            form, start = level.find(f"{_W}numFmt"), level.find(f"{_W}start")
            key = (number.get(f"{_W}numId", ""), whole_number(level.get(f"{_W}ilvl"), 0))
            first = whole_number(start.get(f"{_W}val"), 1) if start is not None else 1
            levels[key] = (form.get(f"{_W}val", "decimal") if form is not None else "decimal", first)
    return levels


def _in_form(number: int, kind: str) -> str:
    if kind.endswith("Letter"):
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if kind.startswith("upper") else letter
    if kind.endswith("Roman"):
        roman, left = "", number
        for value, mark in _ROMAN:
            roman, left = roman + mark * (left // value), left % value
        return roman.upper() if kind.startswith("upper") else roman
    return str(number)
