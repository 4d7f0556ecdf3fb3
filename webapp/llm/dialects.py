"""The marks by which models set off thoughts, tool calls and the ends of turns: `dialects.json`; pure.

A new one is a line there, and a case in tests/llm/dialects.json. `thoughts` are an opening mark and its closing ones,
`calls` pairs of both (null: the end of the JSON value, or of the answer), `answers` of marks around the answer behind a
thought, `ends` end the model's turn, `turns` begin the person's, `marks` mean nothing, `channels` begin a header of
OpenAI's harmony format; `finishes` are other servers' words for why an answer ended.
DeepSeek's `｜` and `▁` are read as `|` and `_`, and in the marks of calls a namespace and a plural are passed over.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

_PLAIN = str.maketrans(f"{ascii_uppercase}｜▁", f"{ascii_lowercase}|_")
_SPACE = re.compile(r"\s+")
_SUFFIX = re.compile(r":(?=\w{0,15}\d)\w{1,16}(?=>)")
_NAMESPACE = re.compile(r"(?<=<)(/?)(?:\w{1,20}:|\|\w{1,20}\|)(?!calls?>)(?=\w|\Z)")
"""Before all but a bare `call`, which would be anybody's element without it."""
_PLURAL = re.compile(r"(?<=call|tool)s(?=[_|<>]|\Z)")
_PART = re.compile(r"</?(?:\|\w{0,20}(?:\|\s?)?)?[\w:]{0,40}")

THOUGHTS: dict[str, tuple[str, ...]] = {
    opens.lower(): tuple(mark.lower() for mark in closings) for opens, *closings in _DATA["thoughts"]
}
BARE_THOUGHT: tuple[str, ...] = tuple(_DATA["bare_thought"])
"""What is left of a thought, at the beginning of an answer, if a server drops the special tokens around it."""
ANSWERS: dict[str, str] = dict(_DATA["answers"])
ENDS = frozenset(mark.lower() for mark in _DATA["ends"])
TURNS = frozenset(mark.lower() for mark in _DATA["turns"])
CHANNELS = frozenset(mark.lower() for mark in _DATA["channels"])
MARKS = frozenset(mark.lower() for mark in _DATA["marks"]) | {
    f"{tag[:-1]}{end}" for tag in THOUGHTS if re.fullmatch(r"<\w+>", tag) for end in ("/>", " />")
}
_FINISHES = {word: reason for reason, words in _DATA["finishes"].items() for word in words}


def finish_of(reason: str) -> str:
    """Return why an answer ended in OpenAI's words, whatever a server calls it; `error` if it was broken off."""
    return next((_FINISHES[word] for word in re.findall(r"\w+", reason.lower()) if word in _FINISHES), reason)


def plain(text: str) -> str:
    """Return a text as the marks are written here, character by character: in lower case, and without wide bars."""
    return text.translate(_PLAIN)


def plain_call(text: str) -> str:
    """Return a text as the marks of calls are compared: also without white space, namespaces and plurals."""
    text = _SPACE.sub("", plain(text))
    return _PLURAL.sub("", _NAMESPACE.sub(r"\1", _SUFFIX.sub("", text)))


def may_begin_call(text: str, marks: Iterable[str]) -> bool:
    """Return whether a text may be the beginning of one of some marks of calls, in whichever namespace."""
    low = plain_call(text)
    return any(mark.startswith(low) for mark in marks) or _PART.fullmatch(plain(text)) is not None


def any_of(marks: Iterable[str]) -> str:
    """Return a pattern for any of some marks, the longest first; a tag may have attributes."""
    return "|".join(map(_pattern, sorted(sorted(marks), key=len, reverse=True)))  # the same in every process


def _pattern(mark: str) -> str:
    if re.fullmatch(r"<[\w:]+>", mark):
        return rf"{re.escape(mark[:-1])}(?:\s[^<>\n]{{0,200}})?>"
    return re.escape(mark).replace(r"\|", "[|｜]").replace("_", "[_▁]")


_CLOSINGS = frozenset[str]().union(*THOUGHTS.values())
ALL = (*THOUGHTS, *_CLOSINGS, *ANSWERS, *ANSWERS.values(), *ENDS, *TURNS, *MARKS, *CHANNELS)
MARK = re.compile(
    "|".join(
        f"(?P<{name}>{any_of(marks)})"
        for name, marks in (
            ("void", MARKS),
            ("opens", THOUGHTS),
            ("closes", _CLOSINGS),
            ("answer", ANSWERS),
            ("answered", ANSWERS.values()),
            ("turns", TURNS),
            ("ends", ENDS),
            ("channel", CHANNELS),
        )
    ),
    re.IGNORECASE,
)
"""Any mark but those of calls; the group that matches names its kind."""


def may_begin(text: str, marks: Iterable[str]) -> bool:
    """Return whether a text may be the beginning of one of some marks, or of a tag with attributes."""
    low = plain(text)
    is_tag = re.fullmatch(r"<[\w:]+\s[^<>\n]*", low) is not None
    return any(mark.startswith(low) or (is_tag and low.startswith(f"{mark[:-1]} ")) for mark in marks)


def overlap_of(text: str, mark: str) -> int:
    """Return how many characters at the end of a text may be the beginning of a mark."""
    return next((size for size in range(min(len(mark) - 1, len(text)), 0, -1) if mark.startswith(text[-size:])), 0)


def _closing(mark: str) -> re.Pattern[str]:
    """Return a pattern for a mark that ends a call, in whichever way it is written."""
    parts = [_pattern(part) for part in re.findall(r"</|[^\W_]+|\W|_", mark)]
    pattern = r"\s{0,9}".join(re.sub(r"(?<=call|tool)\Z", "s?", part) for part in parts)
    pattern = pattern.replace("</", r"</(?:\w{1,20}:|[|｜]\w{1,20}[|｜])?").removesuffix(">")
    return re.compile(rf"{pattern}(?::\w{{1,16}})?>" if mark.endswith(">") else pattern, re.IGNORECASE)


CALLS: dict[str, re.Pattern[str] | None] = {}
"""For each opening mark of a call, as `plain_call` returns it, a pattern for the closing one."""
CLOSINGS: dict[str, re.Pattern[str]] = {";": re.compile(";")}
"""Marks that may be left behind a call, in the same form."""
for _opens, _closes in _DATA["calls"]:
    _end = _closing(_closes) if _closes else None
    CALLS[plain_call(_opens)] = _end
    if _end:
        CLOSINGS[plain_call(_closes)] = _end
    if re.fullmatch(r"<\w+>", _opens):
        CALLS[plain_call(f"{_opens[:-1]} name=")] = _end
