"""Storage for the bytes of files: a folder on this machine, or in a bucket that speaks S3's protocol.

Both keep entire files under keys such as `ab/ab12…`, the content's SHA-256, and `ab/ab12….pictures/0-1280.jpg`. What is
written appears completely or not at all. Everything raises Unavailable while the storage cannot be reached.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, Protocol

from flask import Flask

from webapp.config import ConfigError, Settings
from webapp.extensions import Part
from webapp.files.folder import Folder


class Storage(Protocol):
    """The operations of both storages. Raises FileNotFoundError for a missing key, Unavailable."""

    def store(self, key: str, data: BinaryIO) -> AbstractContextManager[Path]:
        """Store a file's content, from its beginning; until the context ends it can be read at a path."""

    def write(self, key: str, data: bytes) -> None:
        """Store small content."""

    def read(self, key: str) -> bytes:
        """Return all of some small content."""

    def pieces(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yield the bytes, or some of them, in pieces; a missing key is reported at once."""

    def on_disk(self, key: str) -> AbstractContextManager[Path]:
        """Return a path at which other programs can read it."""

    def size(self, key: str) -> int | None:
        """Return the number of bytes; None if the key does not exist."""

    def delete(self, key: str) -> None:
        """Delete the content, with everything below `<key>.pictures/`; does nothing if it does not exist."""

    def entries(self, prefix: str = "") -> Iterator[tuple[str, float]]:
        """Yield the keys with a prefix, with the time at which each was written, in seconds since 1970."""

    def drop_parts(self, before: float) -> int:
        """Delete the remains of writes interrupted before a time; returns how many."""

    def check(self) -> None:
        """Write something small and delete it again. Raises OSError."""

    def keeps_versions(self) -> bool:
        """Return whether deleted content is nevertheless kept."""


file_storage: Part[Storage] = Part("file_storage")


def init_storage(app: Flask, settings: Settings) -> None:
    """Choose the storage from the settings; nothing is loaded or contacted before it is used."""
    file_storage.put(app, _bucket(settings) if settings.s3_bucket else Folder(settings.var_dir.absolute() / "files"))


def _bucket(settings: Settings) -> Storage:
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
