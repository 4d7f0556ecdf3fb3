"""The marks by which models set off thoughts, tool calls and the ends of turns: `dialects.json`; pure.

A new one is a line there, and a case in tests/llm/dialects.json. `thoughts` and `calls` are pairs of an opening and a
closing mark (null: the end of the JSON value, or of the answer), `answers` of marks around the answer
behind a thought, `ends` end the model's turn, `turns` begin the person's, `marks` mean nothing,
`channels` begin a header of OpenAI's harmony format; `finishes` are other servers' words for why an answer ended.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

THOUGHTS: dict[str, str] = {opens.lower(): closes.lower() for opens, closes in _DATA["thoughts"]}
BARE_THOUGHT: tuple[str, str] = tuple(_DATA["bare_thought"])
"""What is left of a thought, at the beginning of an answer, if a server drops the special tokens around it."""
ANSWERS: dict[str, str] = dict(_DATA["answers"])
ENDS = frozenset(mark.lower() for mark in _DATA["ends"])
TURNS = frozenset(mark.lower() for mark in _DATA["turns"])
CHANNELS = frozenset(mark.lower() for mark in _DATA["channels"])
MARKS = frozenset(mark.lower() for mark in _DATA["marks"])
CALLS: dict[str, str | None] = dict(_DATA["calls"])
_FINISHES = {word: reason for reason, words in _DATA["finishes"].items() for word in words}


def finish_of(reason: str) -> str:
    """Return why an answer ended in OpenAI's words, whatever a server calls it; `error` if it was broken off."""
    return next((_FINISHES[word] for word in re.findall(r"\w+", reason.lower()) if word in _FINISHES), reason)


def any_of(marks: Iterable[str]) -> str:
    """Return a pattern for any of some marks, the longest first; a tag may have attributes."""
    return "|".join(map(_pattern, sorted(marks, key=len, reverse=True)))


def _pattern(mark: str) -> str:
    return rf"{re.escape(mark[:-1])}(?:\s[^<>\n]{{0,200}})?>" if re.fullmatch(r"<[\w:]+>", mark) else re.escape(mark)


def may_begin(text: str, marks: Iterable[str]) -> bool:
    """Return whether a text may be the beginning of one of some marks, or of a tag with attributes."""
    low = text.lower()
    is_tag = re.fullmatch(r"<[\w:]+\s[^<>\n]*", low) is not None
    return any(mark.startswith(low) or (is_tag and low.startswith(f"{mark[:-1]} ")) for mark in marks)


def overlap_of(text: str, mark: str) -> int:
    """Return how many characters at the end of a text may be the beginning of a mark."""
    return next((size for size in range(min(len(mark) - 1, len(text)), 0, -1) if mark.startswith(text[-size:])), 0)
