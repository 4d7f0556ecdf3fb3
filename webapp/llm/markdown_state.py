"""The state of a growing Markdown text at a place: code, a quotation, or plain text; pure.

CommonMark's containers and code as far as they can be known: inline code lasts until closed or the paragraph ends.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?= |$)")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_BLOCK = re.compile(r"`{3,}[^`]*$|~{3,}|#{1,6}(?: |$)")
"""What begins another block in the middle of a paragraph."""
_TICKS = re.compile(r"`+")
_CODE_INDENT = 4
_PLACEHOLDER = "x"
"""Stands for what follows an unfinished line: no mark, and no space."""


class _Line(NamedTuple):
    """A line without the marks of its containers: `margin` is the column where the innermost begins."""

    body: str
    column: int
    margin: int
    quotes: int
    items: tuple[int, ...]
    is_new_item: bool

    @property
    def is_indented(self) -> bool:
        return self.column - self.margin >= _CODE_INDENT


@dataclass(frozen=True, slots=True)
class MarkdownState:
    """The end of a text. `items` are the columns where the contents of the open list items begin, `fence` the marks
    that opened fenced code within so many `quotes` and at that `margin`, `ticks` the number that opened inline code."""

    line: str = ""
    items: tuple[int, ...] = ()
    in_paragraph: bool = False
    quotes: int = 0
    ticks: int = 0
    fence: str = ""
    margin: int = 0

    def advance(self, text: str) -> "MarkdownState":
        """Return the place after more text."""
        *ended, line = (self.line + text).split("\n")
        place = self
        for block in ended:
            place = place._next_line(block.expandtabs(4).rstrip("\r"))
        return replace(place, line=line)

    @property
    def in_code(self) -> bool:
        """Return whether what follows is code."""
        line = self.line.expandtabs(4) + _PLACEHOLDER
        if self.fence and self._remove_quote_marks(line) is not None:
            return True
        read = self._read(line)
        if read.is_indented and not self.in_paragraph:
            return True
        body = read.body.removesuffix(_PLACEHOLDER)
        return bool(_FENCE.match(body)) or bool(_open_ticks(body, self._ticks_before(read)))

    @property
    def in_quote(self) -> bool:
        """Return whether the following text is in a block quote."""
        return self._quotes(self._read(self.line.expandtabs(4) + _PLACEHOLDER)) > 0

    def _next_line(self, line: str) -> "MarkdownState":
        """Return the place at the beginning of the line after this one."""
        if self.fence and (rest := self._remove_quote_marks(line)) is not None:
            marks = rest.strip()
            is_end = marks.startswith(self.fence) and not marks.strip(self.fence[0])
            indent = len(rest) - len(rest.lstrip())
            return replace(self, fence="") if is_end and indent - self.margin < _CODE_INDENT else self
        read = self._read(line)
        place = MarkdownState(
            items=self.items if self._continues_paragraph(read) else read.items, quotes=self._quotes(read)
        )
        if not read.body:
            return place
        if read.is_indented and not self.in_paragraph:
            return place
        if fence := _FENCE.match(read.body):
            return replace(place, fence=fence[1] or fence[2], margin=read.margin)
        ticks = _open_ticks(read.body, self._ticks_before(read))
        if ticks >= 3:  # three or more within a line are meant to open a block, too
            return replace(place, fence="`" * ticks, margin=read.margin)
        is_end = bool(_BLOCK.match(read.body))
        return replace(place, in_paragraph=not is_end, ticks=0 if is_end else ticks)

    def _continues_paragraph(self, read: _Line) -> bool:
        """Return whether a line goes on with a paragraph, whose containers it is then in without their marks."""
        starts_block = read.quotes or read.is_new_item or not read.body or _BLOCK.match(read.body)
        return self.in_paragraph and not starts_block

    def _quotes(self, read: _Line) -> int:
        return self.quotes if self._continues_paragraph(read) else read.quotes

    def _ticks_before(self, read: _Line) -> int:
        """Return the backticks that opened inline code before this line, if it continues the paragraph."""
        return 0 if read.is_new_item or self._quotes(read) != self.quotes else self.ticks

    def _remove_quote_marks(self, line: str) -> str | None:
        """Return a line of fenced code without the marks of the quotes around it; None if it is no longer in them."""
        for _ in range(self.quotes):
            before, mark, line = line.partition(">")
            if not mark or before.strip():
                return None
        return line

    def _read(self, line: str) -> _Line:
        column = len(line) - len(line.lstrip())
        if column == len(line):
            return _Line("", column, 0, 0, self.items, is_new_item=False)
        items = tuple(item for item in self.items if item <= column)
        margin = items[-1] if items else 0
        quotes, is_new = 0, False
        while column < len(line) and column - margin < _CODE_INDENT:
            if line[column] == ">":
                quotes, column = quotes + 1, column + 1
                margin = column + (line[column : column + 1] == " ")
            elif marker := _MARKER.match(line, column):
                column, is_new = marker.end(), True
                spaces = len(line) - column - len(line[column:].lstrip())
                margin = column + (spaces if 1 <= spaces <= _CODE_INDENT else 1)
                items = items if quotes else (*items, margin)  # a list within a quote ends with it
            else:
                break
            column = len(line) - len(line[column:].lstrip())
        return _Line(line[column:], column, margin, quotes, items, is_new)


def _open_ticks(text: str, open_length: int) -> int:
    """Return the number of backticks that opened the inline code in which a text ends; 0 outside."""
    for match in _TICKS.finditer(text):
        length = len(match[0])
        if open_length:
            open_length = 0 if length == open_length else open_length
            continue
        before = text[: match.start()]
        length -= (len(before) - len(before.rstrip("\\"))) % 2
        open_length = length
    return open_length
