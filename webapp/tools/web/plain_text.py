"""A page as text, in a process of its own: `python -m webapp.tools.web.plain_text CHARSET KIND`, the page on its input.

Writes one JSON line: {"title", "text"}. A page made to be slow or to use up memory harms only this process.
"""

import html
import json
import re
import resource
import sys

from webapp.files.readers.page import decode_page, text_of_html

SECONDS, MEMORY = 5, 512 * 1024**2
HTML_KINDS = ("text/html", "application/xhtml+xml")
KINDS = (*HTML_KINDS, "text/plain", "text/markdown", "application/json", "text/csv", "application/xml", "text/xml")
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{1,1000})", re.IGNORECASE)


def main(charset: str, kind: str) -> None:
    """Read the page and write its title and text."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.stdout.write(json.dumps(page_of(sys.stdin.buffer.read(), charset, kind)))


def page_of(data: bytes, charset: str, kind: str) -> dict[str, str]:
    """Title and text of a page of one of KINDS."""
    text = decode_page(data, charset)
    if kind not in HTML_KINDS:
        return {"title": "", "text": text.strip()}
    title = _TITLE.search(text[:200_000])
    return {"title": " ".join(html.unescape(title[1]).split()) if title else "", "text": text_of_html(text)}


def text_of(snippet: str) -> str:
    """Return a few words that may contain tags, without those."""
    return html.unescape(re.sub(r"<[^<>]{0,200}>", "", snippet))


if __name__ == "__main__":
    main(*sys.argv[1:3])
