"""The prompt's own section tags in a reply, as small models echo them; pure. In code they are somebody's own text."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_TICKS = re.compile(r"`+|\n|[^`\n]+")


@dataclass(frozen=True, slots=True)
class Code:
    """The state of a text after what was said so far: within code, inline or fenced, or in plain text."""

    opened: int = 0  # the number of backticks that opened it; 0 outside code
    ticks: int = 0  # backticks at the very end, of a run that may continue
    ends_line: bool = False

    def after(self, text: str) -> Code:
        if not (self.opened or self.ticks) and "`" not in text:
            return self
        state = self
        for part in _TICKS.findall(text):
            if part[0] == "`":
                state = Code(state.opened, state.ticks + len(part))
                continue
            opened = state._settled()
            if part == "\n" and state.ends_line and opened < 3:
                opened = 0  # inline code ends with its paragraph
            state = Code(opened, ends_line=part == "\n" or (state.ends_line and part.isspace()))
        return state

    def __bool__(self) -> bool:
        return bool(self._settled())

    def _settled(self) -> int:
        if not self.ticks:
            return self.opened
        if not self.opened:
            return self.ticks
        closes = self.ticks == self.opened or self.ticks > self.opened >= 3
        return 0 if closes else self.opened


class SectionTags:
    """Tells whether one of our tags begins at a `<`, and remembers which were hidden."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def size_at(self, text: str, at: int, ended: bool) -> int | None:
        """The length of the tag at this place; 0 if it is none of ours, None if that cannot be told yet."""
        if (found := _TAG.match(text, at)) and len(found[0]) <= _LONGEST:
            return self._taken(found) if found["end"] or ended else None
        rest = text[at : at + _LONGEST]
        if ended or len(rest) == _LONGEST or any(mark in rest[1:] for mark in "<>\n"):
            return 0
        begins = rest.startswith(_WITH_ATTRIBUTES) or any(start.startswith(rest) for start in _BEGINNINGS)
        return None if begins else 0

    def _taken(self, found: re.Match[str]) -> int:
        if name := found["opens"]:
            self._open[name] = self._open.get(name, 0) + 1
        elif name := found["closes"]:
            if not self._open.get(name):
                return 0  # part of somebody else's `<item>`
            self._open[name] -= 1
        return len(found[0])
