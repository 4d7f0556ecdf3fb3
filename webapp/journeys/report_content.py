"""The content of a journey's summary, as plain data and as Markdown, and its fingerprint; pure."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from webapp.http.validation import utc_text
from webapp.i18n.dates import full_date

LAYOUT = 4
"""Increased when the layout changes, so that stored summaries are made again."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """The person's own words, and when they were said."""

    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """A point with what was found out; without anything, it is still open. `unclear` are answers that disagree."""

    title: str
    description: str
    statements: Sequence[str]
    quotes: Sequence[Quotation]
    values: Sequence[tuple[str, str]] = ()
    is_addressed: bool = True
    is_skipped: bool = False
    unclear: Sequence[str] = ()

    @property
    def essentials(self) -> Sequence[str]:
        """Return what the front page says besides the values: the statements, or else the latest quotation."""
        return self.statements or [f"“{quote.text}”" for quote in self.quotes[-1:]]

    @property
    def has_data(self) -> bool:
        """Return whether anything was found out."""
        return bool(self.essentials or self.values)

    @property
    def stage(self) -> str:
        """Return how far the point is, as `PointView.stage` does."""
        return "covered" if self.is_addressed else "aside" if self.is_skipped else "begun" if self.has_data else "open"


@dataclass(frozen=True, slots=True)
class Report:
    """A summary: the journey, the person, an answer for each point; `front_page` heads the essentials, if any."""

    journey: str
    description: str
    person: str
    conversation: str
    answers: Sequence[Answer]
    front_page: str = ""
    language: str = "en"

    @property
    def addressed(self) -> int:
        """Return how many points are addressed."""
        return sum(answer.is_addressed for answer in self.answers)


@dataclass(frozen=True, slots=True)
class ReportTexts:
    """The texts of a summary besides the answers, in a language; `{…}` is a placeholder."""

    tag: str = "en"
    is_rtl: bool = False
    heading: str = "Summary of a conversation"
    addressed: str = "{addressed} of {total} topics covered"
    open: str = "Not covered yet."
    aside: str = "Set aside, as you asked."
    unclear: str = "Two answers disagree: {text}"
    attribution: str = "You, {said_at}"
    foot: str = "Made from what you said in Commonplace. Quotations are your own words."
    in_full: Callable[[date], str] = full_date

    def count(self, report: Report) -> str:
        """Return how many points the conversation has covered."""
        return self.addressed.replace("{addressed}", str(report.addressed)).replace("{total}", str(len(report.answers)))

    def disagreement(self, text: str) -> str:
        """Return a line about two answers that cannot both be true."""
        return self.unclear.replace("{text}", text)

    def source(self, quote: Quotation) -> str:
        """Return whose words a quotation is, and when they were said."""
        return self.attribution.replace("{said_at}", self.in_full(quote.said_at.date()))


ENGLISH = ReportTexts()


def fingerprint(report: Report) -> str:
    """Return a hash that changes with anything printed, except the day of printing."""
    data = json.dumps([LAYOUT, asdict(report)], default=str, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(data.encode("utf-8", "replace")).hexdigest()


def file_name(report: Report, day: date, ending: str = "pdf") -> str:
    """Return an ASCII name for the file."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in report.journey).split()
    return f"{'-'.join(words).lower() or 'summary'}-{day.isoformat()}.{ending}"


def label(name: str) -> str:
    """Return a name of structured data as people read it."""
    words = " ".join(name.replace("_", " ").replace("-", " ").split())
    return words[:1].upper() + words[1:]


def as_markdown(report: Report, day: date, wording: ReportTexts = ENGLISH) -> str:
    """Return the summary as Markdown; nothing people said can become a heading, a list or HTML."""
    head = [
        f"# {_line(report.journey)}",
        " · ".join(_line(part) for part in (report.person, wording.in_full(day)) if part),
    ]
    head += [wording.count(report), _line(report.description)]
    blocks = [*head]
    if report.front_page and (essentials := _essentials(report.answers)):
        blocks += [f"## {_line(report.front_page)}", essentials]
    for number, answer in enumerate(report.answers, 1):
        blocks += [f"## {number}. {_line(answer.title)}", *_answer(answer, wording)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def as_dict(report: Report, day: date) -> dict[str, Any]:
    """Return the summary as JSON data."""
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


def _essentials(answers: Sequence[Answer]) -> str:
    lines = []
    for answer in answers:
        points = [*answer.essentials, *(f"{name}: {value}" for name, value in answer.values)]
        if points:
            lines.append(f"- **{_line(answer.title)}**: {_line('; '.join(points))}")
    return "\n".join(lines)


def _answer(answer: Answer, wording: ReportTexts) -> list[str]:
    if not answer.has_data:
        return [f"*{wording.aside if answer.is_skipped else wording.open}*"]
    lines = [
        *(f"- {_line(text)}" for text in answer.statements),
        *(f"- **{_line(name)}**: {_line(value)}" for name, value in answer.values),
        *(f"- {wording.disagreement(_line(text))}" for text in answer.unclear),
    ]
    return ["\n".join(lines), *[f"> {_line(quote.text)}\n> — {wording.source(quote)}" for quote in answer.quotes]]


def _line(text: str) -> str:
    """Return one line without Markdown or HTML of its own."""
    return re.sub(r"([\\`*_\[\]<>#|~])", r"\\\1", " ".join(text.split()))
