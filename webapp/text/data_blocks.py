"""Parts of a message that are data by their form, and so were not typed as words: JSON, pairs of tags, raw prompts,
code, tables, logs, traces of errors, changes of files; pure."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from webapp.llm.section_tags import OWN_LINE
from webapp.text.quotes import Span
from webapp.text.words import UNSPACED

_TAG = re.compile(r"<(/?)([a-z][\w:-]{0,40})(\s[^<>\n]{0,400})?>", re.IGNORECASE)
_PAIRED = re.compile(
    r"\[(?P<bb>/?)([a-z]{1,20})(?:=[^\[\]\n]{0,80})?\]|\\(?:begin|(?P<tex>end))\{(\w{1,40}\*?)\}"
    r"|(?:^|(?<=\n))(?:BEGIN|(?P<card>END)):([A-Z]{1,40})[ \t]*(?=\n|$)"
)
"""Marks that open and close a block: of forums, of LaTeX, of calendars and address cards."""
_TURN = re.compile(r"<[|｜][^<>|｜\s]{1,40}[|｜]>|\[/?INST\]")
"""A mark between the turns of a model's raw prompt."""
_JSON = re.compile(r"\{\s*\"[^\"\n]{1,80}\"\s*:[^{}]*[{}]")
_JSON_BEGINS = re.compile(r"[\[{]\s*(?:\"[^\"\n]{0,400}\"\s*[,:]|[\[{])")
_ARGUMENT = re.compile(r"(?<=\w\()(['\"])(?:(?!\1)[^\n])+\1(?=\s?[,)])")
"""A text handed to a function."""
_CALL = re.compile(r"\w\(")
_STAMP = re.compile(
    r"[\[(]?(?:(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})[T ,]+|[^\W\d_]{3,9} {1,2}\d{1,2} |(?<=\[))"
    r"\d\d:\d\d:\d\d"
)
"""A day and a time to the second, as programs write them."""
_HUNK = re.compile(r"@@ [-+,\d ]{3,60} @@")
_FRAME = re.compile(r"[ \t]+(?:File \"[^\"\n]{1,300}\", line \d|\S[^\n]{0,300}\.[A-Za-z]{1,6}:\d)")
"""An indented line that names a file and a line in it, as the trace of an error does."""
_CUE = re.compile(r"\d[\d:.,]{3,14}[ \t]{0,3}-->[ \t]{0,3}\d[\d:.,]{3,14}")
"""The times between which a subtitle is shown."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_RULE = re.compile(r":?-{2,}:?")
_MIN_ROWS = 3
_CODE_INDENT, _BLANK = 4, 10_000
_MAX_TRIALS = 50
_DECODER = json.JSONDecoder(strict=False)


def data_blocks(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans of the blocks in a text with these lines."""
    yield from _between_tags(text)
    if len(turns := [*_TURN.finditer(text)]) > 1:
        yield Span(turns[0].start(), turns[-1].end())
    yield from _json(text)
    yield from (Span(*match.span()) for match in _ARGUMENT.finditer(text))
    yield from _code(text, lines)
    yield from _tables(text, lines)
    yield from _logs(text, lines)
    yield from _changes(text, lines)
    yield from _traces(text, lines)
    yield from _indented_code(text, lines)
    yield from _subtitles(text, lines)


def _between_tags(text: str) -> Iterator[Span]:
    """Yield what stands between a tag and the one that closes it, and tags with attributes."""
    tags = [*_TAG.finditer(text)]
    own_lines = {line.start("tag") for line in OWN_LINE.finditer(text)}
    pairs = (mark for mark in tags if not (mark[3] or "").endswith("/"))
    yield from _pairs(text, [(mark, mark[2].casefold(), bool(mark[1])) for mark in pairs], own_lines)
    yield from (Span(*mark.span()) for mark in tags if mark[3] and "=" in mark[3])
    quotes = [
        (mark, next(filter(None, (mark[2], mark[4], mark[6]))), bool(mark["bb"] or mark["tex"] or mark["card"]))
        for mark in _PAIRED.finditer(text)
    ]
    rows = f"\n{text}\n"  # a mark that opens has its line alone, or a note in brackets would open something
    cut_off = {
        mark.start()
        for mark, _, closes in quotes
        if rows[mark.end() + 1] == "\n" and (closes or rows[mark.start()] == "\n")
    }
    yield from _pairs(text, quotes, cut_off)


def _pairs(text: str, marks: Iterable[tuple[re.Match[str], str, bool]], cut_off: Collection[int]) -> Iterator[Span]:
    """Yield from marks that open to those of the same name that close.

    Where a part of something was copied, the other mark may be missing: those that begin at `cut_off` reach to the end
    of the text, or from its beginning.
    """
    opened: dict[str, int] = {}
    inner: dict[str, list[int]] = {}
    for mark, name, closes in marks:
        if not closes:
            if opened.setdefault(name, mark.start()) != mark.start():
                inner.setdefault(name, []).append(mark.start())
        elif name in opened:
            yield Span(opened.pop(name), mark.end())
        elif inner.get(name):  # it was closed by a mark that belongs to one within it
            yield Span(inner[name].pop(), mark.end())
        elif mark.start() in cut_off:
            yield Span(0, mark.end())
    yield from (Span(start, len(text)) for start in opened.values() if start in cut_off)


def _json(text: str) -> Iterator[Span]:
    """Yield objects, and lists of more than one; what is not quite JSON too, if it begins like an object."""
    end = failures = 0
    for match in _JSON_BEGINS.finditer(text):
        if match.start() < end:
            continue
        try:
            _, end = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failures += 1
            if failures == _MAX_TRIALS:
                break
        else:
            yield Span(match.start(), end)
    yield from (Span(*match.span()) for match in _JSON.finditer(text))


def _code(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield a line that opens a block, what is indented below it, and the line that closes it."""
    number = 0
    while number < len(lines) - 1:
        line = lines[number]
        last = number
        if _opens_block(text[line.start : line.end]):
            depth = _indent(text, line)
            while last + 1 < len(lines) and _indent(text, lines[last + 1]) > depth:
                last += 1
            if last > number:
                closes = (
                    last + 1 < len(lines) and text[lines[last + 1].start : lines[last + 1].end].lstrip()[:1] in "})]"
                )
                last += closes
                yield Span(line.start, lines[last].end)
        number = last + 1


def _opens_block(line: str) -> bool:
    """Return whether a line ends with an open bracket, or with a call and a colon."""
    row = line.rstrip()
    if row.endswith(":"):
        return row[:-1].rstrip().endswith(")") and _CALL.search(row) is not None
    return row.endswith(("(", "{", "["))


def _indent(text: str, line: Span) -> int:
    """Return how deep a line stands; a blank one as deep as anything."""
    words = text[line.start : line.end].expandtabs(4)
    return len(words) - len(words.lstrip()) if words.strip() else _BLANK


def _tables(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield rows with as many values each: separated by tabs, or by commas or the like without a space, or drawn."""

    def shape(number: int) -> tuple[str, int]:
        row = text[lines[number].start : lines[number].end].strip("\n")
        for mark in ("\t", ";", ","):
            values = row.strip(" ").split(mark)
            is_close = mark == "\t" or not (UNSPACED.search(row) or any(value[:1].isspace() for value in values))
            if len(values) > 1 and all(values) and is_close:
                return mark, len(values)
        return "", number

    for (mark, width), group in groupby(range(len(lines)), shape):
        rows = list(group)
        if len(rows) >= (2 if mark == "\t" else _MIN_ROWS) and (mark == "\t" or width > 2):
            yield Span(lines[rows[0]].start, lines[rows[-1]].end)
    for number, line in enumerate(lines[1:], 1):
        row = text[line.start : line.end].strip()
        if "|" in row and all(_RULE.fullmatch(cell.strip()) for cell in row.strip("|").split("|")):
            last = number
            while last + 1 < len(lines) and "|" in text[lines[last + 1].start : lines[last + 1].end]:
                last += 1
            yield Span(lines[number - 1].start, lines[last].end)


def _logs(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield lines that begin with a time, more than one in a row."""
    for is_stamped, group in groupby(lines, lambda line: _STAMP.match(text, line.start, line.end) is not None):
        rows = list(group)
        if is_stamped and len(rows) > 1:
            yield Span(rows[0].start, rows[-1].end)


def _changes(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the hunks of a difference between two files."""
    for number, line in enumerate(lines):
        if _HUNK.match(text, line.start, line.end):
            last = number
            while last + 1 < len(lines) and text[lines[last + 1].start] in "+- ":
                last += 1
            yield Span(line.start, lines[last].end)


def _traces(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield indented lines in which two or more name a place in a program, with the lines around them that say why."""
    indented = {n for n, line in enumerate(lines) if 0 < _indent(text, line) < _BLANK}
    for is_inside, group in groupby(range(len(lines)), indented.__contains__):
        rows = list(group)
        if is_inside and sum(_FRAME.match(text, lines[n].start, lines[n].end) is not None for n in rows) > 1:
            yield Span(lines[max(0, rows[0] - 1)].start, lines[min(rows[-1] + 1, len(lines) - 1)].end)


def _indented_code(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield lines that Markdown takes for code: indented after a blank line, and part of no list."""
    before = ""
    for is_inside, group in groupby(lines, lambda line: _indent(text, line) >= _CODE_INDENT):
        rows = list(group)
        block = text[rows[0].start : rows[-1].end]
        if not is_inside:
            before = text[rows[-1].start : rows[-1].end]
        elif block.strip() and _indent(text, rows[0]) == _BLANK and not _ITEM.match(before):
            yield Span(rows[0].start, rows[-1].end)


def _subtitles(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the times of subtitles, each with the lines up to a blank one."""
    for is_blank, group in groupby(lines, lambda line: not text[line.start : line.end].strip()):
        rows = list(group)
        times = next((line for line in rows if not is_blank and _CUE.match(text, line.start, line.end)), None)
        if times is not None:
            yield Span(times.start, rows[-1].end)
