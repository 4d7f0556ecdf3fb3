"""A backup file: a ZIP with each table as JSON lines, the attachments and, last, a manifest that says what it is.

A row is a JSON array in the order of the columns in its table's first line; bytes are `{"b64": …}`, instants UTC text
with microseconds, the same from every database. A file without a manifest was never finished.
"""

import base64
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from webapp.errors import DomainError, reason

FORMAT = 1
MANIFEST = "manifest.json"
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, ValueError)
"""What reading raises where bytes are missing or wrong."""
_ATTACHMENT = re.compile(r"files/([0-9a-f]{2})/(\1[0-9a-f]{62})")


class BackupError(DomainError):
    """A backup cannot be made, read or restored; the text says why and what to do."""


@dataclass(frozen=True)
class Manifest:
    """The contents of a backup. `next_ids` are free in each table; `key` recognises its SECRET_KEY."""

    made_at: str
    revision: str
    database: str
    key: str
    tables: dict[str, int]
    next_ids: dict[str, int]
    attachments: int
    format: int = field(default=FORMAT)


def write_table(archive: zipfile.ZipFile, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
    """Add a table; returns how many rows it has."""
    count = 0
    with archive.open(f"tables/{name}.jsonl", "w", force_zip64=True) as out:
        out.write(_line(list(columns)))
        for row in rows:
            out.write(_line([_plain(value) for value in row]))
            count += 1
    return count


def write_manifest(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    """Add the manifest, which makes the backup whole."""
    archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2))


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Return the manifest. Raises BackupError unless this is a complete backup in the format of this version."""
    try:
        data = json.loads(archive.read(MANIFEST))
        made_with = data["format"]
    except (*_DAMAGE, TypeError):
        raise BackupError("This is not a Commonplace backup, or it was never finished.") from None
    if made_with != FORMAT:
        raise BackupError("This backup was made by a newer version of Commonplace. Restore it with that version.")
    return TypeAdapter(Manifest).validate_python(data)


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield the file for reading. Raises BackupError, also for damage that is found while it is read."""
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise BackupError(f"There is no file {path}.") from None
    except (OSError, *_DAMAGE):
        raise BackupError(f"{path} is not a backup, or was cut short.") from None
    with archive:
        try:
            yield archive
        except _DAMAGE as error:
            raise BackupError(f"{path} is damaged: {reason(error)}.") from error


@contextmanager
def read_table(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[list[str], Iterator[list[Any]]]]:
    """Yield the columns and the rows of a table."""
    with archive.open(f"tables/{name}.jsonl") as stream:
        columns = json.loads(stream.readline())
        yield columns, ([_decode(value) for value in json.loads(line)] for line in stream)


def attachments(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the names of the attachments; anything with another kind of name is ignored."""
    return (name for name in archive.namelist() if is_attachment(name))


def is_attachment(name: str) -> bool:
    """Return whether this names an attachment: its content's SHA-256, in a folder named by the first two digits."""
    return _ATTACHMENT.fullmatch(name) is not None


def _line(values: list[Any]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"b64": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, datetime):
        return value.isoformat(" ", "microseconds")
    return str(value) if isinstance(value, Decimal | date) else value


def _decode(value: Any) -> Any:
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value
