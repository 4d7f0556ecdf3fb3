"""The prompt's own section tags in a reply, as small models echo them; pure."""

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

_BARE = "|".join(SECTION_TAGS)
_OWN_ATTRIBUTES = r'item n="|said on="|file name="|page (?:n|file)="|tool_result from="'
_TAG = re.compile(
    rf"<(?:/(?:{_BARE}|(?P<closes>item|file|page))\s*|(?:{_BARE})\s*|"
    rf"(?P<opens>(?={_OWN_ATTRIBUTES})\w+)[^<>\n]{{0,200}})(?P<end>>|\Z)"
)
_WITH_ATTRIBUTES = ('<item n="', '<said on="', '<file name="', '<page n="', '<page file="', '<tool_result from="')
_BEGINNINGS = (
    *(f"<{tag}" for tag in SECTION_TAGS),
    *(f"</{tag}" for tag in (*SECTION_TAGS, "item", "file", "page")),
    *_WITH_ATTRIBUTES,
)
_LONGEST = 300


class SectionTags:
    """Tells whether one of our tags begins at a `<`, and remembers which were hidden."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def size_at(self, text: str, index: int, ended: bool) -> int | None:
        """Return the length of the tag at this place; 0 if it is none of ours, None if that cannot be told yet."""
        if (match := _TAG.match(text, index)) and len(match[0]) <= _LONGEST:
            return self._size_of_tag(match) if match["end"] or ended else None
        rest = text[index : index + _LONGEST]
        if ended or len(rest) == _LONGEST or any(mark in rest[1:] for mark in "<>\n"):
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
