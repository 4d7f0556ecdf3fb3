"""Gemini's activity from Google Takeout, as JSON or as HTML, in any language.

A record is Gemini's if its product, or folder, is. They come newest first; without a conversation, questions within an
hour count as one. The words before a question ("Prompted …") are recognised as what most titles begin with.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from webapp.files.readers.page import text_of_html
from webapp.i18n.marks import N_
from webapp.transfer.content import Part, ReadConversation, ReadFile, ReadMessage, Unreadable
from webapp.transfer.field_values import instant, text_or_none
from webapp.transfer.readers.page_dates import CLOCK, moments
from webapp.transfer.readers.records import as_dict, as_list, read_records
from webapp.transfer.sources import Upload

GAP = timedelta(minutes=60)
_LARGE = 256 * 1024**2
_PRODUCT = re.compile(r"(?<!\w)(?:Gemini|Bard)(?!\w)")
"""Names that are the same in every language: "Gemini Apps", "Gemini-Apps", "Apps do Gemini"."""
_PROMPT_WORDS = ("Prompted ", "Branched ", "Answered ")
"""How the titles of questions begin in English."""
_THREAD = re.compile(r"gemini\.google\.com/(?:u/\d+/)?(?:app|gem/[\w-]+)/([0-9a-f]{8,64})|\bc_([0-9a-f]{8,64})\b")
_CELL = re.compile(r'<div class="outer-cell')
_HEADER = re.compile(r'<div class="header-cell[^<>]*>')
_CONTENT_CELL = re.compile(r'<div class="content-cell[^"<>]*mdl-typography--body-1">')
_CONTENT_END = re.compile(r'</div>\s*(?=<div class="content-cell|</div>|\Z)')
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "pre": "\n```\n"}


@dataclass
class _Activity:
    title: str
    answer: str
    at: datetime | None
    thread: str | None = None
    files: list[ReadFile] = field(default_factory=list)


class Gemini:
    """Reads Gemini's part of a Takeout."""

    name, label = "gemini", "Gemini (Google Takeout)"

    def looks_like(self, upload: Upload) -> bool:
        """Return whether a file of activity records is in it."""
        return bool(_json(upload) or _html(upload))

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the conversations, oldest first."""
        records: list[_Activity] = []
        for name in _json(upload):

            def collect(item: Any, name: str = name) -> Iterable[Part]:
                if record := _of_json(name, item):
                    record.files = _attachments(upload, name, item)
                    records.append(record)
                return ()

            yield from read_records(upload, [name], partial(_is_record, name), collect)
        for name in _html(upload):
            records += _of_html(name, upload.text(name, _LARGE))
        records = _questions(records)
        if not records:
            yield Unreadable(upload.filename, N_("no questions to Gemini are in it"))
            return
        dated = sorted((record for record in records if record.at), key=lambda record: record.at)  # type: ignore[arg-type, return-value]  # just checked
        open_threads: dict[str | None, list[_Activity]] = {}
        sessions: list[list[_Activity]] = []
        for record in dated:
            session = open_threads.get(record.thread)
            if session is None or (record.thread is None and record.at - session[-1].at > GAP):  # type: ignore[operator]  # all of these have a time
                session = open_threads[record.thread] = []
                sessions.append(session)
            session.append(record)
        yield from map(_session, sessions)
        for record in reversed([record for record in records if record.at is None]):
            yield _session([record])


def _questions(records: list[_Activity]) -> list[_Activity]:
    """Return the records that are questions, without the words before them; else all answered ones, else all."""
    answered_records = [record for record in records if record.answer] or records
    beginnings = [*_PROMPT_WORDS, *filter(None, [common_beginning([record.title for record in answered_records])])]
    questions = []
    for record in records:
        if beginning := next((words for words in beginnings if f"{record.title} ".startswith(words)), None):
            record.title = record.title[len(beginning) :]
            questions.append(record)
    return questions or answered_records


def common_beginning(titles: list[str]) -> str:
    """Return the words that at least three in four titles begin with, if there are enough titles to tell."""
    if len(titles) < 3:
        return ""
    words = [title.split(" ", 4) for title in titles]
    beginning: list[str] = []
    for index in range(4):
        counts = Counter(line[index] for line in words if len(line) > index + 1 and line[:index] == beginning)
        word, count = counts.most_common(1)[0] if counts else ("", 0)
        if count < 0.75 * len(titles):
            break
        beginning.append(word)
    return " ".join(beginning) + " " if beginning else ""


def _session(records: list[_Activity]) -> ReadConversation:
    messages: list[ReadMessage] = []
    for record in records:
        question = record.title.strip()
        name = _name(record)
        if question:
            messages.append(ReadMessage(f"{name}:q", "user", question, record.at, files=record.files))
        if record.answer:
            messages.append(ReadMessage(f"{name}:a", "assistant", record.answer, record.at, "gemini"))
    first = records[0]
    return ReadConversation(
        source_id=first.thread or (messages[0].source_id if messages else first.title),
        title=None,
        messages=messages,
        created_at=first.at,
        updated_at=records[-1].at,
    )


def _name(record: _Activity) -> str:
    """Return a stable name for a record: its time and, if that has no fractions of a second, what was asked."""
    if record.at and record.at.microsecond:
        return record.at.isoformat()
    words = hashlib.sha256(record.title.encode()).hexdigest()[:16]
    return f"{record.at.isoformat()}:{words}" if record.at else words


def _json(upload: Upload) -> list[str]:
    """Return the JSON files in the folders with a file of Gemini's records: another may be damaged."""
    names = upload.json_names
    found = {_folder(name) for name in names if upload.first_record(name, partial(_is_record, name)) is not None}
    return [name for name in names if _folder(name) in found]


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _html(upload: Upload) -> list[str]:
    names = [name for name in upload.names if name.lower().endswith((".html", ".htm"))]
    return [name for name in names if any(_cells(name, upload.peek(name)))]


def _is_of_gemini(name: str, item: dict[str, Any]) -> bool:
    """Return whether the product that a record names is Gemini; without one, whether the file's folder is."""
    names = [item.get("header") or "", *as_list(item.get("products"))]
    return all(_is_product(product) for product in names if product) if any(names) else _is_in_folder(name)


def _is_record(name: str, item: Any) -> bool:
    return isinstance(item, dict) and "title" in item and _is_of_gemini(name, item)


def _is_product(name: Any) -> bool:
    return isinstance(name, str) and _PRODUCT.search(name) is not None


def _is_in_folder(name: str) -> bool:
    return _is_product("/".join(name.split("/")[-2:-1]))


def _of_json(name: str, item: Any) -> _Activity | None:
    if not isinstance(item, dict) or not (title := text_or_none(item.get("title"))) or not _is_of_gemini(name, item):
        return None
    answers = [text_or_none(as_dict(part).get("html")) or "" for part in as_list(item.get("safeHtmlItem"))]
    places = [
        item.get("titleUrl"),
        *(value for part in as_list(item.get("details")) for value in as_dict(part).values()),
    ]
    threads = (_THREAD.search(place) for place in places if isinstance(place, str))
    thread = next((match[1] or match[2] for match in threads if match), None)
    return _Activity(title, markdown_of("\n".join(answers)), instant(item.get("time")), thread)


def _attachments(upload: Upload, name: str, item: dict[str, Any]) -> list[ReadFile]:
    """Return the files beside a member that a record names, in whichever of its fields."""
    values = [text for value in item.values() for text in (value if isinstance(value, list) else [value])]
    paths = [f"{_folder(name)}/{text}".removeprefix("/") for text in values if isinstance(text, str)]
    return [ReadFile(path.rpartition("/")[2], path) for path in dict.fromkeys(paths) if upload.has(path)]


def _cells(name: str, page: str) -> Iterator[str]:
    """Gemini's records in a page of activity."""
    for cell in _CELL.split(page)[1:]:
        header = _HEADER.search(cell)
        product = cell[header.end() :].partition("</div>")[0] if header else ""
        if _is_product(product) if product else _is_in_folder(name):
            yield cell


def _of_html(name: str, page: str) -> list[_Activity]:
    records, dates = [], []
    for cell in _cells(name, page):
        begin = _CONTENT_CELL.search(cell)
        end = _CONTENT_END.search(cell, begin.end()) if begin else None
        if begin is None or end is None:
            continue
        pieces = re.split(r"<br\s*/?>", cell[begin.end() : end.start()])
        title = markdown_of(pieces[0])
        index = next((n for n, piece in enumerate(pieces[1:], 1) if CLOCK.search(piece)), None)
        date = "" if index is None else markdown_of(pieces[index].split("<p")[0])
        rest = "<br>".join(pieces[(index or 0) + 1 :]) if index is not None else "<br>".join(pieces[1:])
        if index is not None and "<p" in pieces[index]:
            rest = pieces[index][pieces[index].index("<p") :] + rest
        thread = _THREAD.search(pieces[0])
        if title:
            records.append(_Activity(title, markdown_of(rest), None, thread and (thread[1] or thread[2])))
            dates.append(date)
    for record, at in zip(records, moments(dates), strict=True):
        record.at = at
    return records


def markdown_of(html: str) -> str:
    """Return the text of a piece of HTML, with its paragraphs, lists, code and emphasis as Markdown."""
    return text_of_html(html, _MARKS).replace("\xa0", " ")
