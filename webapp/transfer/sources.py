"""Uploaded files as readers see them: named members that are streamed."""

import io
import json
import re
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, TextIO

import ijson

from webapp.extensions import app_settings
from webapp.files.readers.text import decode, encoding_of, table_rows
from webapp.i18n.marks import N_, say
from webapp.transfer.archives import Archive, BrokenMember, ImportRefused, decompress, zip_of_tar
from webapp.transfer.json_text import (
    MAX_ITEM,
    MAX_SAMPLE,
    WRAPPERS,
    Span,
    StrictText,
    after_name,
    has_span,
    items_of,
    items_under,
    open_span,
    rows_by_key,
    rows_with_lists,
    span_of,
)

PEEK_BYTES = 64 * 1024
MAX_OBJECT = 256 * 1024**2
"""The most bytes of a member, or of a line of one, that is read as one object."""
DAMAGED = N_("the file is damaged or was cut off")
_JSON = re.compile(r"[\s\0]*(?:\{\s*(?:[\"}]|\Z)|\[\s*(?:[{\"\]]|\[\s*[\[{\"\]]|null\b|\Z))")
_PACKED = (b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
"""The first bytes of archives of other kinds: zstd, 7z, RAR."""
TABLES = (".csv", ".tsv")
JSONS = (".json", ".jsonl", ".ndjson")
TEXTS = (".txt", ".md", ".markdown", ".text")
PAGES = (".html", ".htm")


class Upload:
    """One uploaded file: a ZIP with members, or a single member with the file's own name."""

    def __init__(self, path: Path, filename: str) -> None:
        self._unpacked = decompress(path)
        if self._unpacked is not None:
            path, filename = Path(self._unpacked.name), re.sub(r"\.(?:gz|bz2|xz)\Z", "", filename, flags=re.IGNORECASE)
        self.path = path
        self.filename = filename
        self._archive: Archive | None = None
        self._pages: dict[str, tuple[Path, Span]] = {}
        self._scripts: list[str] = []
        try:
            self._open()
        except ImportRefused:
            self.close()
            raise

    def _open(self) -> None:
        head = self._first_bytes(self.filename)
        if head[257:262] == b"ustar":
            with zip_of_tar(self.path) as copy:
                self._archive = Archive(Path(copy.name))
        elif zipfile.is_zipfile(self.path):
            if not self.filename.lower().endswith((".docx", ".pptx", ".xlsx")):
                self._archive = Archive(self.path)
                self._find_pages(self._archive)
        elif head.startswith(b"PK\x03\x04"):  # the directory at its end is missing
            raise ImportRefused("The ZIP is broken. Download the export again.")
        elif head.startswith(_PACKED):
            raise ImportRefused("This archive is not a ZIP. Unpack it, and upload its files, or pack them as a ZIP.")
        elif span := span_of(self.path):
            self._pages[self.filename] = self.path, span

    def _find_pages(self, archive: Archive) -> None:
        """Find the pages with JSON in a ZIP that has no file of conversations, and the scripts if it has no JSON."""
        pages = [name for name in archive.names if name.lower().endswith(PAGES)]
        for name in [] if any("conversation" in name.lower() for name in self.json_names) else pages[:MAX_SAMPLE]:
            with suppress(BrokenMember):
                with archive.open(name) as file:
                    is_page = has_span(file)
                if is_page and (span := span_of(path := Path(archive.unpack(name).name))):
                    self._pages[name] = path, span
        scripts = [name for name in archive.names if name.lower().endswith(".js")]
        scripts.sort(key=lambda name: "chat" not in name.lower())  # few are looked at
        for name in [] if self.json_names else scripts[:MAX_SAMPLE]:
            with suppress(ImportRefused):
                self._scripts += [name] if self._is_json(name) else []

    @property
    def is_archive(self) -> bool:
        """Return whether the file is a ZIP."""
        return self._archive is not None

    @property
    def names(self) -> list[str]:
        """Return the members, without folders and files that operating systems add."""
        return [self.filename] if self._archive is None else self._archive.names

    def has(self, name: str) -> bool:
        """Return whether a member of this name is in the ZIP."""
        return self._archive is not None and name in self._archive

    def size(self, name: str) -> int:
        """Return the uncompressed bytes that a member claims to have."""
        if page := self._pages.get(name):
            return page[1][1] - page[1][0]
        return self._archive.size(name) if self._archive is not None else self.path.stat().st_size

    def open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Yield a member's bytes, of a page with JSON that. Raises ImportRefused if it is encrypted or broken."""
        if page := self._pages.get(name):
            return open_span(*page)
        file = self._archive.open(name) if self._archive is not None else self.path.open("rb")
        return after_name(file) if name.lower().endswith(".js") else file

    def read(self, name: str) -> bytes:
        """Return the bytes of a file to store, one more at most than it may have. Raises ImportRefused."""
        with self.open(name) as file:
            return file.read(app_settings().max_file_bytes + 1)

    def peek(self, name: str) -> str:
        """Return the beginning of a member as text."""
        return decode(self._first_bytes(name))

    def _first_bytes(self, name: str) -> bytes:
        with self.open(name) as file:
            return file.read(PEEK_BYTES)

    def text(self, name: str, limit: int) -> str:
        """Return a whole member as text, of at most `limit` bytes. Raises ImportRefused for a longer one."""
        with self.open(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ImportRefused(say("“%(name)s” is longer than %(size)s MB.", name=name, size=limit // 1024**2))
        return decode(data)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a member that are not blank; none if it is missing. Of a longer one come pieces."""
        if name in self.names:
            with self.open(name) as file:
                while line := file.readline(MAX_OBJECT):
                    if line.strip():
                        yield line

    def items(self, name: str) -> Iterator[Any]:
        """Yield the items of a JSON array, one at a time. Raises ValueError where the JSON stops being valid."""
        yield from items_of(self._events(name))

    def items_under(self, name: str, *keys: str) -> Iterator[tuple[str, Any]]:
        """Yield the items of an object's arrays under some keys, each with its key. Raises ValueError for bad JSON."""
        yield from items_under(keys, self._events(name))

    def _events(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield a parser's events; from where it does not go on, those of what is meant there."""
        count = 0
        with suppress(UnicodeDecodeError, ijson.JSONError), self._open_text(name) as text:
            file = SimpleNamespace(read=lambda size=-1: text.read(size).encode())
            for count, event in enumerate(ijson.basic_parse(file, use_float=True), 1):  # noqa: B007  # read below
                yield event
            return
        try:
            with self._open_text(name) as text:
                events = ijson.basic_parse(StrictText(text), use_float=True, multiple_values=True)
                yield from islice(events, count, None)
        except (UnicodeDecodeError, ijson.JSONError) as error:
            raise ValueError(DAMAGED) from error

    def is_damaged(self, name: str) -> bool:
        """Return whether a JSON member cannot be read to its end."""
        try:
            deque(self._events(name), maxlen=0)
        except ValueError:
            return True
        return False

    @contextmanager
    def _open_text(self, name: str) -> Iterator[TextIO]:
        """Yield a member as text without a byte order mark; a byte that fits no text costs one character."""
        encoding = encoding_of(self._first_bytes(name))
        with self.open(name) as file:
            yield io.TextIOWrapper(file, encoding, "replace", newline="\n")

    def first_item(self, name: str) -> Any:
        """Return the first item of a JSON array, or a whole member that is a JSON object; None for anything else."""
        beginning = self.peek(name).lstrip()
        with suppress(ValueError):
            if beginning.startswith("["):
                return next(self.items(name), None)
            if beginning.startswith("{") and self.size(name) <= MAX_OBJECT:
                with suppress(ValueError, RecursionError):  # which is read below, more slowly
                    return json.loads(self.text(name, MAX_OBJECT), strict=False)
                return next(self._values(name), None)
        return None

    def _values(self, name: str) -> Iterator[Any]:
        """Yield what stands one after the other in a member."""
        return items_of(chain([("start_array", None)], self._events(name)))

    @property
    def json_names(self) -> list[str]:
        """Return the members that may be JSON: by their ending in a ZIP, by how it begins if one file was uploaded."""
        if self.is_archive:
            names = [name for name in self.names if name.lower().endswith(JSONS)]
            return [*names, *self._pages, *self._scripts]
        return self.names if self._is_json(self.filename) else []

    def _is_json(self, name: str) -> bool:
        return bool(_JSON.match(self.peek(name)))

    @property
    def record_names(self) -> list[str]:
        """Return the members that may be JSON; without any, the tables of separated values."""
        return self.json_names or [name for name in self.names if name.lower().endswith(TABLES)]

    def records(self, name: str, is_record: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield the records of a member, one at a time: of an array, of JSON lines, of an object that wraps an array of
        them or has them by their ids, of a table, or the only one. Raises ValueError where the JSON stops being valid.
        """
        if name.lower().endswith(TABLES):
            yield from _rows(self.text(name, MAX_OBJECT).encode())
        elif not self.peek(name).lstrip().startswith("{"):
            yield from self.items(name)
        elif self._is_lines(name):
            yield from self._lines(name)
        elif is_record(first := self.first_item(name)):
            yield from self._values(name)
        elif by_key := rows_by_key(first, is_record):
            yield from by_key
        else:
            found = partial(self.items_under, name, *WRAPPERS)
            inner = rows_with_lists(first, is_record)  # of a store of keys, beside what its program keeps in others
            head = next(inner, None)
            if head is not None and not any(is_record(item) for _, item in islice(found(), MAX_SAMPLE)):
                yield from chain([head], inner)
            yield from (item for _, item in found())

    def first_record(self, name: str, is_record: Callable[[Any], bool]) -> Any:
        """Return the first record of a member, some of whose items may be damaged; None if there is none."""
        with suppress(ValueError, RecursionError):
            return next(filter(is_record, islice(self.records(name, is_record), MAX_SAMPLE)), None)
        return None

    def has_record(self, names: Iterable[str], is_record: Callable[[Any], bool]) -> bool:
        """Return whether a record is among the first of one of the first of these members."""
        return any(self.first_record(name, is_record) is not None for name in islice(names, MAX_SAMPLE))

    def _is_lines(self, name: str) -> bool:
        """Return whether a member has an object on its first line, and another below it."""
        with self._open_text(name) as file:
            return isinstance(_line(file.readline(MAX_OBJECT)), dict) and "{" in file.readline(1_000)

    def _lines(self, name: str) -> Iterator[Any]:
        """Yield what the lines hold, None for one that is damaged."""
        with self._open_text(name) as file:
            while line := file.readline(MAX_ITEM):
                if line.strip():
                    yield _line(line)

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._archive is not None:
            self._archive.close()
        if self._unpacked is not None:
            self._unpacked.close()


def _rows(data: bytes) -> Iterator[Any]:
    """Yield the rows of a table by its heads, as written and in lower case; the words of one with a single column."""
    heads, *rows = table_rows(data) or [[]]
    if len(heads) < 2:  # noqa: PLR2004  # what separates columns elsewhere is part of the words
        yield from (" ".join(row) for row in table_rows(data, "\0") if any(row))
        return
    for row in filter(any, rows):
        cells = list(zip(map(str.strip, heads), row, strict=False))
        yield dict(cells) | {name.lower(): cell for name, cell in cells}


def _line(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text, strict=False)
    return None
