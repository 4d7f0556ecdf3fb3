"""Conversations as text: a label on a line of its own, or before a colon, says who speaks."""

import re
from collections import Counter
from typing import NamedTuple

from webapp.transfer.readers.turns import MODELS, PEOPLE

_MARKS = "#*_ "
_MAX_LABEL = 40
_ITEM = re.compile(r"(?:[-*+•·]|\d{1,3}[.)])\s")
_RULE = re.compile(r"\n[ \t]*(?:-{3,}|\*{3,}|={3,})[ \t]*\Z")


class _Label(NamedTuple):
    style: str
    name: str
    rest: str


def turns_of(text: str) -> list[dict[str, str]]:
    """Return the turns of a transcript, if its labels tell who is the person; none of another text, as of lists."""
    lines = text.splitlines()
    labels = {number: label for number, line in enumerate(lines) if (label := _label(line))}
    style = next((label.style for label in labels.values() if label.name in PEOPLE), None)
    alike = {number: label for number, label in labels.items() if label.style == style}
    counts = Counter(label.name for label in alike.values())
    # A list may have a head "User" too, and a reply heads of its own: another name has to come again, as the person's.
    again = [name for name, count in counts.most_common() if count > 1]
    others = [name for name in again if name not in PEOPLE] if {*PEOPLE} & {*again} else []
    speakers = {*PEOPLE, *({*MODELS} & counts.keys() or others[:1])}
    starts = [number for number, label in alike.items() if label.name in speakers]
    turns = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        content = "\n".join([alike[start].rest, *lines[start + 1 : end]]).rstrip()
        role = "user" if alike[start].name in PEOPLE else "assistant"
        turns.append({"role": role, "content": _RULE.sub("", content).strip()})
    said = filter(None, (line.strip() for turn in turns for line in turn["content"].splitlines()))
    return turns if len({turn["role"] for turn in turns}) > 1 and not all(map(_ITEM.match, said)) else []


def is_transcript(text: str) -> bool:
    """Return whether two labels of the same look come again and again, whoever they are."""
    counts = Counter(label[:2] for line in text.splitlines() if (label := _label(line)))
    styles = [style for (style, _), count in counts.items() if count > 1]
    return len(styles) > len({*styles})


def _label(line: str) -> _Label | None:
    text = line.strip().replace("：", ":", 1)
    if _ITEM.match(text):
        return None
    bare = text.lstrip(_MARKS)
    style = text[: len(text) - len(bare)].strip()
    head, colon, rest = bare.partition(":")
    if style.startswith("#") or not colon:
        head, rest = bare, ""
    name = head.strip(f":{_MARKS}").partition(" · ")[0].casefold()
    return _Label(style, name, rest.lstrip(_MARKS)) if (style or colon) and 0 < len(name) <= _MAX_LABEL else None
