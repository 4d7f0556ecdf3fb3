"""The JSON in a page that a program exports for reading: the first list of objects that a script gives a name."""

import io
import mmap
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_HEAD = 2 * 1024**2
_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_BEGINS = re.compile(rb"\b(?:var|let|const)\s{1,9}\w{1,60}\s{0,9}=\s{0,9}(?=\[\s{0,9}\{)")
_ENDS = re.compile(rb"\](?:;[ \t\r]{0,9}\n|;?</script)")
_ENDS_OF_LINE = re.compile(rb"\];?[ \t\r]{0,9}(?:\n|</script)")
_FIRST = 20
"""The bytes in which a list over several lines ends its first."""

Span = tuple[int, int]
"""Where it begins in the file, and where it ends."""


def span_of(path: Path) -> Span | None:
    """Return where the JSON in a page is; None for a page without any, and for another file."""
    if not path.stat().st_size:
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if not _PAGE.match(data) or not (begins := _BEGINS.search(data, 0, _HEAD)):
            return None
        begin = begins.end()
        # No line ends within a text of JSON. Over several lines, other lists in it may end with one, but not with `;`.
        ends = (_ENDS if b"\n" in data[begin : begin + _FIRST] else _ENDS_OF_LINE).search(data, begin)
        return (begin, ends.start() + 1) if ends else None


@contextmanager
def open_span(path: Path, span: Span) -> Iterator[IO[bytes]]:
    """Yield that part of a file as a file."""
    with path.open("rb") as file:
        file.seek(span[0])
        yield io.BufferedReader(_Window(file, span[1] - span[0]))


class _Window(io.RawIOBase):
    """So many bytes of a file from where it stands."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)
