"""Uploaded ZIPs, tars and compressed files: what is in them, and what is refused because of how it is packed."""

import bz2
import gzip
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from webapp.i18n.marks import N_, say

MAX_BYTES = 16 * 1024**3
"""The most bytes that a ZIP may unpack to."""
MAX_MEMBERS = 200_000
RATIO_FROM = 64 * 1024**2
MAX_RATIO = 50
"""How many times larger than itself a ZIP may unpack to, once that is more than RATIO_FROM: chats get to ten times."""
_JSON = (".json", ".jsonl", ".ndjson")
"""The files of exports. ZIPs beside them are files of messages; those in a ZIP without them are its parts."""
_COMPRESSED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
_SYSTEM = ("__MACOSX/", ".DS_Store", "Thumbs.db")
"""In the paths of files that operating systems add."""


_TOO_LARGE = N_("Unpacked, the ZIP is larger than an export can be. It was not imported.")


class ImportRefused(ValueError):
    """The file cannot be imported; the message tells its owner why."""


class BrokenMember(ImportRefused):
    """One file of a ZIP is broken; the others may be whole."""


def _limit(size: int) -> int:
    """Return how many bytes a packed file of this size may unpack to."""
    return min(MAX_BYTES, max(RATIO_FROM, MAX_RATIO * size))


def decompress(path: Path) -> IO[bytes] | None:
    """Return what a compressed file holds, as far as it is whole; None for another file. Raises ImportRefused."""
    with path.open("rb") as file:
        head = file.read(6)
    opener = next((opener for mark, opener in _COMPRESSED if head.startswith(mark)), None)
    if opener is None:
        return None
    left = _limit(path.stat().st_size)
    with ExitStack() as opened:
        result = opened.enter_context(tempfile.NamedTemporaryFile())
        for piece in _whole_pieces(opener, path):
            left -= len(piece)
            if left < 0:
                raise ImportRefused(_TOO_LARGE)
            result.write(piece)
        result.flush()
        if not result.tell():
            raise ImportRefused("The file is damaged, or was not uploaded whole.")
        opened.pop_all()  # closed by whoever asked
    return result


def zip_of_tar(path: Path) -> IO[bytes]:
    """Return the files of a tar in a ZIP, as far as it is whole. Raises ImportRefused."""
    left = _limit(path.stat().st_size)
    with ExitStack() as opened:
        result = opened.enter_context(tempfile.NamedTemporaryFile())
        with suppress(tarfile.TarError, EOFError), tarfile.open(path) as packed, zipfile.ZipFile(result, "w") as zipped:
            for number, item in enumerate(packed, 1):
                left -= item.size
                if left < 0 or number > MAX_MEMBERS:  # a sparse file may be of any size
                    raise ImportRefused(_TOO_LARGE)
                if item.isfile() and (member := packed.extractfile(item)):
                    with zipped.open(zipfile.ZipInfo(item.name), "w", force_zip64=True) as copy:
                        shutil.copyfileobj(member, copy)
        result.flush()
        opened.pop_all()  # closed by whoever asked
    return result


def _whole_pieces(opener: Callable[[Path], Any], path: Path) -> Iterator[bytes]:
    with suppress(EOFError, zlib.error, lzma.LZMAError, OSError), opener(path) as packed:
        while piece := packed.read1(1024**2):
            yield piece


class Archive:
    """A ZIP whose members are streamed; if it has no JSON, those of the ZIPs in it too.

    Raises ImportRefused if it is broken or too large.
    """

    def __init__(self, path: Path) -> None:
        with ExitStack() as self._files:
            self._members = self._read(path.open("rb"), path.stat().st_size)
            packed = [name for name in self._members if name.lower().endswith(".zip")]
            if packed and not any(name.lower().endswith(_JSON) for name in self._members):
                inner = {name: self._read(self.unpack(name), self.size(name)) for name in packed}
                self._members |= {
                    base if len(inner) == 1 else f"{name}/{base}": member
                    for name, members in inner.items()
                    for base, member in members.items()
                }
            self._files = self._files.pop_all()
        self.names = list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def size(self, name: str) -> int:
        """Return the uncompressed bytes that a member claims to have."""
        return self._members[name][1].file_size

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a member's bytes. Raises ImportRefused if it is encrypted, and BrokenMember."""
        archive, info = self._members[name]
        if info.flag_bits & 1:
            raise ImportRefused("The ZIP is protected by a password. Unpack it, and upload it without one.")
        try:
            with archive.open(info) as member:  # of which no more is read than the directory claims
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
            raise BrokenMember(say("“%(name)s” in the ZIP is broken.", name=name)) from error

    def close(self) -> None:
        """Close the files."""
        self._files.close()

    def unpack(self, name: str) -> IO[bytes]:
        """Return a member as a file of its own: within a ZIP, none can be read from its end."""
        file = self._files.enter_context(tempfile.NamedTemporaryFile())  # noqa: SIM115  # closed with the others
        with self.open(name) as member:
            shutil.copyfileobj(member, file)
        file.flush()
        return file

    def _read(self, file: IO[bytes], size: int) -> dict[str, tuple[zipfile.ZipFile, zipfile.ZipInfo]]:
        """Return a ZIP's members by their paths, in which some programs write backslashes."""
        self._files.enter_context(file)
        try:
            archive = self._files.enter_context(zipfile.ZipFile(file))
        except NotImplementedError as error:  # what zipfile raises for an unknown version of the format
            raise ImportRefused(
                "The ZIP is packed in a way that cannot be read here. Unpack it, pack it as an ordinary ZIP and "
                "upload that."
            ) from error
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise ImportRefused("The ZIP is broken. Download the export again.") from error
        if len(archive.filelist) > MAX_MEMBERS:
            raise ImportRefused("The ZIP holds more files than an export can have. It was not imported.")
        if sum(item.file_size for item in archive.filelist) > _limit(size):
            raise ImportRefused(_TOO_LARGE)
        paths = ((item.filename.replace("\\", "/"), item) for item in archive.infolist() if not item.is_dir())
        return {path: (archive, item) for path, item in paths if not any(part in path for part in _SYSTEM)}
