"""Tags of the sections of our own prompts: in texts, which cannot open or close one, and in what a model says; pure."""

import re

SECTION_TAGS = (
    "known",
    "summaries",
    "reference",
    "request",
    "client",
    "files",
    "file_pages",
    "said",
    "tool_result",
)
"""Sections of a reply's prompt, whose tags are never shown."""
_OWN_TAGS = "|".join((*SECTION_TAGS, "context", "item", "file", "page", "message", "earlier_summary", "known_facts"))
"""With those around and inside them, and those of other prompts."""
_OWN = re.compile(rf"<(?=\s*/?\s*(?:{_OWN_TAGS})\b)", re.IGNORECASE)
OWN_LINE = re.compile(
    rf"^[ \t]*(?P<tag></?(?:{_OWN_TAGS})(?:\s[^<>\n]{{0,400}})?>)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
"""A line with nothing but one of these tags."""


def escape_own_tags(text: str) -> str:
    """Return a text that neither opens nor closes a section; other tags stay, as in somebody's code."""
    return _OWN.sub("&lt;", text)


_BARE = "|".join(SECTION_TAGS)
_WITH_ATTRIBUTES = ('<item n="', '<said on="', '<file name="', '<page n="', '<page file="', '<tool_result from="')
_TAG = re.compile(
    rf"<(?:/(?:{_BARE}|(?P<closes>item|file|page))\s*|(?:{_BARE})\s*|"
    rf"(?P<opens>(?={'|'.join(mark[1:] for mark in _WITH_ATTRIBUTES)})\w+)[^<>\n]{{0,200}})(?P<end>>|\Z)"
)
_BEGINNINGS = (
    *(f"<{tag}" for tag in SECTION_TAGS),
    *(f"</{tag}" for tag in (*SECTION_TAGS, "item", "file", "page")),
    *_WITH_ATTRIBUTES,
)
_MAX_TAG_LENGTH = 300


class SectionTags:
    """Tells whether one of our tags begins at a `<`, and remembers which were hidden."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def size_at(self, text: str, index: int, ended: bool) -> int | None:
        """Return the length of the tag at this place; 0 if it is none of ours, None if that cannot be told yet."""
        if (match := _TAG.match(text, index)) and len(match[0]) <= _MAX_TAG_LENGTH:
            return self._size_of_tag(match) if match["end"] or ended else None
        rest = text[index : index + _MAX_TAG_LENGTH]
        if ended or len(rest) == _MAX_TAG_LENGTH or any(mark in rest[1:] for mark in "<>\n"):
            return 0
        is_beginning = rest.startswith(_WITH_ATTRIBUTES) or any(start.startswith(rest) for start in _BEGINNINGS)
        return None if is_beginning else 0

    def _size_of_tag(self, match: re.Match[str]) -> int:
        if name := match["opens"]:
            self._open[name] = self._open.get(name, 0) + 1
        elif name := match["closes"]:
            if not self._open.get(name):
                return 0  # part of somebody else's `<item>`
            self._open[name] -= 1
        return len(match[0])
