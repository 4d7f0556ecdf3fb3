"""Turns pages that a reply names into links to them, with the words it quotes; the form of pages in a prompt; pure."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape, unescape

from webapp.text.tokens import estimate_tokens

_PAGE = re.compile(
    r"\b(?:pages?|pp?\.|Seiten?|S\.|página|págs?\.|pagina|pag\.)(?:\s|&nbsp;)*(?P<page>\d{1,4})\b|第\s*(?P<other>\d{1,4})\s*页",
    re.IGNORECASE,
)
_TAGS = re.compile(r"(<[^>]*+(?:>|\Z))")
_CLOSED = ("a", "code", "pre")
_BLOCKS = ("p", "li", "td", "th", "h3", "h4", "h5", "h6", "blockquote")
_QUOTED = re.compile(r"“([^“”]{6,300})”|„([^„“]{6,300})“|«([^«»]{6,300})»|\"([^\"]{6,300})\"")
MAX_PAGE_DISTANCE = 60
"""The most characters between the name of a file and its page."""
MAX_DISTANCE = 600
"""How many characters back to look for quoted words."""


@dataclass(frozen=True, slots=True)
class Citable:
    """A file whose pages a reply may name; for a space's document, the document's id, and it must be named."""

    file_id: int
    name: str
    pages: int
    space_id: int | None = None


Link = Callable[[Citable, int, str], str]
"""The URL of a page of a file, with certain words highlighted."""


def mentions_page(text: str) -> bool:
    """Return whether a text may name a page; cheap."""
    return _PAGE.search(text) is not None


def link_citations(html: str, files: Sequence[Citable], link: Link) -> str:
    """Return sanitised HTML in which every named page of these files becomes a link, except in code and links."""
    pieces = _TAGS.split(html)
    depth, plain, out = 0, "", []
    for number, piece in enumerate(pieces):
        if piece.startswith("<"):
            name = piece.strip("</>").partition(" ")[0].lower()
            if name in _CLOSED:
                depth += -1 if piece.startswith("</") else 1
            if name in _BLOCKS:
                plain += "\n"
            out.append(piece)
            continue
        after = unescape("".join(part for part in pieces[number + 1 : number + 6] if not part.startswith("<")))
        out.append(piece if depth > 0 else _link_pages(piece, plain, after[:MAX_PAGE_DISTANCE], files, link))
        plain = (plain + unescape(piece))[-2 * MAX_DISTANCE :]
    return "".join(out)


def _link_pages(piece: str, before: str, after: str, files: Sequence[Citable], link: Link) -> str:
    def replaced(match: re.Match[str]) -> str:
        page = int(match["page"] or match["other"])
        left = before + unescape(piece[: match.start()])
        file = _nearest_file(left, unescape(piece[match.end() :]) + after, files)
        if file is None or not 1 <= page <= file.pages:
            return match[0]
        quoted = [next(filter(None, words)) for words in _QUOTED.findall(left.rpartition("\n")[2][-MAX_DISTANCE:])]
        url = link(file, page, " ".join(quoted[-1].split()).strip(" .…,;") if quoted else "")
        return f'<a class="page-link" href="{escape(url)}">{match[0]}</a>'

    return _PAGE.sub(replaced, piece)


def _nearest_file(left: str, right: str, files: Sequence[Citable]) -> Citable | None:
    """Return the file whose name is nearest to a page; otherwise the only attached file, if there is one."""
    before, after = left.rpartition("\n")[2][-MAX_PAGE_DISTANCE - 200 :], right[: MAX_PAGE_DISTANCE + 200]
    best: tuple[int, Citable] | None = None
    for file in files:
        index = before.rfind(file.name)
        gaps = [len(before) - index - len(file.name)] if index >= 0 else []
        if (index := after.find(file.name)) >= 0:
            gaps.append(index + 1)
        gap = min(gaps, default=MAX_PAGE_DISTANCE + 1)
        if gap <= MAX_PAGE_DISTANCE and (best is None or gap < best[0]):
            best = (gap, file)
    if best is not None:
        return best[1]
    attached = [file for file in files if file.space_id is None]
    return attached[0] if len(attached) == 1 else None


def split_around(text: str, words: str) -> tuple[str, str, str]:
    """Return a text before, at and after some words, whatever their case and spaces; all before if they are missing."""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    match = re.search(pattern, text, re.IGNORECASE) if pattern else None
    if match is None:
        return text, "", ""
    return text[: match.start()], match[0], text[match.end() :]


def page_block(number: int, text: str) -> str:
    """Return a page with its number marked around it."""
    return f'<page n="{number}">\n{text}\n</page>'


def tokens_of_page(number: int, text: str) -> int:
    """Return the tokens a page takes, including the marks; a high estimate."""
    return estimate_tokens(page_block(number, text) + "\n")
