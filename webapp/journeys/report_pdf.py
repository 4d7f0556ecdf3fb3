"""The summary of a journey as a PDF of A4 pages; no database, no web."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from webapp.journeys.report_content import ENGLISH, Answer, Report, ReportTexts, label
from webapp.journeys.report_fonts import add_fonts, printable_texts, texts_of
from webapp.journeys.report_pages import INDENT, INK, LINE, MUTED, UNBROKEN_HEIGHT, Pages

NAMES_WIDTH = 46
SHORT = 4
"""The most statements of a point on the front page."""


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
    pages.set_font("serif", size=20)
    pages.set_text_color(*INK)
    pages.text_block(report.front_page, height=9)
    pages.set_font("sans", size=10.5)
    pages.set_text_color(*MUTED)
    for line in (report.person, f"{report.journey} · {pages.wording.in_full(pages.day)}"):
        if line:
            pages.text_block(line, height=5.6)
    for answer in report.answers:
        if not answer.has_data:
            continue
        pages.ln(3)
        pages.set_font("sans", "B", 10.5)
        pages.set_text_color(*INK)
        pages.text_block(answer.title, height=5.6)
        pages.set_font("sans", size=10)
        for text in answer.essentials[:SHORT]:
            _bullet(pages, text)
        for name, value in answer.values[:SHORT]:
            _value(pages, name, value)
        for text in answer.unclear:
            _bullet(pages, pages.wording.disagreement(text))
        if pages.page_no() > 1:
            return


def _write(pages: _Pages, report: Report) -> None:
    if report.front_page and any(answer.has_data for answer in report.answers):
        _front(pages, report)
    pages.add_page()
    pages.heading(pages.wording.heading, report.journey)
    pages.ln(2)
    pages.set_font("sans", size=11)
    # Each on a line of its own: a name in a right-to-left script would pull the date to its side.
    if report.person:
        pages.text_block(report.person, height=6)
    pages.text_block(pages.wording.in_full(pages.day), height=6)
    pages.set_text_color(*MUTED)
    if report.conversation and report.conversation != report.journey:
        pages.text_block(report.conversation, height=6)
    pages.text_block(pages.wording.count(report), height=6)
    pages.ln(3)
    pages.set_font("sans", size=10.5)
    pages.text_block(report.description, height=5.4)
    for number, answer in enumerate(report.answers, 1):
        _point(pages, number, answer)
    if pages.will_page_break(14):
        return  # otherwise this line would be on a nearly empty page
    pages.ln(8)
    pages.set_font("sans", size=9)
    pages.set_text_color(*MUTED)
    pages.text_block(pages.wording.foot, height=4.6)


def _point(pages: _Pages, number: int, answer: Answer) -> None:
    pages.ln(6)
    pages.ensure_room(34)
    pages.set_draw_color(*LINE)
    pages.set_line_width(0.2)
    pages.line(pages.l_margin, pages.get_y(), pages.l_margin + pages.epw, pages.get_y())
    pages.ln(4)
    pages.set_font("serif", size=14.5)
    pages.set_text_color(*INK)
    pages.text_block(f"{number}. {answer.title}", height=7)
    pages.ln(1.5)
    pages.set_font("sans", size=11)
    if not answer.has_data:
        pages.set_text_color(*MUTED)
        pages.text_block(pages.wording.aside if answer.is_skipped else pages.wording.open, height=5.8)
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


def _bullet(pages: _Pages, statement: str) -> None:
    pages.set_text_color(*INK)
    pages.ensure_room(6)
    pages.set_xy(pages.left_edge(0, INDENT), pages.get_y())
    pages.cell(INDENT, 5.8, "•", align=pages.start)
    pages.text_block(statement, height=5.8, indent=INDENT)


def _value(pages: _Pages, name: str, value: str) -> None:
    """Write a value beside its name, each as high as it needs to be."""
    width = pages.epw - INDENT - NAMES_WIDTH
    pages.set_font("sans", size=11)
    pages.ensure_room(min(pages.height_of(value, width, 5.8), UNBROKEN_HEIGHT))
    top, page = pages.get_y(), pages.page_no()
    pages.set_font("sans", "B", 10)
    pages.set_text_color(*MUTED)
    pages.set_y(top)
    pages.text_block(label(name), height=5.8, indent=INDENT, width=NAMES_WIDTH - 3)
    below = pages.get_y() if pages.page_no() == page else top
    pages.set_font("sans", size=11)
    pages.set_text_color(*INK)
    pages.set_y(top)
    pages.text_block(value, height=5.8, indent=INDENT + NAMES_WIDTH)
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
