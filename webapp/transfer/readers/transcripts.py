"""Conversations as text: a label on a line of its own, marked or not, or before a colon, says who speaks."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from webapp.transfer.readers.turns import FIELDS, SPEAKERS, words_of

_MARKS = "#*_> "
_UNSEEN = "\u200e\u200f\ufeff"
"""What messengers put before a name and a text for their directions."""
_MAX_LABEL = 40
_ITEM = re.compile(r"(?:[-*+•·]|\d{1,3}[.)])\s")
_RULE = re.compile(r"\n[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|={3,}[ \t]*)\Z")
_STAMP = re.compile(r"[\[(]?[\d./:,\s-]{0,30}\d:\d\d[\d:.,]{0,9}(?:\s?[AaPp]\.?[Mm]\.?)?[\])]?\s?[-–]?\s(?=\w)")
"""The time before a label, as messengers write it."""
_WHEN = re.compile(r"\A\d[\d./-]{5,9},? \d{1,2}:\d\d[\d:]{0,6}(?:\s?[AaPp]\.?[Mm]\.?)?\n\s*")
"""The time alone on the line below a label."""
_COLON = re.compile(r"(?<!\d):|:(?!\d)")
_TOKEN = re.compile(r"<\|\w{1,40}\|>")
"""What stands around a speaker and a text where a model is given them."""
_CALLOUT = re.compile(r"^>[ \t]?\[!", re.MULTILINE)
_QUOTE = re.compile(r"^>[ \t]?(?:\[![\w-]{1,40}\][ \t]?)?", re.MULTILINE)
_WORDS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"[\d(\[·]")
"""What begins the number or time after a label's name."""
_SESSION = re.compile(r"^# aider chat started at (\d[\d: -]{15,20})$", re.MULTILINE)
_ASKED = re.compile(r"((?:^#### .*\n?)+)", re.MULTILINE)
_PROGRAM = re.compile(r"^>.*\n?", re.MULTILINE)
"""What Aider itself says; in its history the person's words are headings, and a model's are what is left."""


class _Label(NamedTuple):
    style: str
    name: str
    rest: str


def talks_of(text: str, name: str) -> list[dict[str, Any]]:
    """Return the conversations in a text: the sessions in a history of Aider, else the one with `name`."""
    _, *sessions = _SESSION.split(text)
    if sessions:
        bodies = (_PROGRAM.sub("", body) for body in sessions[1::2])
        talks = [
            {"created_at": at, "messages": [*_exchanges(body)]} for at, body in zip(sessions[::2], bodies, strict=True)
        ]
        return [talk for talk in talks if talk["messages"]]
    turns = turns_of(text)
    return [{"title": title_of(text) or name, "messages": turns}] if turns else []


def _exchanges(session: str) -> Iterator[dict[str, str]]:
    """Yield the turns of a session, without commands that no model answered."""
    _, *parts = _ASKED.split(session)
    for asked, said in zip(parts[::2], map(str.strip, parts[1::2]), strict=True):
        words = "\n".join(line[5:].rstrip() for line in asked.splitlines())
        if said or not words.startswith("/"):
            yield {"role": "user", "content": words}
        if said:
            yield {"role": "assistant", "content": said}


def turns_of(text: str) -> list[dict[str, str]]:
    """Return the turns of a transcript, if its labels tell who is the person; none of another text, as of lists."""
    text = _TOKEN.sub("\n", text)
    lines = (_QUOTE.sub("", text) if _CALLOUT.search(text) else text).splitlines()
    labels, bare = _labels(lines)
    labels |= bare if any(words_of(label.name) & {*FIELDS.models} for label in bare.values()) else {}
    known = dict.fromkeys(label.style for label in labels.values() if words_of(label.name) & {*SPEAKERS})
    looks: dict[str, dict[int, _Label]] = defaultdict(dict)
    for number, label in labels.items():
        looks[label.style][number] = label
    return next(filter(None, (_turns(lines, looks[style]) for style in known)), [])


def _labels(lines: Sequence[str]) -> tuple[dict[int, _Label], dict[int, _Label]]:
    """Return the labels among lines by their places: those with a mark or a colon, and bare ones."""
    labels = {number: label for number, line in enumerate(lines) if (label := _label(line))}
    return labels, _bare_labels({number: line for number, line in enumerate(lines) if number not in labels})


def _bare_labels(lines: Mapping[int, str]) -> dict[int, _Label]:
    """Return the lines that are the name of a speaker, or short and come again."""
    short = {number: line.casefold() for number, line in lines.items() if len(line.strip()) <= _MAX_LABEL}
    names = {number: " ".join(_WORDS.findall(line)) for number, line in short.items() if not _ITEM.match(line.lstrip())}
    counts = Counter(filter(None, names.values()))
    return {n: _Label("line", name, "") for n, name in names.items() if name in SPEAKERS or counts[name] > 1}


def title_of(text: str) -> str:
    """Return the heading that a text begins with; empty if it begins with something else."""
    first = text.lstrip().partition("\n")[0]
    return first.strip(_MARKS) if first.startswith("# ") and not words_of(first) & {*SPEAKERS} else ""


def _turns(lines: Sequence[str], alike: Mapping[int, _Label]) -> list[dict[str, str]]:
    """Return the turns between labels of one look, if some of these are the person's and others a model's."""
    counts = Counter(label.name for label in alike.values())
    # A word before a text is a name only if no more than two come again and again.
    alone = [label.name for label in alike.values() if not label.rest or 2 == len(counts) < len(alike)]
    people, models = _speakers(counts, alone, FIELDS.people), _speakers(counts, alone, FIELDS.models)
    # Where a model is named and no person, what comes first is the person's, if nobody else speaks or it comes again.
    first = [name for name in alone[:1] if len(counts) == 2 or counts[name] > 1]  # noqa: PLR2004
    people = people or {name for name in first if models and name not in models}
    # A list may have a head "User" too, and a reply heads of its own: another name has to come again, as the person's.
    again = [name for name, count in counts.most_common() if count > 1]
    others = [name for name in again if name not in people] if people & {*again} else []
    speakers = {*people, *((models - people) or others[:1])}
    starts = [number for number, label in alike.items() if label.name in speakers]
    if len({alike[number].name in people for number in starts}) < 2:  # noqa: PLR2004  # one side alone
        return []
    turns = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        content = "\n".join([alike[start].rest, *lines[start + 1 : end]]).rstrip()
        role = "user" if alike[start].name in people else "assistant"
        turns.append({"role": role, "content": _WHEN.sub("", _RULE.sub("", content).strip())})
    said = filter(None, (line.strip() for turn in turns for line in turn["content"].splitlines()))
    return turns if not all(map(_ITEM.match, said)) else []


def _speakers(counts: Mapping[str, int], alone: Sequence[str], known: Sequence[str]) -> set[str]:
    """Return the names of labels that are known; else the first with such a word, of those that stand alone."""
    return {*known} & counts.keys() or {*[name for name in alone if words_of(name) & {*known}][:1]}


def is_transcript(text: str) -> bool:
    """Return whether two labels of the same look come again and again, whoever they are."""
    counts = Counter(label[:2] for labels in _labels(text.splitlines()) for label in labels.values())
    styles = [style for (style, _), count in counts.items() if count > 1]
    return len(styles) > len({*styles})


def _label(line: str) -> _Label | None:
    text = line.strip().lstrip(_UNSEEN).replace("：", ":", 1)
    text = text[stamp.end() :] if (stamp := _STAMP.match(text)) else text
    if _ITEM.match(text):
        return None
    bare = text.lstrip(_MARKS)
    style = text[: len(text) - len(bare)].strip()[:5]  # ChatGPT's page has h5 for the person's and h6 for its own
    colon = _COLON.search(bare)
    head, rest = (bare[: colon.start()], bare[colon.end() :]) if colon else (bare, "")
    if style.startswith("#"):
        head, rest = bare, ""
    name = " ".join(_WORDS.findall(_NUMBER.split(head.strip(f":{_MARKS}"), maxsplit=1)[0].casefold()))
    is_label = (style or colon) and 0 < len(name) <= _MAX_LABEL
    return _Label(style, name, rest.lstrip(_MARKS + _UNSEEN)) if is_label else None
