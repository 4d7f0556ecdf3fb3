"""Cuts a long text into overlapping pieces at natural seams: places in it, not copies of it."""

import re
from collections.abc import Iterator

from webapp.text.quotes import Span

SIZE = 800
"""UTF-8 bytes of a full piece: about 200 tokens of prose, within what embedding models read."""
OVERLAP = 160
"""The longest sentence, in bytes, that a piece repeats from the one before it."""
MAX_PIECES = 65_000
"""The most pieces of one text; the last one takes whatever remains."""

_FENCE = re.compile(r"^[ \t]*(```+|~~~+)")
_TABLE = re.compile(r"^[ \t]*\|")
# Not webapp/text/sentences.py: stored vectors are of pieces counted by this, so it cannot change.
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？][」』”’）]*|\n+")
_SPACE = re.compile(r"\s+")


def pieces_of(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[Span]:
    """Return pieces with every character but white space, of about `size` bytes including the overlap.

    Prose is cut between sentences, code and tables between lines and, without a seam, anywhere.
    """
    room = _characters(text, size)
    if len(text) <= room:
        return [Span(0, len(text))]
    repeated = room * overlap // size
    pieces: list[Span] = []
    start = end = 0
    last = Span(0, 0)  # the newest unit of the current piece, if the next piece may repeat it
    for unit, is_prose in _units(text, room - repeated):
        if end > start and unit.end - start > room:
            pieces.append(Span(start, end))
            start = last.start if is_prose and 0 < last.end - last.start <= repeated else unit.start
        elif end <= start:
            start = unit.start
        end = unit.end
        last = unit if is_prose else Span(unit.end, unit.end)
        if len(pieces) == MAX_PIECES:
            break
    if len(pieces) == MAX_PIECES:
        end = len(text)
    if end > start:
        pieces.append(Span(start, end))
    return [_trim(text, piece) for piece in pieces] or [Span(0, len(text))]


def _characters(text: str, size: int) -> int:
    """Return the number of characters of a text that make up so many bytes, on average."""
    if text.isascii() or not text:
        return size
    return max(40, size * len(text) // len(text.encode("utf-8", "surrogatepass")))


def _trim(text: str, piece: Span) -> Span:
    start, end = piece
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end) if end > start else piece


def _units(text: str, limit: int) -> Iterator[tuple[Span, bool]]:
    """Yield, in order, the units that are never cut (sentence, line, row), and whether each is prose."""
    for block, is_prose in _blocks(text):
        if is_prose:
            ends = [match.end() for match in _SENTENCE_END.finditer(text, block.start, block.end)]
        else:
            ends = [match.end() for match in re.compile(r"\n").finditer(text, block.start, block.end)]
        start = block.start
        for end in (*ends, block.end):
            if end <= start:
                continue
            if text[start:end].strip():
                for part in _words(text, start, end, limit):
                    yield part, is_prose
            start = end


def _words(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    """Yield a unit that is too long by itself, in parts that end at a space if possible."""
    while end - start > limit:
        spaces = [match.end() for match in _SPACE.finditer(text, start + limit // 2, start + limit)]
        cut = spaces[-1] if spaces else start + limit
        yield Span(start, cut)
        start = cut
    yield Span(start, end)


def _blocks(text: str) -> Iterator[tuple[Span, bool]]:
    """Yield runs of lines, and whether each is prose rather than code or a table."""
    start = index = 0
    fence = ""
    is_prose_before = True
    for line in text.splitlines(keepends=True):
        marked = _FENCE.match(line)
        is_closing = bool(fence and marked and marked[1].startswith(fence))
        is_prose = not fence and marked is None and not _TABLE.match(line)
        if is_prose != is_prose_before:
            if index > start:
                yield Span(start, index), is_prose_before
            start, is_prose_before = index, is_prose
        if is_closing:
            fence = ""
        elif marked and not fence:
            fence = marked[1]
        index += len(line)
    if index > start:
        yield Span(start, index), is_prose_before
