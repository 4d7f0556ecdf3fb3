"""Bytes of files in a folder that only its owner can read."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

_KEY = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})(?:\.pictures/[^/]+)?")


PIECE = 64 * 1024
PARTS = "parts"
"""The folder for files being written."""


def digest_of(key: str) -> str | None:
    """Return the content that a key belongs to, directly or through a picture; None for keys that are not ours."""
    match = _KEY.fullmatch(key)
    return match.group(2) if match else None


class Folder:
    """A storage in a folder; `Storage` says what each operation does."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def store(self, key: str, data: BinaryIO) -> Iterator[Path]:
        with self._part(data) as part, self._second_name(part) as target:
            self._put(key, target)
            yield part

    def write(self, key: str, data: bytes) -> None:
        with self._part(BytesIO(data)) as part:
            self._put(key, part)

    def read(self, key: str) -> bytes:
        return self.path(key).read_bytes()

    def pieces(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        file = self.path(key).open("rb")
        file.seek(start)
        return _pieces(file, length)

    @contextmanager
    def on_disk(self, key: str) -> Iterator[Path]:
        path = self.path(key)
        path.stat()
        yield path

    def size(self, key: str) -> int | None:
        try:
            return self.path(key).stat().st_size
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        path = self.path(key)
        with suppress(FileNotFoundError):
            path.unlink()
        if not key.endswith(".jpg"):
            shutil.rmtree(path.with_name(path.name + ".pictures"), ignore_errors=True)

    def entries(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        for path in (self.root / prefix.rpartition("/")[0]).rglob("*"):
            key = path.relative_to(self.root).as_posix()
            with suppress(FileNotFoundError):  # deleted in the meantime
                if key.startswith(prefix) and not key.startswith(PARTS) and path.is_file():
                    yield key, path.stat().st_mtime

    def drop_parts(self, before: float) -> int:
        count = 0
        for path in (self.root / PARTS).glob("*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()
                    count += 1
        return count

    def check(self) -> None:
        self.write("check/written", b"ok")
        self.delete("check/written")

    def keeps_versions(self) -> bool:
        return False

    def path(self, key: str) -> Path:
        """Return the path of a key, whether or not it exists."""
        return self.root / key

    def _put(self, key: str, part: Path) -> None:
        path = self.path(key)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.replace(path)

    @contextmanager
    def _part(self, data: BinaryIO) -> Iterator[Path]:
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
