"""Uploaded files as readers see them: named members that are streamed and never unpacked to disk."""

from __future__ import annotations

import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import ijson

from webapp.files.readers.text import BOMS, decode
from webapp.i18n.marks import say

MOST_BYTES = 16 * 1024**3
"""The most bytes that a ZIP may unpack to."""
MOST_MEMBERS = 200_000
RATIO_FROM = 64 * 1024**2
MOST_RATIO = 50
"""How many times larger than itself a ZIP may unpack to, once that is more than RATIO_FROM: chats get to ten times."""
PEEK_BYTES = 64 * 1024
LOOKED_AT = 20
"""How many items of an array are looked at to find out what it is of."""
MOST_DEPTH = 5_000
"""How deeply lists and objects may be nested; a reply in a tree of messages takes two levels."""
MOST_ITEM = 512 * 1024**2
"""The most bytes of memory, roughly, that one item of a JSON array may take."""
MOST_OBJECT = 256 * 1024**2
"""The most bytes of a member, or of a line of one, that is read as one object."""
WRAPPERS = ("conversations", "data", "chats", "items", "results", "memories")
"""The keys under which programs put the array of what they export."""
_BEGINS, _ENDS = ("start_map", "start_array"), ("end_map", "end_array")


class ImportRefused(ValueError):
    """The file cannot be imported; the message tells its owner why."""


class Upload:
    """One uploaded file: a ZIP with members, or a single member with the file's own name."""

    def __init__(self, path: Path, filename: str) -> None:
        self.path = path
        self.filename = filename
        self._archive: zipfile.ZipFile | None = None
        if zipfile.is_zipfile(path):
            if not filename.lower().endswith((".docx", ".pptx", ".xlsx")):
                self._archive = _open(path)
        elif self.peek(filename).startswith("PK\x03\x04"):  # the directory at its end is missing
            raise ImportRefused("The ZIP is broken. Download the export again.")

    @property
    def is_archive(self) -> bool:
        """Return whether the file is a ZIP."""
        return self._archive is not None

    @cached_property
    def names(self) -> list[str]:
        """The members, without folders and files that operating systems add."""
        if self._archive is None:
            return [self.filename]
        hidden = ("__MACOSX/", ".DS_Store", "Thumbs.db")
        return [name for name in self._members if not any(part in name for part in hidden)]

    @cached_property
    def _members(self) -> dict[str, zipfile.ZipInfo]:
        """The members of the ZIP by their paths, in which some programs write backslashes."""
        items = self._archive.infolist() if self._archive is not None else []
        return {item.filename.replace("\\", "/"): item for item in items if not item.is_dir()}

    def size(self, name: str) -> int:
        """Return the uncompressed bytes that a member claims to have."""
        return self.path.stat().st_size if self._archive is None else self._members[name].file_size

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a member's bytes. Raises ImportRefused if it is encrypted or broken."""
        if self._archive is None:
            with self.path.open("rb") as file:
                yield file
            return
        info = self._members[name]
        if info.flag_bits & 1:
            raise ImportRefused("The ZIP is protected by a password. Unpack it, and upload it without one.")
        try:
            with self._archive.open(info) as member:  # of which no more is read than the directory claims
                yield member
        except NotImplementedError as error:  # what zipfile raises for unsupported compression or encryption
            raise ImportRefused(
                say(
                    "“%(name)s” in the ZIP is packed in a way that cannot be read here. Unpack it, pack it as an "
                    "ordinary ZIP and upload that.",
                    name=name,
                )
            ) from error
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError) as error:
            raise ImportRefused(say("“%(name)s” in the ZIP is broken.", name=name)) from error

    def peek(self, name: str) -> str:
        """Return the beginning of a member as text."""
        with self.open(name) as file:
            return decode(file.read(PEEK_BYTES))

    def text(self, name: str, limit: int) -> str:
        """Return a whole member as text, of at most `limit` bytes. Raises ImportRefused for a longer one."""
        with self.open(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ImportRefused(f"“{name}” is longer than {limit // 1024**2} MB.")
        return decode(data)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a member that are not blank; none if it is missing. Of a longer one come pieces."""
        if name in self.names:
            with self.open(name) as file:
                while line := file.readline(MOST_OBJECT):
                    if line.strip():
                        yield line

    def items(self, name: str) -> Iterator[Any]:
        """Yield the items of a JSON array, one at a time. Raises ValueError where the JSON stops being valid."""
        yield from _items(self._events(name))

    def items_under(self, name: str, *keys: str) -> Iterator[tuple[str, Any]]:
        """Yield the items of the JSON arrays under some keys of an object, each with its key, one at a time.

        Raises ValueError where the JSON stops being valid.
        """
        yield from _items_under(keys, self._events(name))

    def _events(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield a parser's events; from half of a surrogate pair on, those of a slower one that does not stop there."""
        count = 0
        try:
            with suppress(UnicodeDecodeError), self._open_text(name) as file:
                for count, event in enumerate(ijson.basic_parse(file, use_float=True), 1):  # noqa: B007  # read below
                    yield event
                return
            with self._open_text(name) as file:
                for event, value in islice(ijson.get_backend("python").basic_parse(file, use_float=True), count, None):
                    yield event, value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        except ijson.JSONError as error:
            raise ValueError("the file is damaged or was cut off") from error

    @contextmanager
    def _open_text(self, name: str) -> Iterator[Any]:
        """Yield a member as UTF-8 without a byte order mark; a byte that fits no text costs one character."""
        with self.open(name) as file:
            mark = file.read(4)
        encoding = next((encoding for start, encoding in BOMS if mark.startswith(start)), "utf-8")
        with self.open(name) as file:
            text = io.TextIOWrapper(file, encoding, "replace", newline="\n")
            yield SimpleNamespace(
                read=lambda size=-1: text.read(size).encode(), readline=lambda size=-1: text.readline(size).encode()
            )

    def first_item(self, name: str) -> Any:
        """Return the first item of a JSON array, or a whole member that is a JSON object; None for anything else."""
        beginning = self.peek(name).lstrip()
        with suppress(ValueError):
            if beginning.startswith("["):
                return next(self.items(name), None)
            if beginning.startswith("{") and self.size(name) <= MOST_OBJECT:
                with suppress(RecursionError):  # a tree of many replies, which is read below, more slowly
                    return json.loads(self.text(name, MOST_OBJECT))
                return next(_items(chain([("start_array", None)], self._events(name))), None)
        return None

    @property
    def json_names(self) -> list[str]:
        """The members that may be JSON: by their ending in a ZIP, by how it begins if one file was uploaded."""
        if self.is_archive:
            return [name for name in self.names if name.lower().endswith((".json", ".jsonl", ".ndjson"))]
        return self.names if self.peek(self.filename).lstrip()[:1] in ("[", "{") else []

    def records(self, name: str, is_record: Callable[[Any], bool]) -> Iterator[Any]:
        """The records of a member, one at a time: of an array, of JSON lines, of an object that wraps an array of them,
        or the only one. Raises ValueError where the JSON stops being valid."""
        if not self.peek(name).lstrip().startswith("{"):
            yield from self.items(name)
        elif self._is_lines(name):
            yield from self._lines(name)
        elif is_record(record := self.first_item(name)):
            yield record
        else:
            yield from (item for _, item in self.items_under(name, *WRAPPERS))

    def first_record(self, name: str, is_record: Callable[[Any], bool]) -> Any:
        """Return the first record of a member, some of whose items may be damaged; None if there is none."""
        with suppress(ValueError, RecursionError):
            return next(filter(is_record, islice(self.records(name, is_record), LOOKED_AT)), None)
        return None

    def has_record(self, names: Iterable[str], is_record: Callable[[Any], bool]) -> bool:
        """Return whether a record is among the first of one of these members."""
        return any(self.first_record(name, is_record) is not None for name in names)

    def _is_lines(self, name: str) -> bool:
        """Tell whether a member has an object on its first line, and another below it."""
        with self._open_text(name) as file:
            first = file.readline(MOST_OBJECT)
            try:
                return isinstance(json.loads(first), dict) and b"{" in file.readline(1_000)
            except (ValueError, RecursionError):
                return False

    def _lines(self, name: str) -> Iterator[Any]:
        with self._open_text(name) as file:
            while line := file.readline(MOST_ITEM):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except (ValueError, RecursionError) as error:
                        raise ValueError("the file is damaged or was cut off") from error

    def __enter__(self) -> Upload:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._archive is not None:
            self._archive.close()


def _items(events: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    """Yield the items of an array from a parser's events. Raises ImportRefused for one too deep or too large.

    `ijson.items` would keep the names of all levels above for every level: a small file could take all memory.
    """
    depth = weight = 0
    is_array = False
    item = ijson.ObjectBuilder()
    for event, value in events:
        if event in _ENDS:
            depth -= 1
        if depth == 0:
            is_array = event == "start_array"
        elif is_array:
            item.event(event, value)
            weight += 64 + (len(value) if isinstance(value, str) else 0)
        if event in _BEGINS:
            depth += 1
        elif is_array and depth == 1:
            yield item.value
            item, weight = ijson.ObjectBuilder(), 0
        if depth > MOST_DEPTH or weight > MOST_ITEM:
            raise ImportRefused("Something in this file is larger, or nested deeper, than a conversation can be.")


def _items_under(keys: Collection[str], events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    depth = 0
    for event, value in events:
        if depth == 1 and event == "map_key" and value in keys:
            for item in _items(_next_value(events)):
                yield value, item
        depth += (event in _BEGINS) - (event in _ENDS)


def _next_value(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the events of one value, taken from those of what it is in."""
    depth = 0
    for event, value in events:
        yield event, value
        depth += (event in _BEGINS) - (event in _ENDS)
        if not depth:
            return


def _open(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except NotImplementedError as error:  # what zipfile raises for an unknown version of the format
        raise ImportRefused(
            "The ZIP is packed in a way that cannot be read here. Unpack it, pack it as an ordinary ZIP and "
            "upload that."
        ) from error
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise ImportRefused("The ZIP is broken. Download the export again.") from error
    if len(archive.filelist) > MOST_MEMBERS:
        archive.close()
        raise ImportRefused("The ZIP holds more files than an export can have. It was not imported.")
    unpacked = sum(item.file_size for item in archive.filelist)
    if unpacked > min(MOST_BYTES, max(RATIO_FROM, MOST_RATIO * path.stat().st_size)):
        archive.close()
        raise ImportRefused("Unpacked, the ZIP is larger than an export can be. It was not imported.")
    return archive
