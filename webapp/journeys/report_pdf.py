"""The summary of a journey as a PDF of A4 pages; no database, no web."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from webapp.journeys.report_content import ENGLISH, Answer, Report, ReportTexts, label
from webapp.journeys.report_fonts import add_fonts, printable_texts, texts_of
from webapp.journeys.report_pages import BODY, INDENT, LINE, MUTED, SECTION, TITLE, UNBROKEN_HEIGHT, Pages, Style

NAMES_WIDTH = 46
SHORT = 4
"""The most statements of a point on the front page."""
_BYLINE = Style("sans", 10.5, 5.6, MUTED)
_ESSENTIAL = Style("sans", 10.5, 5.6, emphasis="B")
_SMALL = Style("sans", 10, 5.8)
_HEAD = Style("sans", 11, 6)
_QUIET_HEAD = Style("sans", 11, 6, MUTED)
_INTRODUCTION = Style("sans", 10.5, 5.4, MUTED)
_QUIET = Style("sans", 11, 5.8, MUTED)
_NAME = Style("sans", 10, 5.8, MUTED, "B")
_FOOT = Style("sans", 9, 4.6, MUTED)


def make_pdf(report: Report, day: date, wording: ReportTexts = ENGLISH) -> bytes:
    """Return the PDF of a summary, printed on a day; text that no font can show is left out."""
    report = _printable_report(report)
    texts = [*texts_of(report), *_fixed_texts(report, day, wording), "•–·“”0123456789"]
    with tempfile.TemporaryDirectory() as folder:
        pages = _Pages(report.journey, day, wording)
        add_fonts(pages, texts, Path(folder))
        _write(pages, report)
        return bytes(pages.output())


class _Pages(Pages):
    """Pages whose footer has the journey and the day."""

    def __init__(self, journey: str, day: date, wording: ReportTexts):
        super().__init__(journey, f"{journey} · {wording.in_full(day)}", tag=wording.tag, is_rtl=wording.is_rtl)
        self.day, self.wording = day, wording


def _front(pages: _Pages, report: Report) -> None:
    """Write the essentials on a page of their own, for readers in a hurry."""
    pages.add_page()
    pages.text_block(report.front_page, TITLE)
    for line in (report.person, f"{report.journey} · {pages.wording.in_full(pages.day)}"):
        if line:
            pages.text_block(line, _BYLINE)
    for answer in report.answers:
        if not answer.has_data:
            continue
        pages.ln(3)
        pages.text_block(answer.title, _ESSENTIAL)
        for text in answer.essentials[:SHORT]:
            _bullet(pages, text, _SMALL)
        for name, value in answer.values[:SHORT]:
            _value(pages, name, value)
        for text in answer.unclear:
            _bullet(pages, pages.wording.disagreement(text), _SMALL)
        if pages.page_no() > 1:
            return


def _write(pages: _Pages, report: Report) -> None:
    if report.front_page and any(answer.has_data for answer in report.answers):
        _front(pages, report)
    pages.add_page()
    pages.heading(pages.wording.heading, report.journey)
    pages.ln(2)
    # Each on a line of its own: a name in a right-to-left script would pull the date to its side.
    if report.person:
        pages.text_block(report.person, _HEAD)
    pages.text_block(pages.wording.in_full(pages.day), _HEAD)
    if report.conversation and report.conversation != report.journey:
        pages.text_block(report.conversation, _QUIET_HEAD)
    pages.text_block(pages.wording.count(report), _QUIET_HEAD)
    pages.ln(3)
    pages.text_block(report.description, _INTRODUCTION)
    for number, answer in enumerate(report.answers, 1):
        _point(pages, number, answer)
    if pages.will_page_break(14):
        return  # otherwise this line would be on a nearly empty page
    pages.ln(8)
    pages.text_block(pages.wording.foot, _FOOT)


def _point(pages: _Pages, number: int, answer: Answer) -> None:
    pages.ln(6)
    pages.ensure_room(34)
    pages.set_draw_color(*LINE)
    pages.set_line_width(0.2)
    pages.line(pages.l_margin, pages.get_y(), pages.l_margin + pages.epw, pages.get_y())
    pages.ln(4)
    pages.text_block(f"{number}. {answer.title}", SECTION)
    pages.ln(1.5)
    if not answer.has_data:
        pages.text_block(pages.wording.aside if answer.is_skipped else pages.wording.open, _QUIET)
        return
    for statement in answer.statements:
        _bullet(pages, statement)
    for name, value in answer.values:
        _value(pages, name, value)
    for text in answer.unclear:
        _bullet(pages, pages.wording.disagreement(text))
    if answer.quotes:
        pages.ln(2)
        for quote in answer.quotes:
            pages.quotation(quote.text, pages.wording.source(quote))


def _bullet(pages: _Pages, statement: str, style: Style = BODY) -> None:
    pages.use(style)
    pages.ensure_room(6)
    pages.set_xy(pages.left_edge(0, INDENT), pages.get_y())
    pages.cell(INDENT, style.height, "•", align=pages.start)
    pages.text_block(statement, style, indent=INDENT)


def _value(pages: _Pages, name: str, value: str) -> None:
    """Write a value beside its name, each as high as it needs to be."""
    width = pages.epw - INDENT - NAMES_WIDTH
    pages.ensure_room(min(pages.height_of(value, BODY, width), UNBROKEN_HEIGHT))
    top, page = pages.get_y(), pages.page_no()
    pages.text_block(label(name), _NAME, indent=INDENT, width=NAMES_WIDTH - 3)
    below = pages.get_y() if pages.page_no() == page else top
    pages.set_y(top)
    pages.text_block(value, BODY, indent=INDENT + NAMES_WIDTH)
    if pages.page_no() == page:
        pages.set_y(max(below, pages.get_y()))


def _printable_report(report: Report) -> Report:
    """Return the report with texts that can be printed; what has none left is not shown."""
    report = printable_texts(report)
    answers = []
    for answer in report.answers:
        statements = [text for item in answer.statements if (text := item.strip())]
        quotes = [replace(item, text=text) for item in answer.quotes if (text := item.text.strip())]
        answers.append(replace(answer, statements=statements, quotes=quotes))
    return replace(report, answers=answers)


def _fixed_texts(report: Report, day: date, wording: ReportTexts) -> Iterator[str]:
    yield from texts_of(wording)
    yield from (wording.count(report), wording.in_full(day))
    for answer in report.answers:
        yield from (label(name) for name, _ in answer.values)
        yield from map(wording.source, answer.quotes)
