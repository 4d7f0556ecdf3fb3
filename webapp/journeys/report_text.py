"""The summary of a journey as Markdown and as data; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from webapp.http.validation import utc_text
from webapp.journeys.report_content import ENGLISH, Answer, Report, ReportTexts


def as_markdown(report: Report, day: date, wording: ReportTexts = ENGLISH) -> str:
    """The summary as Markdown; nothing people said can become a heading, a list or HTML."""
    head = [
        f"# {_line(report.journey)}",
        " · ".join(_line(part) for part in (report.person, wording.in_full(day)) if part),
    ]
    head += [wording.count(report), _line(report.description)]
    blocks = [*head]
    if report.front_page:
        blocks += [f"## {_line(report.front_page)}", _short(report.answers)]
    for number, answer in enumerate(report.answers, 1):
        blocks += [f"## {number}. {_line(answer.title)}", *_answer(answer, wording)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def as_data(report: Report, day: date) -> dict[str, Any]:
    """The summary as data."""
    return {
        "journey": report.journey,
        "description": report.description,
        "person": report.person,
        "conversation": report.conversation,
        "date": day.isoformat(),
        "front_page": report.front_page or None,
        "addressed": report.addressed,
        "points": [
            {
                "title": answer.title,
                "description": answer.description,
                "is_addressed": answer.is_addressed,
                "is_set_aside": answer.is_skipped,
                "statements": list(answer.statements),
                "values": dict(answer.values),
                "unclear": list(answer.unclear),
                "quotes": [{"text": quote.text, "said_at": utc_text(quote.said_at)} for quote in answer.quotes],
            }
            for answer in report.answers
        ],
    }


def _short(answers: Sequence[Answer]) -> str:
    lines = []
    for answer in answers:
        points = [*answer.statements, *(f"{name}: {value}" for name, value in answer.values)]
        if points:
            lines.append(f"- **{_line(answer.title)}**: {_line('; '.join(points))}")
    return "\n".join(lines)


def _answer(answer: Answer, wording: ReportTexts) -> list[str]:
    if not (answer.statements or answer.quotes or answer.values):
        return [f"*{wording.aside if answer.is_skipped else wording.open}*"]
    listed = [
        *(f"- {_line(text)}" for text in answer.statements),
        *(f"- **{_line(name)}**: {_line(value)}" for name, value in answer.values),
        *(f"- {wording.disagreement(_line(text))}" for text in answer.unclear),
    ]
    quotes = [f"> {_line(quote.text)}\n> — {wording.source(quote)}" for quote in answer.quotes]
    return ["\n".join(listed), *quotes]


def _line(text: str) -> str:
    """One line without Markdown or HTML of its own."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", " ".join(text.split()))
