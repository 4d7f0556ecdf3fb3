"""Memories in plain text: lists, lines, headings and tables in any script, by the shape of lines alone."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

from webapp.i18n.marks import N_
from webapp.text.provenance import spans_of_others
from webapp.transfer.content import Part, ReadMemory
from webapp.transfer.field_values import instant
from webapp.transfer.readers.memory_rows import has_rows, read_rows
from webapp.transfer.readers.transcripts import is_transcript
from webapp.transfer.sources import TEXTS, Upload

_LARGE = 64 * 1024**2
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_SHORT = 300
"""The longest line, in characters, of a text in which each is a memory although nothing marks it."""
_ITEM = re.compile(
    r"(?P<mark>(?:[-+•·▪▫◦‣⁃–—・]|\*(?!\*)|[^\w\s\x00-\x7f“”‘’«»„（¿¡]{1,8}(?=\s))\s*|"
    r"[(（]?(?:\d{1,3}|[a-z]|[ivx]{2,4}|[一二三四五六七八九十]{1,3}(?=、))(?:[)）、．]|[.:](?=\s))\s*|[①-⑳⓵-⓾❶-❿]\s*|(?=\*\*\w))(?=\S)"
)
_DATE = re.compile(
    r"(?:\[(?P<at>[^\]^][^\]]{0,40}|)\](?!\()\.?\s*(?:[-–—:]\s*)?|\(?(?P<day>\d{4}-\d\d-\d\d)(?:\)|\)?(?::|\s+[-–—]))\s+)(?=\S)"
)
_SAID = re.compile(r"\[(\d{4}-\d\d-\d\d)\]\.?\Z")
"""The date of the source of a statement, at the end of what stands below it (Gemini)."""
_PROPERTY = re.compile(r"[\w-]{1,40}::(?:\s|\Z)")
"""What begins a field of a page in Logseq."""
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?\Z|__[^_]+__:?\Z|(?:={3,}|-{3,}|\*{3,}|_{3,})\Z|```|~~~")
_BLOCK = re.compile(r"^(?:```|~~~)[^\n]*\n(.*?)^(?:```|~~~)", re.MULTILINE | re.DOTALL)
_MAX_BLOCKS = 1_000
"""Blocks of code read as JSON: each is a file of its own for a moment, and a text has room for millions."""
_RULE = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*\Z")
_OPEN = (",", "，", "、", ";", "；", "،", "؛", ":", "：", "-", "–", "—")
"""Characters after which a sentence goes on."""


@dataclass
class _Line:
    """One entry: its words, its date, how deep it stands, and whether a mark of a list was before it."""

    words: list[str]
    at: datetime | None = None
    indent: int = 0
    is_item: bool = False
    has_items_below: bool = field(default=False)


class PastedList:
    """Reads text that another assistant wrote: `[date] - memory`, a list, a table, or one memory per line."""

    name, label = "list", N_("Memory list")

    def looks_like(self, upload: Upload) -> bool:
        """Return whether the upload has rows or lines like memories, or short lines that are no transcript."""
        if upload.is_archive or not upload.names[0].lower().endswith(TEXTS):
            return has_rows(upload)
        text = upload.peek(upload.names[0])
        if is_transcript(text):
            return False
        if any(map(has_rows, fenced_json(text, upload.filename))):
            return True
        lines = list(filter(str.strip, text.splitlines()))
        if any(_DATE.match(line.strip()) or _ITEM.match(line.strip()) or _RULE.match(line) for line in lines):
            return True
        return bool(lines) and max(map(len, lines)) <= _SHORT and not spans_of_others(text)

    def read(self, upload: Upload) -> Iterator[Part]:
        """Yield the memories, without headings, fences, and prose before a list."""
        if has_rows(upload):
            yield from read_rows(upload, upload.record_names)
            return
        text = FRONT_MATTER.sub("", upload.text(upload.names[0], _LARGE))
        if rows := [
            part
            for inner in fenced_json(text, upload.filename)
            if has_rows(inner)
            for part in read_rows(inner, inner.names)
        ]:
            yield from rows
            return
        # What stands around a block of code with dates is not of the list.
        blocks = [block for block in _BLOCK.findall(text) if any(map(_DATE.match, block.splitlines()))]
        lines = "\n".join(blocks or [text]).splitlines()
        items = [*_table_rows(lines), *_entries(lines)]
        stops = list(map(_is_sentence, items))
        has_head = len(stops) > 3 and not stops[0] and all(stops[1:])  # noqa: PLR2004
        first = next((number for number, entry in enumerate(items) if entry.is_item), int(has_head))
        for entry in items[first:]:
            if not entry.has_items_below:
                yield ReadMemory(" ".join(entry.words).replace("**", ""), entry.at)


def fenced_json(text: str, name: str) -> Iterator[Upload]:
    """Yield the JSON in each of a text's blocks of code, as if it had been uploaded alone under the text's name."""
    for block in _BLOCK.findall(text)[:_MAX_BLOCKS]:
        if block.lstrip()[:1] in ("[", "{"):
            with NamedTemporaryFile() as file:
                file.write(block.encode())
                file.flush()
                with Upload(Path(file.name), f"{Path(name).stem}.json") as upload:
                    yield upload


def _entries(lines: list[str]) -> Iterator[_Line]:
    """Yield the entries of a text that are in no table; a line that goes on belongs to the one above it."""
    entry: _Line | None = None
    for line in lines:
        text = line.strip()
        item = _ITEM.match(text)
        rest = text[item.end() :] if item else text
        if not text or _HEADING.match(text) or _PROPERTY.match(rest) or _is_cells(text):
            if entry is not None:
                yield entry
            entry = None
            continue
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        dated = _DATE.match(rest)
        if entry is not None and not (item or dated) and _continues_entry(entry, text, indent):
            entry.words.append(text)
            continue
        if entry is not None:
            is_below = bool(item) and indent > entry.indent
            if is_below and _is_sentence(entry) and (said := _SAID.search(text)):
                entry.at = entry.at or instant(said[1])
                continue
            entry.has_items_below = is_below and not _is_sentence(entry)
            yield entry
        words = rest[dated.end() :] if dated else rest
        at = instant(dated["at"] or dated["day"]) if dated else None
        entry = _Line([words.strip()], at, indent, bool(item or dated))
    if entry is not None:
        yield entry


def _is_sentence(entry: _Line) -> bool:
    """Return whether an entry ends as sentences do, in any script."""
    last = entry.words[-1].rstrip("*_")[-1:] or " "
    return unicodedata.category(last) == "Po" and last not in _OPEN


def _continues_entry(entry: _Line, text: str, indent: int) -> bool:
    """Return whether a line without a mark continues an entry."""
    return (entry.is_item and indent > entry.indent) or text[0].islower() or entry.words[-1].endswith(_OPEN)


def _is_cells(text: str) -> bool:
    return text.startswith("|") and text.count("|") > 1


def _table_rows(lines: list[str]) -> Iterator[_Line]:
    """Yield the rows of Markdown's tables: the longest cell that is no date, with the date of another."""
    heads = {number - 1 for number, line in enumerate(lines) if _RULE.match(line.strip()) and "|" in line}
    for number, line in enumerate(lines):
        text = line.strip()
        if not _is_cells(text) or _RULE.match(text) or number in heads:
            continue
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        time = next((moment for cell in cells if (moment := instant(cell))), None)
        words = max((cell for cell in cells if instant(cell) is None), key=len, default="")
        if words:
            yield _Line([words], time, is_item=True)
