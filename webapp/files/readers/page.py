"""HTML as a browser reads it, whatever is broken in it, and books made of it."""

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from webapp.files.readers.result import Pages, Unreadable, whole_words
from webapp.files.readers.text import decode_as, encoding_with_zeros

_HIDDEN = (
    "script, style, template, svg title, annotation, object, iframe, head > *:not(title), [hidden], "
    "[style*='display:none' i], [style*='display: none' i]"
)
_BLOCKS = frozenset(
    (
        *("p", "div", "section", "article", "ul", "ol", "dl", "table", "blockquote", "header", "footer", "main", "nav"),
        *("aside", "figure", "figcaption", "details", "summary", "form", "fieldset", "address", "pre", "hr", "center"),
    )
)
_BREAKS = frozenset(["br", "tr", "dt", "dd", "option", "legend", "caption", "select", "textarea"])
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp")
_NO_TEXT = re.compile(r"\.(?:ncx|css|png|jpe?g|gif|svg|webp|otf|ttf|woff2?|mp[34]|js)\Z", re.IGNORECASE)
_HEADING = re.compile(r"h([1-6])\Z")
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,200}encoding)\s*=\s*["']?(?!utf-?(?:16|32))([\w.:-]+)""", re.IGNORECASE
)
_EMPTY = re.compile(r"<(title|script|style|textarea|iframe|object|template|noscript|select)\b([^<>]*)/>", re.IGNORECASE)
"""Elements of XHTML that are closed at once: all that follows would be in one, and hidden."""
_RAW = [(re.compile("<!--"), re.compile("-->"))] + [
    (re.compile(rf"<{name}\b[^<>]*>{text}", re.IGNORECASE), re.compile(f"</{name}", re.IGNORECASE))
    for names, text in (("title textarea iframe noframes object template", ""), ("script style", "[^<]*"))
    for name in names.split()
]
"""Marks after which nothing is shown before another mark comes, with what they hide up to the next tag."""
_SPACE = re.compile(r"[ \t\n\r\f]+")
_LINES = re.compile(r"\n{3,}")


def read_page(data: bytes) -> Pages:
    """Read a page."""
    return Pages([text_of_html(decode_page(data))])


def decode_page(data: bytes, *names: str) -> str:
    """Return a page in UTF-8, or in an encoding of these names or its own: many are in UTF-8 under an old name."""
    own = (name.decode() for name in _CHARSET.findall(data[:4_096]))
    return decode_as(data, *([] if data.isascii() else ["utf-8"]), *names, *own)


def text_of_html(html: str, marks: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text as a reader sees it, headings and lists as in Markdown, and marks around tags; pure."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415  # only where HTML is read

    tree = LexborHTMLParser(_close_elements(html))
    for node in tree.css(_HIDDEN):
        node.decompose()
    out: list[str] = []
    body = tree.body
    if body is not None:
        _write(body, out, marks)
    return _LINES.sub("\n\n", whole_words("".join(out))).strip()


def _close_elements(html: str) -> str:
    """Return a page without what its author forgot to close: a browser would hide all the rest."""
    html = _EMPTY.sub(r"<\1\2></\1>", html)
    for opening, closing in _RAW:
        marks = list(opening.finditer(html))
        if marks and not closing.search(html, marks[-1].end()):
            html = html[: marks[-1].start()] + html[marks[-1].end() :]
    return html


def _write(root: Any, out: list[str], marks: Mapping[str, str]) -> None:
    """Write what is below a node; not by recursion, since a page may be nested deeper than that goes."""
    node, is_end = root.child, False
    while node is not None and node.mem_id != root.mem_id:
        mark = "" if node.tag == "code" and _is_preformatted(node) else marks.get(node.tag, "")
        if is_end:
            out += [mark] if mark else []
            if node.tag in _BLOCKS or _HEADING.match(node.tag):
                out.append("\n\n")
        else:
            _begin(node, out)
            out += [mark] if mark else []
            if node.child is not None:
                node = node.child
                continue
        following = node.next
        node, is_end = (node.parent, True) if following is None else (following, False)


def _begin(node: Any, out: list[str]) -> None:
    tag = node.tag
    if tag == "-text":
        text = node.text_content or ""
        out.append(text if _is_preformatted(node) else _SPACE.sub(" ", text))
    elif heading := _HEADING.match(tag):
        out.append("\n\n" + "#" * int(heading[1]) + " ")
    elif tag in _BLOCKS:
        out.append("\n\n")
    elif tag in _BREAKS:
        out.append("\n")
    elif tag == "li":
        out.append("\n- ")
    elif tag in ("td", "th") and out and not out[-1].endswith("\n"):
        out.append(" | ")
    elif tag == "img" and (alt := node.attributes.get("alt")):
        out.append(alt)


def _is_preformatted(node: Any) -> bool:
    above = node.parent if node.parent is None or node.parent.tag != "code" else node.parent.parent
    return above is not None and above.tag in ("pre", "textarea")


def read_book(data: bytes) -> Pages:
    """Read the chapters of an EPUB in the order of its spine."""
    from lxml import etree  # noqa: PLC0415

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            container = etree.fromstring(book.read("META-INF/container.xml"), parser)
            path = container.xpath("string(//*[local-name()='rootfile']/@full-path)")
            package = etree.fromstring(book.read(path), parser)
            items = {item.get("id"): item.get("href", "") for item in package.xpath("//*[local-name()='item']")}
            order = package.xpath("//*[local-name()='itemref']/@idref") or list(items)
            names = [posixpath.join(posixpath.dirname(path), unquote(items[key])) for key in order if key in items]
            names = [posixpath.normpath(name) for name in names]
            chapters = [book.read(name) for name in names if name in book.namelist() and not _NO_TEXT.search(name)]
            pictures = sum(name.lower().endswith(_PICTURES) for name in book.namelist())
    except (KeyError, etree.XMLSyntaxError, zipfile.BadZipFile):
        raise Unreadable("The book is damaged or protected.") from None
    if any(b"\x00" in chapter and not encoding_with_zeros(chapter) for chapter in chapters):  # encrypted
        raise Unreadable("The book is damaged or protected.")
    return Pages([text_of_html(decode_page(chapter)) for chapter in chapters], Counter(picture=pictures))
