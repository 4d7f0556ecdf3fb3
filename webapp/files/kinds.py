"""The kind of a file: by its first bytes, which do not lie, then by its name; pure."""

import re
import zipfile
from pathlib import PurePosixPath
from typing import BinaryIO

from webapp.files.readers.text import encoding_with_zeros

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
MAIL = "message/rfc822"
MAILBOX = "application/mbox"
RTF = "application/rtf"
OFFICE_2003 = "application/vnd.ms-office+xml"
BOOK = "application/epub+zip"
NOTEBOOK = "application/x-ipynb+json"
OPEN_DOCUMENTS = tuple(
    f"application/vnd.oasis.opendocument.{kind}" for kind in ("text", "spreadsheet", "presentation", "graphics")
)
HTML = "text/html"
CSV = "text/csv"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
HEIC = "image/heic"
IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
}
_BRANDS = {b"avif": "image/avif", b"avis": "image/avif"} | dict.fromkeys(
    (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), HEIC
)
"""What stands at byte 8 of pictures in ISO's media container, after "ftyp"."""
_BITMAP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
"""The sizes that the second header of a BMP has: "BM" alone may begin a text."""
_OFFICE = {"word/": DOCX, "ppt/": PPTX, "xl/": XLSX}
_TEXTS = {
    **dict.fromkeys((".md", ".markdown"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    **dict.fromkeys((".csv", ".tsv", ".tab", ".xls"), CSV),
    **dict.fromkeys((".eml", ".emlx", ".mht", ".mhtml"), MAIL),
    ".mbox": MAILBOX,
    ".ipynb": NOTEBOOK,
}
_HTML_BEGINS = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body|table)\b",
    re.IGNORECASE | re.DOTALL,
)
_FLAT_BEGINS = re.compile(
    rb"""(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<office:document\s[^>]*?\boffice:mimetype=["']([^"']+)"""
)
_2003_BEGINS = re.compile(
    rb"<(?:\w{1,20}:)?(?:Workbook|wordDocument)\s[^<>]*?(?:schemas-microsoft-com:office:spreadsheet|word/2003/wordml)"
)
_MAILBOX_BEGINS = re.compile(rb"From \S+ .*\d{4}\r?\n[\w-]+: ")
MAX_UNPACKED = 256 * 1024**2
RATIO_FROM = 25 * 1024**2
MAX_RATIO = 50
"""How many times larger than itself a file beyond RATIO_FROM may unpack to: 60 MB took Expat a minute."""
HEAD = 8_192
"""How many bytes are examined for the kind."""


class FileRejected(ValueError):
    """The file is not accepted; the message tells its owner why."""


def kind_of(name: str, file: BinaryIO, size: int) -> str:
    """Return the media type of a file of this many bytes. Raises FileRejected if it can be neither read nor shown."""
    if not size:
        raise FileRejected("The file is empty.")
    file.seek(0)
    data = file.read(HEAD)
    if b"%PDF-" in data[:1024]:
        return PDF
    if picture := picture_kind(data):
        return picture
    suffix = PurePosixPath(name.lower()).suffix
    if suffix in (".pages", ".numbers", ".key"):
        raise FileRejected("Files of Apple’s iWork cannot be read. Export it as PDF, Word, Excel or PowerPoint.")
    if data.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"PK\x03\x04"):
        return _office_kind(file, size)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        if suffix in (".msg", ".oft"):
            raise FileRejected("Messages of Outlook cannot be read. Save it as .eml or PDF.")
        raise FileRejected(
            "Old or protected Office files cannot be read. Save it as .docx, .xlsx or .pptx without a password."
        )
    if flat := _FLAT_BEGINS.match(data):
        kind = flat[1].decode().removesuffix("-template")
        return kind if kind in OPEN_DOCUMENTS else PLAIN
    if data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{\\rtf"):
        return RTF
    if data[257:262] == b"ustar" or (b"\x00" in data and not encoding_with_zeros(data)):
        raise FileRejected("This kind of file cannot be read.")
    if data.lstrip(b"\xef\xbb\xbf").startswith(b"<?xml") and _2003_BEGINS.search(data):
        return OFFICE_2003
    if _MAILBOX_BEGINS.match(data):
        return MAILBOX
    if suffix == ".doc" and b"\nmime-version:" in b"\n" + data.lower():  # a page with its pictures (Confluence)
        return MAIL
    if _HTML_BEGINS.match(data) and suffix not in (".md", ".txt"):
        return HTML
    return _TEXTS.get(suffix, PLAIN)


def picture_kind(data: bytes) -> str:
    """Return the media type of a picture by its first bytes; empty for anything else."""
    for mark, kind in IMAGES.items():
        if data.startswith(mark):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "")
    is_bitmap = data[:2] == b"BM" and int.from_bytes(data[14:18], "little") in _BITMAP_HEADERS
    return "image/bmp" if is_bitmap else ""


def safe_name(name: str) -> str:
    """Return a name without path and unprintable characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    cleaned = "".join(char for char in last if char.isprintable()).strip(". ")
    return cleaned[-200:] or "file"


def _office_kind(file: BinaryIO, packed: int) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            items = archive.infolist()
            names = [item.filename.replace("\\", "/") for item in items]
            size = sum(item.file_size for item in items)
            declared = archive.read("mimetype")[:100].decode("ascii", "replace") if "mimetype" in names else ""
    except NotImplementedError:  # raised by zipfile for a version of the format it does not know
        raise FileRejected(
            "The file is packed in a way that cannot be read here. Save it again and attach the new copy."
        ) from None
    except (zipfile.BadZipFile, ValueError, OSError):
        raise FileRejected("The file is damaged.") from None
    if size > min(MAX_UNPACKED, max(RATIO_FROM, MAX_RATIO * packed)):
        raise FileRejected("Unpacked, the file is larger than a document can be.")
    declared = declared.strip().removesuffix("-template")
    if declared == BOOK or declared in OPEN_DOCUMENTS:
        return declared
    if {"content.xml", "META-INF/manifest.xml"} <= set(names):
        return OPEN_DOCUMENTS[0]
    if "META-INF/container.xml" in names:
        return BOOK
    for folder, kind in _OFFICE.items():
        if any(name.startswith(folder) for name in names):
            if f"{folder}workbook.bin" in names:
                raise FileRejected("Binary workbooks (.xlsb) cannot be read. Save it as .xlsx.")
            if any(name.lower().endswith("vbaproject.bin") for name in names):
                raise FileRejected("Files with macros are not accepted. Save it without them.")
            return kind
    if "[Content_Types].xml" in names:
        raise FileRejected("This kind of file cannot be read.")
    raise FileRejected("ZIP files cannot be attached. Unpack it and attach what you need.")
