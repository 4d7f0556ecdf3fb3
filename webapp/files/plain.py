"""The text of an HTML page, with its paragraphs, headings, lists and tables; scripts and styles are left out; pure."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

_BLOCKS = {"p", "div", "section", "article", "ul", "ol", "table", "blockquote", "header", "footer", "main"}
_LEFT_OUT = {"script", "style", "noscript", "template", "head"}


def text_of_html(html: str) -> str:
    """The text as a reader sees it, headings and lists as in Markdown."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return re.sub(r"\n{3,}", "\n\n", "".join(reader.out)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in _LEFT_OUT:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.out.append("\n\n")
        elif tag in ("br", "tr"):
            self.out.append("\n")
        elif tag == "li":
            self.out.append("\n- ")
        elif len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal():
            self.out.append("\n\n" + "#" * int(tag[1]) + " ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _LEFT_OUT:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS or (len(tag) == 2 and tag[0] == "h" and tag[1].isdecimal()):
            self.out.append("\n\n")
        elif tag in ("td", "th"):
            self.out.append(" | ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.out.append(re.sub(r"\s+", " ", data))
