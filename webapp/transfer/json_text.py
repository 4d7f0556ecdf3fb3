"""JSON of other programs: one item at a time, also where it is written wrongly, or into a page for reading; pure."""

import io
import json
import mmap
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any, TextIO

import ijson

from webapp.i18n.marks import N_

MAX_DEPTH = 5_000
"""How deeply lists and objects may be nested; a reply in a tree of messages takes two levels."""
MAX_ITEM = 512 * 1024**2
"""The most bytes of memory, roughly, that one item of a JSON array may take."""
MAX_SAMPLE = 20
"""The most items of an array, and members of a ZIP, that are looked at to find out what they are of."""
WRAPPERS = (
    *("conversations", "data", "chats", "items", "results", "memories", "history", "threads", "state", "messages"),
    *("entities", "relations", "facts", "edges", "blocks", "documents"),
    *("chat-next-web-store", "chat-sessions", "sessions", "histories", "indexedDB", "topics", "list"),
)
"""The keys under which programs put the array of what they export."""
_NAME = re.compile(rb"\s*[\w.$]+\s*=\s*(?=[\[{])")
_OPENS, _CLOSES = ("start_map", "start_array"), ("end_map", "end_array")
_TOKEN = re.compile(
    r'["\x00-\x1f]|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(?P<half>\\u[dD][89a-fA-F]\w\w)|'
    r'\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}|\\|-?Infinity|NaN|,(?=\s*[\]}])'
)
_LOOKAHEAD = 100
"""The most characters that decide about one place."""


class StrictText:
    """Makes strict JSON of a text: of control characters, wrong escapes and halves of pairs in strings, of numbers that
    are none, and of commas before the end of a list."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._rest = ""
        self._in_string = False

    def read(self, size: int = -1) -> bytes:
        """Return more of it in UTF-8; nothing at its end."""
        while True:
            more = self._text.read(size)
            text, self._rest = self._rest + more, ""
            result = self._strict(text, is_end=not more)
            if result or not more:
                return result.encode("utf-8", "replace")

    def _strict(self, text: str, *, is_end: bool) -> str:
        pieces: list[str] = []
        index = 0
        limit = len(text) if is_end else len(text) - _LOOKAHEAD
        for match in _TOKEN.finditer(text):
            if match.start() >= limit:
                break
            pieces += text[index : match.start()], self._token(match)
            index = match.end()
        end = max(index, limit)
        self._rest = text[end:]
        return "".join([*pieces, text[index:end]])

    def _token(self, match: re.Match[str]) -> str:
        token = match[0]
        if token == '"':
            self._in_string = not self._in_string
        elif self._in_string:
            if match["half"] or token < " ":
                return "\\ufffd" if match["half"] else f"\\u{ord(token):04x}"
            return "\\\\" if token == "\\" else token
        elif token == ",":
            return ""
        elif token in ("NaN", "Infinity", "-Infinity"):
            return "null"
        elif token < " ":
            return token if token.isspace() else " "
        return token


_HEAD = 2 * 1024**2
_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_BEGINS = re.compile(rb"\b(?:var|let|const)\s{1,9}\w{1,60}\s{0,9}=\s{0,9}(?=\[\s{0,9}\{)")
_ENDS = re.compile(rb"\](?:;[ \t\r]{0,9}\n|;?</script)")
_ENDS_OF_LINE = re.compile(rb"\];?[ \t\r]{0,9}(?:\n|</script)")
_FIRST = 20
"""The bytes in which a list over several lines ends its first."""

Span = tuple[int, int]
"""Where it begins in the file, and where it ends."""


def has_span(file: IO[bytes]) -> bool:
    """Return whether a file begins as a page with JSON."""
    head = file.read(_HEAD)
    return bool(_PAGE.match(head) and _BEGINS.search(head))


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


@contextmanager
def after_name(opened: AbstractContextManager[IO[bytes]]) -> Iterator[IO[bytes]]:
    """Yield a script from the value of the variable that it begins with, if it does (X)."""
    with opened as file:
        name = _NAME.match(file.read(200))
        file.seek(name.end() if name else 0)
        yield file


def rows_by_key(item: Any, is_record: Callable[[Any], bool]) -> list[Any]:
    """Return the records that are the values of an object, or of one in it, by the first of them; none without such."""
    for part in (item, *map(item.get, WRAPPERS)) if isinstance(item, dict) else ():
        rows = list(part.values()) if isinstance(part, dict) else []
        if rows and all(isinstance(row, dict) and is_record(row) for row in rows[:MAX_SAMPLE]):
            return rows
    return []


def rows_with_lists(item: Any, is_record: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield the records that hold lists, of an object's values but the usual ones, or of the lists that these are; or
    that are such a list with its key (Snapchat)."""
    values = {key: value for key, value in item.items() if key not in WRAPPERS} if isinstance(item, dict) else {}
    rows = chain.from_iterable(value if isinstance(value, list) else [value] for value in values.values())
    named = ({"title": key, "messages": value} for key, value in values.items() if isinstance(value, list))
    for row in chain(rows, named):
        if isinstance(row, dict) and any(isinstance(value, list) for value in row.values()) and is_record(row):
            yield row


def object_in(text: Any) -> dict[str, Any]:
    """Return the object that a text of JSON is; an empty one for anything else."""
    if isinstance(text, bytes) or (isinstance(text, str) and text.lstrip().startswith("{")):  # most texts are none
        with suppress(ValueError, RecursionError):
            data = json.loads(text)
            return data if isinstance(data, dict) else {}
    return {}


def items_of(events: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """Yield an array's items from a parser's events, in bounded memory. Raises ValueError if too deep or large."""
    depth = weight = 0
    is_array = False
    item = ijson.ObjectBuilder()
    for event, value in events:
        if event in _CLOSES:
            depth -= 1
        if depth == 0:
            is_array = event == "start_array"
        elif is_array:
            item.event(event, value)
            weight += 64 + (len(value) if isinstance(value, str) else 0)
        if event in _OPENS:
            depth += 1
        elif is_array and depth == 1:
            yield item.value
            item, weight = ijson.ObjectBuilder(), 0
        if depth > MAX_DEPTH or weight > MAX_ITEM:
            raise ValueError(N_("Something in this file is larger, or nested deeper, than a conversation can be."))


def items_under(keys: Collection[str], events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the items of the arrays under some keys of an object, and of the objects that stand under such keys."""
    depth = wrappers = 0
    key = ""
    for event, value in events:
        if event == "map_key":
            key = value
        elif event == "start_array" and depth == wrappers and key in keys:
            for item in items_of(chain([(event, value)], _rest_of_value(events))):
                yield key, item
            continue
        elif event == "start_map" and depth == wrappers and (not depth or key in keys):
            wrappers += 1
        depth += (event in _OPENS) - (event in _CLOSES)
        wrappers = min(wrappers, depth)


def _rest_of_value(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the events of a value that has begun, taken from those of what it is in."""
    depth = 1
    for event, value in events:
        yield event, value
        depth += (event in _OPENS) - (event in _CLOSES)
        if not depth:
            return
