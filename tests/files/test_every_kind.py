"""Files of every kind, good, broken, protected, huge and hostile: read or refused in words, within limits."""

import io
import resource
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from email.message import EmailMessage
from functools import cache
from pathlib import Path

import pytest

from tests.files.test_files import docx, office, pdf
from tests.files.test_pictures import photo
from webapp.files import previews, text_extraction
from webapp.files.kinds import FileRejected, kind_of, safe_name
from webapp.files.subprocesses import run_bounded
from webapp.i18n import extraction

SECRET = "root:x:0:0"
DAMAGED = "damaged"
all_texts = cache(extraction.all_texts)
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def repack(data: bytes, change: Callable[[str, bytes], bytes], **more: bytes) -> bytes:
    """An Office file with some of its parts changed, and others added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, content in more.items():
            new.writestr(name, content)
    return out.getvalue()


def slides() -> bytes:
    """A presentation of one slide."""
    from pptx import Presentation  # noqa: PLC0415

    out, deck = io.BytesIO(), Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Bees dance."
    deck.save(out)
    return out.getvalue()


def sheets() -> bytes:
    """A workbook of one sheet."""
    from xlsxwriter import Workbook  # noqa: PLC0415

    out = io.BytesIO()
    with Workbook(out) as book:
        book.add_worksheet("Hive").write_row(0, 0, ["Bees dance.", 3])
    return out.getvalue()


def declare_entity(document: bytes, entity: str) -> bytes:
    """A part of an Office file with a document type, whose entity stands in its text."""
    head, _, rest = document.rpartition(b"?>")
    return head + (b"?>" if head else b"") + f"<!DOCTYPE w [{entity}]>".encode() + rest.replace(b"Bees", b"&x;")


def with_entity(data: bytes, part: str, entity: str) -> bytes:
    """An Office file one part of which refers to an entity."""
    return repack(data, lambda name, old: declare_entity(old, entity) if name == part else old)


def bomb(folder: str = "word") -> bytes:
    """Megabytes of blanks."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{folder}/document.xml", b" " * (60 * 1024**2))
    return out.getvalue()


def lying_bomb() -> bytes:
    """A bomb whose directory says that it is small."""
    part = b"<w:t>" + b"A" * (64 * 1024**2)
    data = bytearray(repack(docx("x"), lambda name, old: part if name == "word/document.xml" else old))
    honest, small = struct.pack("<L", len(part)), struct.pack("<L", 1_000)
    return bytes(data).replace(honest, small)


def png(width: int, height: int, rows: int = 1) -> bytes:
    """A PNG that says how large it is, with few of its rows."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))

    head = struct.pack(">LLBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * (1 + 3 * min(width, 1_000)) * rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def raw_pdf(*objects: str) -> bytes:
    """A PDF written by hand, without a table of its objects."""
    body = "\n".join(f"{number} 0 obj\n{text}\nendobj" for number, text in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}\ntrailer << /Root 1 0 R >>\n%%EOF".encode()


def letter(html: bool = False, depth: int = 0) -> bytes:
    """An e-mail; within others where it has a depth."""
    made = EmailMessage()
    made["Subject"], made["From"] = "Bees", "a@example.org"
    if html:
        made.set_content("<p>Bees <b>dance.</b></p><script>sting()</script>", subtype="html")
    else:
        made.set_content("Bees dance.")
    data = made.as_bytes()
    for number in range(depth):
        line = f"b{number}"
        data = (
            f'Content-Type: multipart/mixed; boundary="{line}"\r\n\r\n--{line}\r\n'.encode()
            + data
            + f"\r\n--{line}--\r\n".encode()
        )
    return data


def encrypted_part() -> bytes:
    """A Word file whose text is said to be encrypted."""
    data = bytearray(docx("Bees dance."))
    at = data.find(b"PK\x01\x02", data.rfind(b"PK\x01\x02"))
    for mark, flag in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = data.rfind(mark)
        data[at + flag] |= 1
    return bytes(data)


READ: dict[str, Callable[[], bytes]] = {
    "bees.pdf": lambda: pdf("Bees dance."),
    "bees.docx": lambda: docx("Bees dance."),
    "bees.pptx": slides,
    "bees.xlsx": sheets,
    "bees.csv": lambda: b"name;count\nBees dance.;3\n",
    "bees.tsv": lambda: b"name\tcount\nBees dance.\t3\n",
    "bees.md": lambda: b"# Hive\n\nBees dance.",
    "bees.txt": lambda: b"Bees dance.",
    "bom.txt": lambda: b"\xef\xbb\xbfBees dance.",
    "wide.txt": lambda: "Bees dance.".encode("utf-16"),
    "bees.py": lambda: b"# Bees dance.\n",
    "bees.json": lambda: b'{"say": "Bees dance."}',
    "bees.html": lambda: b"<script>x()</script><p>Bees dance.</p>",
    "bees.eml": letter,
    "html.eml": lambda: letter(html=True).replace(b"dance.", b"dance."),
    "no ending": lambda: b"Bees dance.",
    "BMW.txt": lambda: b"BMW and Bees dance. II*",
}
HOSTILE: dict[str, Callable[[], bytes]] = {  # and yet no more than text
    "polyglot.html": lambda: b"<html><!--\n" + pdf("Bees dance."),  # a PDF that browsers take for a page
    "xxe.xml": lambda: b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>Bees dance. &a;</x>',
    "paths.docx": lambda: repack(docx("Bees dance."), lambda _, old: old, **{"../../../../tmp/owned": b"x"}),
    "deep.html": lambda: b"<div>" * 20_000 + b"Bees dance.",
    "long.txt": lambda: b"Bees dance. " + b"x" * (20 * 1024**2),
    "columns.csv": lambda: b"Bees dance." + b"," * 500_000 + b"\n1,2\n",
    "names.zip.txt": lambda: b"Bees dance.\x1b[2J\x07",
}
SEEN: dict[str, Callable[[], bytes]] = {
    "bees.png": lambda: photo(form="PNG"),
    "bees.jpg": photo,
    "bees.webp": lambda: photo(form="WEBP"),
    "bees.gif": lambda: photo(form="GIF"),
    "bees.tiff": lambda: photo(form="TIFF"),
    "bees.bmp": lambda: photo(form="BMP"),
    "bees.avif": lambda: photo(form="AVIF"),
    "IMG_0001.HEIC": lambda: photo(form="HEIF"),
    "named.png": lambda: photo(form="HEIF"),
    "tail.png": lambda: photo(form="PNG") + office("word"),  # a ZIP behind a picture
}
BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "cut.pdf": (lambda: pdf("Bees dance.")[:200], DAMAGED),
    "empty.pdf": (lambda: b"%PDF-1.7", DAMAGED),
    "locked.pdf": (lambda: pdf("Bees dance.", password="honey"), "password"),
    "loop.pdf": (
        lambda: raw_pdf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 2000000000 >>"),
        "",
    ),
    "hollow.docx": (lambda: office("word"), DAMAGED),
    "cut.docx": (lambda: repack(docx("Bees"), lambda name, old: old[: len(old) // 2]), DAMAGED),
    "sealed.docx": (encrypted_part, DAMAGED),
    "xxe.docx": (lambda: with_entity(docx("Bees"), "word/document.xml", '<!ENTITY x SYSTEM "file:///etc/passwd">'), ""),
    "laughs.docx": (
        lambda: with_entity(docx("Bees"), "word/document.xml", f'<!ENTITY l0 "ha">{LAUGHS}<!ENTITY x "&l9;">'),
        DAMAGED,
    ),
    "lying.docx": (lying_bomb, ""),
    "hollow.pptx": (lambda: office("ppt"), DAMAGED),
    "laughs.pptx": (
        lambda: with_entity(slides(), "ppt/slides/slide1.xml", f'<!ENTITY l0 "ha">{LAUGHS}<!ENTITY x "&l9;">'),
        "",
    ),
    "hollow.xlsx": (lambda: office("xl"), DAMAGED),
    "xxe.xlsx": (lambda: with_entity(sheets(), "xl/sharedStrings.xml", '<!ENTITY x SYSTEM "file:///etc/passwd">'), ""),
    "blank.txt": (lambda: b"  \n\n ", "no text"),
    "deep.eml": (lambda: letter(depth=3_000), ""),
}
UNSEEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "cut.png": (lambda: photo(form="PNG")[:100], DAMAGED),
    "huge.png": (lambda: png(60_000, 60_000), "80 megapixels"),
    "script.gif": (lambda: b"GIF89a=1;//<script>alert(1)</script>", DAMAGED),
    "cut.jpg": (lambda: photo()[:300], DAMAGED),
}
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty.txt": (lambda: b"", "empty"),
    "program": (lambda: b"\x7fELF\x02\x01\x01\0\0", "cannot be read"),
    "old.doc": (lambda: b"\xd0\xcf\x11\xe0" + b"\0" * 600, "protected"),
    "broken.docx": (lambda: b"PK\x03\x04broken", "damaged"),
    "odd.docx": (
        lambda: office("word").replace(b"PK\x01\x02\x14\x03\x14\x00", b"PK\x01\x02\x14\x03\x63\x00"),
        "packed in a way",
    ),
    "letter.msg": (lambda: b"\xd0\xcf\x11\xe0" + b"\0" * 600, "Outlook"),
    "plan.vsdx": (lambda: office("visio", **{"[Content_Types].xml": "<Types/>"}), "kind of file"),
    "any.zip": (lambda: office("files"), "ZIP"),
    "macro.docm": (lambda: office("word", **{"word/vbaProject.bin": "x"}), "macros"),
    "macro.xlsm": (lambda: office("xl", **{"xl/vbaProject.BIN": "x"}), "macros"),
    "bomb.docx": (bomb, "the file is larger"),
    "bomb.xlsx": (lambda: bomb("xl"), "the file is larger"),
    "cut.xlsx": (lambda: sheets()[:500], DAMAGED),
}


def _kind(name: str, data: bytes) -> str:
    return kind_of(safe_name(name), io.BytesIO(data), len(data))


def _run_reader(tmp_path: Path, module: str, name: str, data: bytes, *more: str) -> dict[str, object]:
    """What the bounded process says, within its time, while this one stays as large as it is."""
    path = tmp_path / "content"
    path.write_bytes(data)
    kind = _kind(name, data)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    answer = run_bounded(module, str(path), kind, *more)
    assert time.monotonic() - start < 120
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert here - before < 150 * 1024  # kilobytes
    # A child counts as at least as large as the process it was forked from, which after all other tests is large.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(1_100 * 1024, here)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["content"]
    assert SECRET not in str(answer)
    return answer


def _is_read(pages: object) -> None:
    assert isinstance(pages, list), pages
    assert "Bees dance." in " ".join(" ".join(pages).split())
    assert "x()" not in str(pages) and "sting()" not in str(pages)
    assert sum(map(len, pages)) <= 8_000_100


@pytest.mark.parametrize("name", READ)
def test_the_good_are_read(name):
    data = READ[name]()
    _is_read(text_extraction.read(data, _kind(name, data)))


@pytest.mark.parametrize("name", [*HOSTILE, "bees.pdf"])
def test_the_hostile_are_read_within_their_limits(tmp_path, name):
    data = (HOSTILE | READ)[name]()
    _is_read(_run_reader(tmp_path, "webapp.files.text_extraction", name, data).get("pages"))


@pytest.mark.parametrize("name", SEEN)
def test_pictures_are_seen(name):
    data = SEEN[name]()
    (made,) = previews.draw(data, _kind(name, data), [{"page": 0, "edge": 100, "words": ""}])
    assert made["data"]


@pytest.mark.parametrize("name", BROKEN)
def test_the_bad_say_why_and_harm_nothing(tmp_path, name):
    make, words = BROKEN[name]
    answer = _run_reader(tmp_path, "webapp.files.text_extraction", name, make())
    if words:
        assert words in str(answer["error"])
    else:  # some are read as far as they go: what counts is that nothing is fetched, grows or hangs
        assert len(str(answer)) < 1_000_000


@pytest.mark.parametrize("name", UNSEEN)
def test_pictures_that_cannot_be_seen_say_why(tmp_path, name):
    make, words = UNSEEN[name]
    wish = '[{"page": 0, "edge": 100, "words": ""}]'
    why = _run_reader(tmp_path, "webapp.files.previews", name, make(), wish)["error"]
    assert words in str(why) and (why,) in all_texts(), "readers see it in their language"


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_document_is_refused_before_it_is_opened(name):
    make, words = REFUSED[name]
    with pytest.raises(FileRejected, match=words):
        _kind(name, make())


def test_what_takes_all_memory_takes_only_its_own_process_along(tmp_path):
    """A module that wants four gigabytes within the limits of reading."""
    module = tmp_path / "greedy.py"
    module.write_text(
        "import sys\nsys.path.insert(0, '.')\nfrom webapp.files import text_extraction as it\n"
        "it.read = lambda data, kind: [bytearray(4 * 1024**3)]\nit.main(*sys.argv[1:3])\n"
    )
    (tmp_path / "content").write_bytes(b"x")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = subprocess.run(
        [sys.executable, str(module), str(tmp_path / "content"), "text/plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == '{"error": "The file needs too much memory to be read."}'
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024
