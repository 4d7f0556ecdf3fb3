"""What readers make of files, for each kind and each way in which it is written."""

import io
import json
import re
import zipfile
from pathlib import Path

import openpyxl
import pptx
import pytest
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from webapp.files import kinds
from webapp.files.readers.page import text_of_html
from webapp.files.readers.result import Unreadable
from webapp.files.text_extraction import read

CASES = json.loads(Path(__file__).with_name("readers.json").read_text(encoding="utf-8"))

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


FORMS = b"""--b
Content-Type: text/plain

Open it in a browser.
--b
Content-Type: text/html

<p>The meeting moved to Tuesday at nine.</p>
--b--"""
AMP = b"--b\nContent-Type: text/x-amp-html\n\nNo.\n"
CSS = b"--b\nContent-Type: text/css%s\n\np{}\n"
HTML = b"--b\nContent-Type: text/html\n\n<p>So.</p>\n--b--"
WITHIN = b"""--b
Content-Type: message/rfc822

From: lee@example.org

Inner.
--b--"""
URN = "urn:oasis:names:tc:opendocument:xmlns"
OPENED = f"""<office:document-content xmlns:office="{URN}:office:1.0" xmlns:text="{URN}:text:1.0"
 xmlns:table="{URN}:table:1.0">
<office:body><office:text><text:h>Head</text:h><table:table><table:table-row><table:table-cell><text:p>Roof</text:p>
</table:table-cell></table:table-row></table:table></office:text></office:body></office:document-content>"""
SPINE = """<package><item id="b" href="b.xhtml"/><item id="a" href="a.xhtml"/>
<itemref idref="a"/><itemref idref="b"/></package>"""


def archive(**parts: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as zipped:
        for name, text in parts.items():
            zipped.writestr(name.replace("__", "/").replace("-", "."), text)
    return file.getvalue()


def kind(name: str, data: bytes) -> str:
    return kinds.kind_of(name, io.BytesIO(data), len(data))


def text(name: str, data: bytes) -> str:
    return "\n".join(read(data, kind(name, data)))


def document(body: str, **more: str) -> bytes:
    parts = {"document": f"<w:document {W} {M} {R}><w:body>{body}</w:body></w:document>", **more}
    return archive(**{f"word__{name}-xml": part for name, part in parts.items()})


def paragraph(inner: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def run(words: str) -> str:
    return f"<w:r><w:t>{words}</w:t></w:r>"


@pytest.mark.parametrize(("html", "expected"), CASES["html_is_read_as_a_browser_reads_it"])
def test_html_is_read_as_a_browser_reads_it(html, expected):
    assert expected in text_of_html(html)
    assert "no" not in text_of_html(html).split() and "Icon" not in text_of_html(html)


@pytest.mark.parametrize(("encoding", "words"), CASES["a_text_is_read_in_its_encoding"])
def test_a_text_is_read_in_its_encoding(encoding, words):
    assert text("a.txt", words.encode(encoding)) == words


def test_a_broken_byte_costs_one_character():
    assert text("a.txt", "Die Tür ".encode() + b"\xff" + b" Ende.") == "Die Tür \ufffd Ende."


@pytest.mark.parametrize("data", CASES["separated_values"])
def test_separated_values_are_read_whatever_separates_them(data):
    assert text("a.csv", data.encode()) == "name | price\nTea | 3"


def test_a_word_document_keeps_its_tables_lists_notes_and_changes():
    numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    data = document(
        paragraph(run("First"), numbered)
        + paragraph(run("Second"), numbered)
        + f"<w:tbl><w:tr><w:tc>{paragraph(run('Roof'))}</w:tc><w:tc>{paragraph(run('12'))}</w:tc></w:tr></w:tbl>"
        + paragraph(f"<w:del><w:r><w:delText>900</w:delText></w:r></w:del><w:ins>{run('950')}</w:ins>")
        + paragraph(f"<w:r><w:txbxContent>{paragraph(run('Call Lee'))}</w:txbxContent></w:r>")
        + paragraph(
            "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>"
        )
        + paragraph(f"<w:sdt><w:sdtContent>{run('Kim')}</w:sdtContent></w:sdt>"),
        numbering=f'<w:numbering {W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
        '<w:numFmt w:val="upperLetter"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        "</w:numbering>",
        header1=f"<w:hdr {W}>{paragraph(run('Draft of May'))}</w:hdr>",
        footnotes=f"<w:footnotes {W}><w:footnote>{paragraph(run('See page 2.'))}</w:footnote></w:footnotes>",
        comments=f'<w:comments {W}><w:comment w:author="Lee">{paragraph(run("Is it so?"))}</w:comment></w:comments>',
    )
    found = text("a.docx", data)
    for expected in (
        *("A. First", "B. Second", "Roof | 12", "[deleted: 900]950", "Call Lee", "(a)/(b)", "Kim"),
        *("Header: Draft of May", "Footnotes: See page 2.", "Comment by Lee: Is it so?"),
    ):
        assert expected in found


def test_slides_are_read_in_order_with_groups_tables_charts_and_notes():
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(Inches(1), Inches(5), Inches(2), Inches(1)).text_frame.text = "Below"
    slide.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "Above"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(6), Inches(2), Inches(1)).text_frame.text = "Grouped"
    chart = CategoryChartData()
    chart.categories = ["May", "June"]
    chart.add_series("Heating", (120, 140))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(7), Inches(3), Inches(2), chart)
    slide.notes_slide.notes_text_frame.text = "Kim agreed."
    file = io.BytesIO()
    deck.save(file)
    found = text("a.pptx", file.getvalue())
    assert found.index("Above") < found.index("Below") < found.index("Grouped")
    assert "Heating | 120 | 140" in found.replace(".0", "") and "Notes: Kim agreed." in found


def test_sheets_are_read_as_they_are_shown():
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["code", "share", "whole"], [1067, 0.125, 42.0], ["=1+1", None, None]):
        sheet.append(row)
    sheet["A2"].number_format, sheet["B2"].number_format = "00000", "0.0%"
    sheet["C2"].comment = Comment("from May", "Lee")
    sheet.merge_cells("B3:C3")
    sheet["B3"] = "North"
    file = io.BytesIO()
    book.save(file)
    found = text("a.xlsx", file.getvalue())
    assert "01067 | 12.5% | 42 [note: from May]" in found and "=1+1 | North | North" in found
    assert "Sheet “Sheet”" in found
    assert "[Not read: 1 formula without a stored result]" in found


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nU3ViamVjdDogQQoKQg==", "A\n\nB"),
        (b"Content-Type: text/plain; charset=gb2312\n\n" + "會議改到星期二。".encode("gb18030"), "會議改到星期二。"),
        (b"Content-Type: text/plain; charset=x-unknown\n\nTuesday.", "Tuesday."),
        (b'Content-Type: text/plain; charset="a\0b"\n\nTuesday.', "Tuesday."),
        (b"Subject: =?gb18030?B?u+HS6Q==?=\n =?utf-8?Q?_Tuesday?=\n\nSo.", "Subject: 会议 Tuesday"),
        (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nFirst.\n--b\n\nSecond.\n--b--", "First.\nSecond."),
        (b"Content-Type: multipart/alternative; boundary=b\n\n" + FORMS, "The meeting moved to Tuesday at nine."),
        (b"Content-Type: multipart/mixed; boundary=b\n\n" + WITHIN, "From: lee@example.org\n\nInner."),
        (
            b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nU3ViamVjdDogVGVhCgpHcmVlbi4=",
            "Tea\n\nGreen.",
        ),
        (b"Content-Type: text/plain; name=a.txt\nContent-Disposition: inline\n\nTuesday.", "\n\nTuesday."),
        (b"Content-Type: multipart/alternative; boundary=b\n\n" + AMP + HTML, "\n\nSo."),
        (b"Content-Type: multipart/related; boundary=b\n\n" + CSS % b"" + HTML, "\n\nSo."),
        (b"Content-Type: multipart/mixed; boundary=b\n\n" + CSS % b"; name=a.css" + HTML, "\n\nAttached: a.css\nSo."),
    ],
)
def test_mails_are_read_whole(parts, expected):
    for name in ("a.eml", "a.mhtml"):  # a page saved as one file is a mail, too
        assert expected in text(name, b"From: kim@example.org\n" + parts)
    assert text("a.emlx", b"999\nFrom: kim@example.org\n" + parts).startswith("From: kim@example.org")


def test_a_mailbox_has_a_page_for_each_message():
    one = b"From kim@example.org Tue Dec  9 10:00:00 2025\nFrom: kim@example.org\n\n\nFrom May in 2025\n%s\n\n"
    assert [page.splitlines()[-1] for page in read(one % b"First." + one % b"Second.", kinds.MAILBOX)] == [
        "First.",
        "Second.",
    ]
    assert kind("letters", one % b"First.") == kinds.MAILBOX


def test_other_kinds_are_told_by_content_and_read():
    assert text("a.doc", rb"{\rtf1\ansi The roof is \b green\b0 .}") == "The roof is green."
    assert text("a.doc", b"<html><body><p>The roof.</p></body></html>") == "The roof."
    assert text("a.xls", b"Item\tCost\nRoof\t12\n") == "Item | Cost\nRoof | 12"
    assert text("a.xls", b"<table><tr><td>Item</td><td>Cost</td></tr></table>") == "Item | Cost"
    mail = b"Date: Mon, 1 Dec 2025 10:00:00\nSubject: Roof\nMIME-Version: 1.0\nContent-Type: text/html\n\n"
    assert text("a.doc", mail + b"<p>It is green.</p>").endswith("It is green.")
    cells = [
        {"cell_type": "markdown", "source": ["# Roof"]},
        {"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"text/plain": ["2"], "image/png": "aGk="}}]},
    ]
    assert (
        text("a.ipynb", json.dumps({"cells": cells}).encode())
        == "# Roof\n\n```\n1 + 1\n```\n\n2\n\n[Not read: 1 picture]"
    )
    opened = archive(**{"mimetype": kinds.OPEN_DOCUMENTS[0], "content-xml": OPENED})
    assert text("a.odt", opened) == "# Head\nRoof"
    container = '<container><rootfiles><rootfile full-path="o/p.opf"/></rootfiles></container>'
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as zipped:
        for name, words in {
            "mimetype": kinds.BOOK,
            "META-INF/container.xml": container,
            "o/p.opf": SPINE,
            "o/a.xhtml": "<p>First.</p>",
            "o/b.xhtml": "<p>Second.</p>",
        }.items():
            zipped.writestr(name, words)
    assert read(book.getvalue(), kind("a.epub", book.getvalue())) == ["First.", "Second."]


@pytest.mark.cases("html", "text")
def test_what_stands_apart_on_a_page_does_in_its_text(html, text):
    assert text_of_html(html) == text


def test_what_cannot_be_read_says_what_to_do():
    with pytest.raises(kinds.FileRejected, match="iWork"):
        kind("a.pages", b"PK\x03\x04")


STRICT = re.compile(rb"http://schemas.openxmlformats.org/(\w+)/2006/")


def strict(data: bytes) -> bytes:
    """An Office file as its program saves it in the strict form of its format."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(result, "w") as changed:
        for name in archive.namelist():
            part = archive.read(name)
            changed.writestr(
                name, part if "Content_Types" in name else STRICT.sub(rb"http://purl.oclc.org/ooxml/\1/", part)
            )
    return result.getvalue()


def workbook(*cells: tuple[str, object]) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for place, value in cells:
        book.active[place] = value
    book.save(file)
    return file.getvalue()


def deck(words: str) -> bytes:
    slides, file = pptx.Presentation(), io.BytesIO()
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = words
    slides.save(file)
    return file.getvalue()


FORMATS = "http://schemas.openxmlformats.org"
RELS = f"""<Relationships xmlns="{FORMATS}/package/2006/relationships"><Relationship Id="r"
 Type="{FORMATS}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"""
LETTER = f"<w:document {W}><w:body>{paragraph(run('Earl Grey'))}</w:body></w:document>"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.docx", archive(**{"_rels__-rels": RELS, "word__document-xml": LETTER})),
        ("a.xlsx", workbook(("A1", "Earl Grey"))),
        ("a.pptx", deck("Earl Grey")),
    ],
)  # fmt: skip
def test_the_strict_form_of_an_office_file_is_read(name, data):
    assert "Earl Grey" in text(name, data)
    assert text(name, strict(data)) == text(name, data)


def test_a_document_may_have_another_number():
    assert text("a.docx", archive(**{"word__document2-xml": LETTER})) == "Earl Grey"


def test_a_cell_far_off_makes_no_other_row_longer():
    read_text = text("a.xlsx", workbook(("A1", "Earl"), ("B2", "Grey"), ("XFD20000", "far")))
    assert "Earl" in read_text and "Grey" in read_text and "far" in read_text


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "iso-2022-jp"])
def test_a_page_is_read_in_utf_8_or_in_what_it_names(encoding):
    words = "緑茶です" if encoding == "iso-2022-jp" else "Grüner Tee"
    named = encoding if encoding == "iso-2022-jp" else "iso-8859-1"
    assert text("a.html", f"<meta charset={named}><p>{words}".encode(encoding)) == words


def test_the_head_of_a_mail_may_be_in_utf_8_and_begin_with_a_mark():
    assert text("a.eml", "\ufeffFrom: a@b.c\nSubject: Grüner Tee\n\nBody".encode()).startswith(
        "From: a@b.c\nSubject: Grüner Tee"
    )


def test_a_book_without_its_first_file_is_one_and_an_encrypted_one_is_said_to_be():
    container = "<container><rootfile full-path='a.opf'/></container>"
    package = "<package><item id='a' href='a.xhtml'/><itemref idref='a'/></package>"
    parts = {"META-INF/container.xml": container, "a.opf": package}

    def book(chapter: str) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as zipped:
            for name, part in {**parts, "a.xhtml": chapter}.items():
                zipped.writestr(name, part)
        return file.getvalue()

    assert text("a.epub", book("<p>Earl Grey</p>")) == "Earl Grey"
    with pytest.raises(Unreadable, match="protected"):
        text("a.epub", book("\x9f\x00\x88"))
