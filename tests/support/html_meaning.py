"""What pieces of HTML mean, so that a rendering can be compared with a reference in whatever form.

Differences that every reply has are ignored on purpose, each for a reason:
- headings begin at `h2`, as `h1` belongs to the page, and leave no level out;
- an image is a link with its description (inside a link only its description): it is fetched after a click;
- code has a frame with tools, and colours;
- `~~a~~` is `s` here and `del` in GitHub's reference;
- a task has a symbol instead of a disabled check box;
- links have `target` and `rel`; white space outside code means nothing.
"""

import re
from html.parser import HTMLParser

FIRST_HEADING = 2
_HEADING = re.compile("h[1-6]")
_EMPTY = {"br", "hr", "img", "input"}
_BLOCKS = {
    *("p", "blockquote", "ul", "ol", "li", "hr", "br", "pre", "table", "thead", "tbody", "tr", "th", "td", "task"),
    *(f"h{number}" for number in range(1, 7)),
}
_FRAMES = {"div", "span"}

Part = tuple[str, ...]


def meaning(html: str, *, ours: bool) -> list[Part]:
    """The elements and texts of a piece of HTML, in order; `ours` tells a reply's from a reference's."""
    reader = _Reader(ours)
    reader.feed(html)
    reader.close()
    return _without_loose_space(reader.parts)


class _Reader(HTMLParser):
    def __init__(self, ours: bool):
        super().__init__(convert_charrefs=True)
        self.ours = ours
        self.parts: list[Part] = []
        self._open: list[tuple[str, str]] = []
        self._outline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag not in _EMPTY:
            self._open.append((tag, given.get("class", "")))
        if self._is_inside("code-bar"):
            return
        if _HEADING.fullmatch(tag):
            self._outline = [*(above for above in self._outline if above < tag), tag]
        if tag == "img":
            self._image(given)
        elif tag == "input" or given.get("class") == "task":
            is_done = "checked" in given or given.get("aria-label") == "Done"
            at = len(self.parts) - (self.parts[-1:] == [("p",)])  # before the paragraph or in it is the same
            self.parts.insert(at, ("task", "done" if is_done else "to do"))
        elif tag == "a":
            title = "" if "image-link" in given.get("class", "") else given.get("title", "")
            self.parts.append(("a", given.get("href", ""), title))
        elif tag == "ol":
            self.parts.append(("ol", given.get("start", "1")))
        elif tag in ("th", "td"):
            sides = {given.get("align", ""), *given.get("class", "").split()} & {"left", "center", "right"}
            self.parts.append((tag, *sides))
        elif tag not in _FRAMES:
            self.parts.append((self._name(tag),))

    def handle_endtag(self, tag: str) -> None:
        if tag in _EMPTY:
            return
        is_silent = self._is_inside("code-bar")
        while self._open and self._open.pop()[0] != tag:
            pass
        if not is_silent and tag not in _FRAMES:
            self.parts.append((f"/{self._name(tag)}",))

    def handle_data(self, data: str) -> None:
        if self._is_inside("code-bar") or self._is_inside("task"):
            return
        in_code = any(tag == "pre" for tag, _ in self._open)
        self._text(data if in_code else re.sub(r"\s+", " ", data))

    def _image(self, given: dict[str, str]) -> None:
        source, words = given.get("src", ""), given.get("alt", "")
        if any(tag == "a" for tag, _ in self._open):
            self._text(words)
            return
        self.parts.append(("a", source, ""))
        self._text(words or source)
        self.parts.append(("/a",))

    def _text(self, text: str) -> None:
        if self.parts and self.parts[-1][0] == "text":
            text = self.parts.pop()[1] + text
        self.parts.append(("text", text))

    def _is_inside(self, css_class: str) -> bool:
        return any(given == css_class for _, given in self._open)

    def _name(self, tag: str) -> str:
        if tag == "del":
            return "s"
        is_reference_heading = not self.ours and _HEADING.fullmatch(tag)
        return f"h{min(6, len(self._outline) + FIRST_HEADING - 1)}" if is_reference_heading else tag


def _without_loose_space(parts: list[Part]) -> list[Part]:
    kept: list[Part] = []
    in_code = False
    for number, part in enumerate(parts):
        in_code = part[0] == "pre" or (in_code and part[0] != "/pre")
        if part[0] != "text" or in_code:
            kept.append(part)
            continue
        text = part[1]
        if number == 0 or parts[number - 1][0].strip("/") in _BLOCKS:
            text = text.lstrip()
        if number + 1 == len(parts) or parts[number + 1][0].strip("/") in _BLOCKS:
            text = text.rstrip()
        if text:
            kept.append(("text", text))
    return kept
