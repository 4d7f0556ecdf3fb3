"""Files that programs write wrongly: what is broken in one costs only itself."""

import io
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta

import openpyxl
import pptx
import pytest

from testkit.exports import pack
from tests.files.readers.test_readers import CASES
from webapp.files import kinds
from webapp.files.text_extraction import read

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
URN = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = " ".join(f'xmlns:{name}="{URN}:{long}:1.0"' for name, long in (
    ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
))  # fmt: skip
RUN = "<w:r><w:t>The roof</w:t></w:r>"
CONTAINER = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
TEXT = "The boiler was replaced. It cost 900 euros.\nLook at it: 好。\n"


def text(name: str, data: bytes) -> str:
    return "\n".join(read(data, kinds.kind_of(name, io.BytesIO(data), len(data))))


def word(body: str, path: str = "word/document.xml", **more: str) -> bytes:
    return pack({path: f"<w:document {W}><w:body>{body}</w:body></w:document>", **more})


def make_odf(kind: str, body: str, declared: str | None = None) -> bytes:
    content = f"<office:document-content {NAMES}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
    parts = {"content.xml": f"{content}</office:document-content>", "META-INF/manifest.xml": "<x/>"}
    return pack({"mimetype": f"application/vnd.oasis.opendocument.{declared}", **parts} if declared else parts)


@pytest.mark.cases("kind", "body", "read_as")
@pytest.mark.parametrize("begin", ["", '<?xml version="1.0" encoding="UTF-8"?>\n', "\ufeff<?xml version='1.0'?>"])
def test_an_open_document_may_be_one_file_of_xml(kind, body, read_as, begin):
    mark = f'office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.{kind}"'
    inner = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    data = f"{begin}<office:document {NAMES} {mark}>{inner}</office:document>"
    assert read_as in text("a.xml", data.encode())


def test_a_binary_workbook_is_refused_by_its_name():
    with pytest.raises(kinds.FileRejected, match="xlsb"):
        text("a.xlsb", pack({"xl/workbook.bin": "x", "[Content_Types].xml": "<x/>"}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_text_needs_no_byte_order_mark(encoding):
    assert text("a.txt", TEXT.encode(encoding)) == TEXT.strip()
    assert text("a.csv", "Roof;12\nBoiler;900\n".encode(encoding)) == "Roof | 12\nBoiler | 900"
    assert text("a.txt", "我喜欢喝绿茶。\n今天买了三个苹果。".encode(encoding)).endswith("苹果。")
    assert text("a.txt", ("🌞 " * 3_000).encode(encoding) + "\n".encode(encoding)).startswith("🌞 🌞")


@pytest.mark.parametrize("encoding", ["cp850", "cp1252", "mac_roman"])
def test_characters_that_no_text_has_show_another_encoding(encoding):
    assert text("a.txt", "Grün ist die Tür. The boiler was replaced.".encode(encoding)).startswith("Grün ist die Tür")


@pytest.mark.parametrize(
    "data",
    [
        b"MZ\x90\0\x03" + bytes(range(256)),
        b"ID3\x03\0\0\0\0",
        b"SQLite format 3\0\x10\0\x01\x01\0@  " + bytes(90),
        b"RIFF$\0\0\0WAVEfmt ",
        b"a.txt".ljust(257, b"\0") + b"ustar\x0000",
    ],
)
def test_what_is_no_text_is_not_accepted_as_one(data):
    with pytest.raises(kinds.FileRejected, match="cannot be read"):
        text("a.txt", data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (word(f"<w:p>{RUN}</w:p>", **{"word/comments.xml": "<broken"}), "The roof\n\n[Not read: 1 damaged part]"),
        (word(f"<w:p>{RUN}</w:p>", **{"word/settings.xml": ""}), "The roof\n\n[Not read: 1 damaged part]"),
        (word(f"<w:p>{RUN}</w:p>", path="word\\document.xml"), "The roof"),
        (word("<w:p><w:r><w:t>The\x0b roof</w:t></w:r></w:p>"), "The roof\n\n[Not read: 1 damaged part]"),
        (word(f'<w:p><w:pPr><w:numPr><w:ilvl w:val="x"/><w:numId w:val="1"/></w:numPr></w:pPr>{RUN}</w:p>'),
         "- The roof"),
        (word(f"<w:p><w:moveFrom>{RUN}</w:moveFrom></w:p><w:p><w:moveTo>{RUN}</w:moveTo></w:p>"),
         "[deleted: The roof]\nThe roof"),
        (word(f"<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>Obey me.</w:t></w:r>{RUN}</w:p>"),
         "[hidden: Obey me.]The roof"),
        (word('<w:p><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>The roof</w:t></w:r></w:p>'), "The roof"),
        (word(f"<w:p><w:r><w:ruby><w:rt><w:r><w:t>aloud</w:t></w:r></w:rt><w:rubyBase>{RUN}</w:rubyBase></w:ruby></w:r></w:p>"),
         "The roof"),
    ],
)  # fmt: skip
def test_a_word_document_is_read_whatever_is_odd_in_it(data, expected):
    assert text("a.docx", data) == expected


@pytest.mark.cases("name", "page")
@pytest.mark.parametrize("target", ["/word/", ""])
def test_a_page_that_word_would_insert_is_read(name, page, target):
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relation = f'<Relationship Id="c" Type="{kind}/aFChunk" Target="{target}{name}"/>'
    parts = {"word/_rels/document.xml.rels": f"<Relationships>{relation}</Relationships>", f"word/{name}": page}
    assert text("a.docx", word(f'<w:altChunk xmlns:r="{kind}" r:id="c"/>', **parts)) == "The roof"


def test_a_cell_says_where_it_leads():
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active["A1"], book.active["B1"] = "Roof", "https://example.org/"
    book.active["A1"].hyperlink, book.active["B1"].hyperlink = "https://example.org/roof", "https://example.org/"
    book.save(file)
    assert text("a.xlsx", file.getvalue()).endswith("Roof (https://example.org/roof) | https://example.org/")


def workbook(change: Callable[[str, str], str | None]) -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["Roof", 0.125, timedelta(hours=30)])
    book.active["B1"].number_format = "0.0%"
    book.create_chartsheet("Chart")
    file = io.BytesIO()
    book.save(file)
    with zipfile.ZipFile(file) as archive:
        parts = {name: change(name, archive.read(name).decode()) for name in archive.namelist()}
    return pack({name: part for name, part in parts.items() if part is not None})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda _name, part: part, "Roof | 12.5% | 30:00:00"),
        (lambda name, part: None if "theme" in name else part, "Roof | 12.5% | 30:00:00"),
        (lambda name, part: re.sub("T..:", "?", part) if "core" in name else part, "Roof | 12.5% | 30:00:00"),
        (lambda name, part: part.replace("gray125", "tartan") if "styles" in name else part, "Roof | 0.125"),
        (lambda name, part: None if "styles" in name else part, "Roof | 0.125"),
        (lambda _name, part: re.sub('(r="C1"[^>]*)><v>.*?</v>', r"\1><v>x</v>", part), "Roof | 12.5% | x"),
        (lambda _name, part: re.sub('r="C1".*?</v>', 'r="C1" t="s"><v>99</v>', part), "12.5% |\n\n[Not read: 1 "),
        (lambda _name, part: part.replace("</sheetData>", ""), "Roof | 12.5% | 30:00:00"),
    ],
)
def test_a_workbook_keeps_its_cells_whatever_is_odd_beside_them(change, expected):
    found = text("a.xlsx", workbook(change))
    assert expected in found
    assert ("12.5%" in found) != ("table of number formats" in found)


def test_a_line_that_ends_within_a_paragraph_of_a_slide_ends():
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "The roof\vis green"
    slide.notes_slide.notes_text_frame.text = "Kim\vagreed"
    file = io.BytesIO()
    deck.save(file)
    assert text("a.pptx", file.getvalue()) == "The roof\nis green\nNotes: Kim\nagreed"


SHEET = '<table:table table:name="S"><table:table-row><table:table-cell {}</table:table-row></table:table>'


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.ott", make_odf("text", "<text:p>The roof</text:p>", "text-template"), "The roof"),
        ("a.odt", make_odf("text", "<text:p>The roof</text:p>"), "The roof"),
        ("a.odg", make_odf("drawing", "<draw:page><draw:frame><draw:text-box><text:p>The roof</text:p></draw:text-box>"
         "</draw:frame></draw:page>", "graphics"), "The roof"),
        ("a.ods", make_odf("spreadsheet", SHEET.format('office:value="12"/>'), "spreadsheet"), "Sheet “S”\n12"),
        ("a.ods", make_odf("spreadsheet", SHEET.format('office:date-value="2025-01-02"/>'), "spreadsheet"),
         "Sheet “S”\n2025-01-02"),
        ("a.ods", make_odf("spreadsheet", SHEET.format(
            'table:number-columns-repeated="many"><text:p>Roof</text:p></table:table-cell>'
        ), "spreadsheet"), "Sheet “S”\nRoof"),
        ("a.epub", pack({"META-INF/container.xml": CONTAINER, "p.opf": '<package><item id="a" href="a.xhtml"/>'
         '<item id="b" href="b.css"/></package>', "a.xhtml": "<p>The roof</p>", "b.css": "p {}"}), "The roof"),
        ("a.epub", pack({"META-INF/container.xml": CONTAINER, "p.opf": '<package><item id="a" href="a"/></package>',
         "a": "<?xml version='1' encoding='windows-1250'?><head><title/></head><p>Gęś".encode("cp1250")}), "Gęś"),
        *((name, data.encode("latin-1"), expected) for name, data, expected in CASES["other_kinds"]),
    ],
)  # fmt: skip
def test_other_kinds_are_read_whatever_is_odd_in_them(name, data, expected):
    assert text(name, data) == expected
