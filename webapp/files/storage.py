"""Storage for the bytes of files: a folder on this machine, or a bucket (`webapp/files/bucket.py`).

Both have the same operations, and keep entire files under keys such as `ab/ab12…`, the content's SHA-256, and
`ab/ab12….pictures/0-1280.jpg`. What is written appears completely or not at all. Everything raises Unavailable while
the storage cannot be reached.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from flask import Flask

from webapp.config import ConfigError, Settings
from webapp.extensions import Part

if TYPE_CHECKING:
    from webapp.files.bucket import Bucket

_KEY = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})(?:\.pictures/[^/]+)?")
PIECE = 64 * 1024
PARTS = "parts"
"""The folder for files being written."""


def digest_of(key: str) -> str | None:
    """Return the content that a key belongs to, directly or through a picture; None for keys that are not ours."""
    match = _KEY.fullmatch(key)
    return match.group(2) if match else None


class Folder:
    """A storage in a folder. Each operation raises FileNotFoundError for a missing key."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def store(self, key: str, data: BinaryIO) -> Iterator[Path]:
        """Store a file's content, from its beginning; until the context ends it can be read at a path."""
        with self.part(data) as part, self._second_name(part) as target:
            self._put(key, target)
            yield part

    def write(self, key: str, data: bytes) -> None:
        """Store small content."""
        with self.part(BytesIO(data)) as part:
            self._put(key, part)

    def read(self, key: str) -> bytes:
        """Return all of some small content."""
        return self.path(key).read_bytes()

    def pieces(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yield the bytes, or some of them, in pieces; a missing key is reported at once."""
        file = self.path(key).open("rb")
        file.seek(start)
        return _pieces(file, length)

    @contextmanager
    def on_disk(self, key: str) -> Iterator[Path]:
        """Return a path at which other programs can read it."""
        path = self.path(key)
        path.stat()
        yield path

    def size(self, key: str) -> int | None:
        """Return the number of bytes; None if the key does not exist."""
        try:
            return self.path(key).stat().st_size
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        """Delete the content, with everything below `<key>.pictures/`; does nothing if it does not exist."""
        path = self.path(key)
        with suppress(FileNotFoundError):
            path.unlink()
        if not key.endswith(".jpg"):
            shutil.rmtree(path.with_name(path.name + ".pictures"), ignore_errors=True)

    def entries(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """Yield the keys with a prefix, with the time at which each was written, in seconds since 1970."""
        for path in (self.root / prefix.rpartition("/")[0]).rglob("*"):
            key = path.relative_to(self.root).as_posix()
            with suppress(FileNotFoundError):  # deleted in the meantime
                if key.startswith(prefix) and not key.startswith(PARTS) and path.is_file():
                    yield key, path.stat().st_mtime

    def drop_parts(self, before: float) -> int:
        """Delete the remains of writes interrupted before a time; returns how many."""
        count = 0
        for path in (self.root / PARTS).glob("*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()
                    count += 1
        return count

    def check(self) -> None:
        """Write something small and delete it again. Raises OSError."""
        self.write("check/written", b"ok")
        self.delete("check/written")

    def keeps_versions(self) -> bool:
        """Return whether deleted content is nevertheless kept."""
        return False

    def path(self, key: str) -> Path:
        """Return the path of a key, whether or not it exists."""
        return self.root / key

    def _put(self, key: str, part: Path) -> None:
        path = self.path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.replace(path)

    @contextmanager
    def part(self, data: BinaryIO) -> Iterator[Path]:
        """Yield the path of a file with this content, from its beginning, which is gone afterwards."""
        parts = self.root / PARTS
        parts.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = parts / f"{os.getpid()}-{os.urandom(8).hex()}"
        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                data.seek(0)
                shutil.copyfileobj(data, file, PIECE)
            yield part
        finally:
            part.unlink(missing_ok=True)

    @contextmanager
    def _second_name(self, part: Path) -> Iterator[Path]:
        """Yield the same bytes under a second name; a copy if the file system has no links."""
        other = part.with_name(f"{part.name}-2")
        try:
            try:
                os.link(part, other)
            except OSError:
                shutil.copy(part, other)
            yield other
        finally:
            other.unlink(missing_ok=True)


def _pieces(file: BinaryIO, length: int | None) -> Iterator[bytes]:
    left = length
    with file:
        while piece := file.read(PIECE if left is None else min(PIECE, left)):
            left = None if left is None else left - len(piece)
            yield piece


file_storage: Part[Folder | Bucket] = Part("file_storage")


def init_storage(app: Flask, settings: Settings) -> None:
    """Choose the storage from the settings; nothing is loaded or contacted before it is used."""
    file_storage.put(app, _bucket(settings) if settings.s3_bucket else Folder(settings.var_dir.absolute() / "files"))


def _bucket(settings: Settings) -> Bucket:
    if find_spec("boto3") is None:
        raise ConfigError("S3_BUCKET needs boto3; `S3_BUCKET=<name> python3 -m webapp.cli.prepare run` installs it")
    from webapp.files.bucket import Bucket  # noqa: PLC0415 - 35 MB of libraries, only if a bucket is used

    return Bucket(settings)


def key_of(digest: str) -> str:
    """Return the key of some content."""
    return f"{digest[:2]}/{digest}"


def picture_key(digest: str, name: str = "") -> str:
    """Return the key of a picture made from some content, or the prefix of all of them."""
    return f"{key_of(digest)}.pictures/{name}"
