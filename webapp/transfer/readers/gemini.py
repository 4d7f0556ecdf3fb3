"""Gemini's activity from Google Takeout, as JSON or as HTML, in any language.

It has no conversations: questions asked within an hour of the one before count as one. The records come newest first.
The words before the question in a record's title ("Prompted …") are in the account's language; they are recognised as
the beginning that nearly all titles share.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import Any

from webapp.transfer.parts import Part, ReadConversation, ReadMessage, Unreadable, instant, text_or_none
from webapp.transfer.sources import Refused, Upload

GAP = timedelta(minutes=60)
_LARGE = 256 * 1024**2
_CELL = re.compile(r'<div class="outer-cell')
_CONTENT = re.compile(
    r'<div class="content-cell[^"]*mdl-typography--body-1">(.*?)</div>\s*(?=<div class="content-cell|</div>|\Z)',
    re.DOTALL,
)
_DATES = (
    "%b %d, %Y, %I:%M:%S %p",
    "%d %b %Y, %H:%M:%S",
    "%d.%m.%Y, %H:%M:%S",
    "%d/%m/%Y, %H:%M:%S",
    "%Y/%m/%d %H:%M:%S",
)
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")


@dataclass
class _Asked:
    title: str
    answer: str
    at: datetime | None


class Gemini:
    """Reads Gemini's part of a Takeout."""

    name, label = "gemini", "Gemini (Google Takeout)"

    def looks_like(self, upload: Upload) -> bool:
        """Whether a file of activity records is in it."""
        return bool(_json(upload) or _html(upload))

    def read(self, upload: Upload) -> Iterator[Part]:
        """The sessions, oldest first."""
        records: list[_Asked] = []
        for name in _json(upload):
            try:
                for item in upload.items(name):  # one by one, to keep what comes before the file is cut off
                    if record := _of_json(item):
                        records.append(record)
            except Refused:
                raise
            except ValueError as error:
                yield Unreadable(name, str(error))
        for name in _html(upload):
            records += _of_html(upload.text(name, _LARGE))
        if not records:
            yield Unreadable(upload.filename, "no questions to Gemini are in it")
            return
        prefix = common_beginning([record.title for record in records])
        dated = sorted((record for record in records if record.at), key=lambda record: record.at)  # type: ignore[arg-type, return-value]  # just checked
        session: list[_Asked] = []
        for record in dated:
            if session and record.at - session[-1].at > GAP:  # type: ignore[operator]  # all of these have a time
                yield _session(session, prefix)
                session = []
            session.append(record)
        if session:
            yield _session(session, prefix)
        for record in reversed([record for record in records if record.at is None]):
            yield _session([record], prefix)


def common_beginning(titles: list[str]) -> str:
    """The words that at least nine in ten titles begin with, if there are enough titles to tell."""
    if len(titles) < 3:
        return "Prompted " if all(title.startswith("Prompted ") for title in titles) else ""
    words = [title.split(" ") for title in titles]
    found: list[str] = []
    for at in range(4):
        here = Counter(line[at] for line in words if len(line) > at + 1 and line[:at] == found)
        word, count = here.most_common(1)[0] if here else ("", 0)
        if count < 0.9 * len(titles):
            break
        found.append(word)
    return " ".join(found) + " " if found else ""


def _session(records: list[_Asked], prefix: str) -> ReadConversation:
    messages: list[ReadMessage] = []
    for record in records:
        question = record.title.removeprefix(prefix).strip()
        name = _name(record)
        if question:
            messages.append(ReadMessage(f"{name}:q", "user", question, record.at))
        if record.answer:
            messages.append(ReadMessage(f"{name}:a", "assistant", record.answer, record.at, "gemini"))
    first = records[0]
    return ReadConversation(
        source_id=messages[0].source_id if messages else first.title,
        title=None,
        messages=messages,
        created_at=first.at,
        updated_at=records[-1].at,
    )


def _name(record: _Asked) -> str:
    """A stable name for a record: its time and, if that has no fractions of a second, what was asked."""
    if record.at and record.at.microsecond:
        return record.at.isoformat()
    words = hashlib.sha256(record.title.encode()).hexdigest()[:16]
    return f"{record.at.isoformat()}:{words}" if record.at else words


def _json(upload: Upload) -> list[str]:
    found = []
    for name in upload.names:
        if name.lower().endswith(".json"):
            item = upload.first_item(name) if upload.peek(name).lstrip().startswith("[") else None
            if isinstance(item, dict) and "header" in item and "title" in item and "Gemini" in str(item):
                found.append(name)
    return found


def _html(upload: Upload) -> list[str]:
    names = [name for name in upload.names if name.lower().endswith((".html", ".htm"))]
    return [name for name in names if "Gemini" in (text := upload.peek(name)) and "outer-cell" in text]


def _of_json(item: Any) -> _Asked | None:
    if not isinstance(item, dict) or not (title := text_or_none(item.get("title"))):
        return None
    answers = [part.get("html") or "" for part in item.get("safeHtmlItem") or [] if isinstance(part, dict)]
    return _Asked(title, markdown_of("\n".join(answers)), instant(item.get("time")))


def _of_html(page: str) -> list[_Asked]:
    records = []
    for cell in _CELL.split(page)[1:]:
        content = _CONTENT.search(cell)
        if content is None:
            continue
        pieces = re.split(r"<br\s*/?>", content.group(1))
        title = markdown_of(pieces[0])
        at = next((n for n, piece in enumerate(pieces[1:], 1) if _TIME.search(piece)), None)
        when = None if at is None else _when(markdown_of(pieces[at].split("<p")[0]))
        rest = "<br>".join(pieces[(at or 0) + 1 :]) if at is not None else "<br>".join(pieces[1:])
        if at is not None and "<p" in pieces[at]:
            rest = pieces[at][pieces[at].index("<p") :] + rest
        if title:
            records.append(_Asked(title, markdown_of(rest), when))
    return records


def _when(text: str) -> datetime | None:
    """A date as Takeout writes it in English or in numbers; None if the month is in another language."""
    cleaned = re.sub(r"\s+[A-Z]{2,5}(?:[+-]\d+)?$", "", text.replace("\u202f", " ").strip())
    for form in _DATES:
        try:
            return instant(datetime.strptime(cleaned, form).isoformat())  # noqa: DTZ007  # its zone is a name only
        except ValueError:
            continue
    return None


def markdown_of(html: str) -> str:
    """The text of a piece of HTML, with its paragraphs, lists, code and emphasis as Markdown."""
    writer = _Writer()
    writer.feed(html)
    writer.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(writer.out)).strip()


class _Writer(HTMLParser):
    _MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._pre = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("p", "div", "ul", "ol", "table"):
            self.out.append("\n\n")
        elif tag in ("br", "tr"):
            self.out.append("\n")
        elif tag == "li":
            self.out.append("\n- ")
        elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.out.append("\n\n" + "#" * int(tag[1]) + " ")
        elif tag == "pre":
            self._pre = True
            self.out.append("\n\n```\n")
        elif tag == "code" and not self._pre:
            self.out.append("`")
        elif tag in self._MARKS:
            self.out.append(self._MARKS[tag])

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._pre = False
            self.out.append("\n```\n\n")
        elif tag == "code" and not self._pre:
            self.out.append("`")
        elif tag in self._MARKS:
            self.out.append(self._MARKS[tag])
        elif tag in ("p", "h1", "h2", "h3", "h4", "h5", "h6"):
            self.out.append("\n\n")
        elif tag in ("td", "th"):
            self.out.append(" ")

    def handle_data(self, data: str) -> None:
        self.out.append(data if self._pre else re.sub(r"\s+", " ", data))
