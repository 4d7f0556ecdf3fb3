"""Sections of the prompt that a model writes into its reply, as small ones do: taken out of what a person sees; pure.

A section's whole block is hidden; a reply that is nothing else is shown without the marks. In code, fenced or inline,
a mark is text like any other. What is held back is never more than a block that has begun, or the beginning of a mark.
"""

from __future__ import annotations

import re

SECTIONS = ("standing", "known", "summaries", "reference", "file_pages", "tool_result")
"""The marks of this product's prompts that nobody would write by themselves: `<files>` may be somebody's own XML."""
LONGEST = 4_000
"""Characters of a block without an end that are held back; then it was no block."""

_NAMES = "|".join(SECTIONS)
_MARK = re.compile(rf"<(?P<closes>/?)(?P<name>{_NAMES})(?:\s[^<>\n]*)?>")
_TAIL = re.compile(r"</?(?:[a-z_]*|(?P<name>[a-z_]+)\s[^<>\n]{0,200})\Z")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class Echoes:
    """Lets a reply's text through as it arrives, but for sections of the prompt."""

    def __init__(self) -> None:
        self._held = ""
        self._shown: list[str] = []
        self._has_shown = False
        self._hidden: list[str] = []

    def feed(self, text: str) -> str:
        """What of the text so far may be shown."""
        if not self._held and "<" not in text:
            return self._show(text)
        self._held += text
        return self._work(ended=False)

    def end(self) -> str:
        """What was held back, now that nothing more comes."""
        rest = self._work(ended=True)
        return rest if self._has_shown else "\n\n".join(filter(None, self._hidden)) or rest

    def _work(self, *, ended: bool) -> str:
        out = ""
        while found := self._next_mark(out):
            out += self._held[: found.start()]
            block = self._held[found.start() :]
            if found["closes"]:
                self._held = block[len(found[0]) :]
                continue
            close = re.search(rf"</{found['name']}\s*>", block)
            if close is None and not ended and len(block) <= LONGEST:
                self._held = block
                return self._show(out)
            if close is None:
                self._held = block[len(found[0]) :]
                continue
            self._hidden.append(block[len(found[0]) : close.start()].strip())
            self._held = block[close.end() :]
        keep = 0 if ended else self._unsure()
        size = len(self._held) - keep
        out, self._held = out + self._held[:size], self._held[size:]
        return self._show(out)

    def _next_mark(self, out: str) -> re.Match[str] | None:
        """The first mark in what is held that does not stand in code."""
        marks = list(_MARK.finditer(self._held))
        before = "".join([*self._shown, out]) if marks else ""
        return next((mark for mark in marks if not _in_code(before + self._held[: mark.start()])), None)

    def _unsure(self) -> int:
        """How many characters at the end may be the beginning of a mark."""
        tail = _TAIL.search(self._held)
        if tail is None:
            return 0
        name = tail["name"] or tail[0].lstrip("</")
        whole = tail["name"] is not None
        possible = name in SECTIONS if whole else any(section.startswith(name) for section in SECTIONS)
        return len(tail[0]) if possible else 0

    def _show(self, text: str) -> str:
        if self._hidden and not self._has_shown:
            text = text.lstrip("\n")
        self._has_shown = self._has_shown or bool(text.strip())
        self._shown.append(text)
        return text


def _in_code(before: str) -> bool:
    """Whether what follows this text stands in a fence or between backticks."""
    fenced = len(_FENCE.findall(before)) % 2 == 1
    return fenced or before.rpartition("\n")[2].count("`") % 2 == 1
