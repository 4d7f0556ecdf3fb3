"""Splits a document into parts that search can find: by headings and paragraphs, then sentences. Pure."""

import re
from collections.abc import Iterator, Sequence

from webapp.text.sentences import sentences_of

SIZE = 900
"""The most characters of a part; the embedding model reads about 1,000."""
MIN_SIZE = 250
"""A shorter part is continued with the next paragraph, even from another section."""

PAGE_END = "\f"
"""Separates the pages of a document."""

PDF = "application/pdf"
"""The kind of document whose pages can be drawn; `webapp.files`, which has the other kinds, is a layer above spaces."""

NEIGHBOUR_CHARACTERS = 200
"""How many characters of the adjacent pages make a page that is a picture searchable."""
_PICTURE = "[A picture, without text: "
_BLANK = re.compile(r"\n[ \t]*\n+")
_HEADING = re.compile(r"^#{1,6}[ \t]+\S")


def is_picture(size: int, pages: int) -> bool:
    """Return whether a document of this many characters is a picture, or pictured pages: it contains only PAGE_END."""
    return size < pages


def parts_of(content: str, pages: int, title: str, media_type: str | None) -> list[tuple[int | None, str]]:
    """Return the parts of a document that search can find, with pages; a picture is found by the text around it."""
    if not pages:
        return [(None, part) for part in chunks_of(content)]
    if is_picture(len(content), pages):
        return [(None, f"{_PICTURE}{title}]")]
    texts = content.split(PAGE_END)
    parts: list[tuple[int | None, str]] = []
    for page, text in enumerate(texts, 1):
        parts += [(page, part) for part in chunks_of(text)]
        if media_type == PDF and not text.strip():
            parts.append((page, f"{_PICTURE}{title}, page {page}]{_neighbour_texts(texts, page)}"))
    return parts


def shows_page(part: str, page: int | None) -> bool:
    """Return whether a part of a document represents a page that is a picture."""
    return page is not None and part.startswith(_PICTURE)


def _neighbour_texts(texts: Sequence[str], page: int) -> str:
    """Return the end of the page before one without text, and the start of the next: mostly they say what it shows."""
    before = " ".join(texts[page - 2].split())[-NEIGHBOUR_CHARACTERS:].partition(" ")[2] if page > 1 else ""
    after = " ".join(texts[page].split())[:NEIGHBOUR_CHARACTERS].rpartition(" ")[0] if page < len(texts) else ""
    return (f" Before it: … {before}" if before else "") + (f" After it: {after} …" if after else "")


def chunks_of(text: str, size: int = SIZE) -> list[str]:
    """Return a text in parts of up to `size` characters, cut at headings, paragraphs, sentences, words, or anywhere."""
    parts: list[str] = []
    current = ""
    for paragraph in _BLANK.split(text.replace("\r\n", "\n")):
        paragraph = paragraph.strip("\n").rstrip()
        if not paragraph.strip():
            continue
        starts_anew = _HEADING.match(paragraph) is not None and len(current) >= min(MIN_SIZE, size)
        for piece in [paragraph] if len(paragraph) <= size else list(_pieces(paragraph, size)):
            if current and (starts_anew or len(current) + 2 + len(piece) > size):
                parts.append(current)
                current = ""
            starts_anew = False
            current = f"{current}\n\n{piece}" if current else piece
    return [*parts, current] if current else parts


def _pieces(paragraph: str, size: int) -> Iterator[str]:
    """Yield a long paragraph in pieces of whole sentences, each as long as possible."""
    current, end = "", 0
    for place in sentences_of(paragraph):
        gap = "\n" if "\n" in paragraph[end : place.start] else " "
        end = place.end
        for part in _words(paragraph[place.start : end], size):
            if current and len(current) + 1 + len(part) > size:
                yield current
                current = ""
            current = f"{current}{gap}{part}" if current else part
            gap = " "
    if current:
        yield current


def _words(sentence: str, size: int) -> Iterator[str]:
    """Yield a long sentence in pieces of whole words."""
    rest = sentence.strip()
    while len(rest) > size:
        index = rest.rfind(" ", size // 2, size + 1)
        index = index if index > 0 else size
        yield rest[:index].rstrip()
        rest = rest[index:].lstrip()
    if rest:
        yield rest
