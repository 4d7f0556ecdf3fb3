"""The kind of a file: by its first bytes, which do not lie, then by its name; pure."""

from __future__ import annotations

import zipfile
from pathlib import PurePosixPath
from typing import BinaryIO

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAIL = "message/rfc822"
HTML = "text/html"
CSV = "text/csv"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_OFFICE = {"word/": DOCX, "ppt/": PPTX, "xl/": XLSX}
_TEXTS = {".md": MARKDOWN, ".markdown": MARKDOWN, ".html": HTML, ".htm": HTML, ".csv": CSV, ".tsv": CSV, ".eml": MAIL}
MOST_UNPACKED = 256 * 1024**2
RATIO_FROM = 25 * 1024**2
MOST_RATIO = 50
"""How many times larger than itself a file may unpack to, once that is more than RATIO_FROM: Expat took a minute over
60 MB without a tag."""
HEAD = 8_192
"""How many bytes are examined for the kind."""


class FileRejected(ValueError):
    """The file is not accepted; the message tells its owner why."""


def kind_of(name: str, file: BinaryIO, size: int) -> str:
    """The media type of a file of this many bytes. Raises Refused if it can be neither read nor shown."""
    if not size:
        raise FileRejected("The file is empty.")
    file.seek(0)
    data = file.read(HEAD)
    if b"%PDF-" in data[:1024]:
        return PDF
    for mark, kind in IMAGES.items():
        if data.startswith(mark):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"PK\x03\x04"):
        return _office_kind(file, size)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileRejected(
            "Old or protected Office files cannot be read. Save it as .docx, .xlsx or .pptx without a password."
        )
    if b"\x00" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileRejected("This kind of file cannot be read.")
    return _TEXTS.get(PurePosixPath(name.lower()).suffix, PLAIN)


def safe_name(name: str) -> str:
    """A name without its path and without unprintable characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    cleaned = "".join(char for char in last if char.isprintable()).strip(". ")
    return cleaned[-200:] or "file"


def _office_kind(file: BinaryIO, packed: int) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            items = archive.infolist()
            names = [item.filename for item in items]
            size = sum(item.file_size for item in items)
    except NotImplementedError:  # raised by zipfile for a version of the format it does not know
        raise FileRejected(
            "The file is packed in a way that cannot be read here. Save it again and attach the new copy."
        ) from None
    except (zipfile.BadZipFile, ValueError, OSError):
        raise FileRejected("The file is damaged.") from None
    if size > min(MOST_UNPACKED, max(RATIO_FROM, MOST_RATIO * packed)):
        raise FileRejected("Unpacked, the file is larger than a document can be.")
    for folder, kind in _OFFICE.items():
        if any(name.startswith(folder) for name in names):
            if any(name.lower().endswith("vbaproject.bin") for name in names):
                raise FileRejected("Files with macros are not accepted. Save it without them.")
            return kind
    raise FileRejected("ZIP files cannot be attached. Unpack it and attach what you need.")
