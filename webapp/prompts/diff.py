"""The differences between two texts, line by line and, within a changed line, word by word; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a comparison: `kind` is same, removed or added; `parts` are (text, changed)."""

    kind: str
    parts: tuple[tuple[str, bool], ...]

    @property
    def text(self) -> str:
        """Return the whole line."""
        return "".join(part for part, _ in self.parts)


def compare(before: str, after: str) -> list[Line]:
    """Return all lines of both texts, in order: common ones once, changed ones first as removed, then as added."""
    old, new = before.split("\n"), after.split("\n")
    lines: list[Line] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [Line("same", ((line, False),)) for line in old[i1:i2]]
            continue
        pairs = list(zip_longest(old[i1:i2], new[j1:j2]))
        lines += [Line("removed", _parts(line, other)) for line, other in pairs if line is not None]
        lines += [Line("added", _parts(line, other)) for other, line in pairs if line is not None]
    return lines


def _parts(line: str, other: str | None) -> tuple[tuple[str, bool], ...]:
    """Return the line in pieces, marking those that the other line lacks."""
    if other is None:
        return ((line, False),)
    words, others = _WORDS.findall(line), _WORDS.findall(other)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if len(words) * len(others) > 250_000 or matcher.quick_ratio() < 0.4:
        return ((line, False),)
    return _join_words([(word, tag != "equal") for tag, i1, i2, *_ in matcher.get_opcodes() for word in words[i1:i2]])


def _join_words(words: Sequence[tuple[str, bool]]) -> tuple[tuple[str, bool], ...]:
    parts: list[tuple[str, bool]] = []
    for word, is_changed in words:
        if parts and parts[-1][1] == is_changed:
            parts[-1] = (parts[-1][0] + word, is_changed)
        else:
            parts.append((word, is_changed))
    return tuple(parts)
