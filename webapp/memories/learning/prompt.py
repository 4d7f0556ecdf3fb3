"""The messages of the one extraction call, built from plain data within a token budget.

The user message is a sequence of sections, each a heading and then one JSON object a line, so that no text of a user
can pass for a heading or for another speaker:

    # Profile
    {"name": "Alex"}
    # Known memories
    {"memory": 1, "type": "fact", "category": "identity", "key": "identity/name", "value": "Alex",
     "date": "2026-05-03", "text": "…"}
    # Open points
    {"point": 1, "title": "…", "goals": "…", "known": ["…"]}
    # Conversation
    {"context": "assistant", "text": "…"}
    {"message": 1, "role": "user", "date": "2026-05-04", "text": "…"}
    {"message": 2, "role": "user", "date": "2026-05-04", "continued": true, "text": "…"}

On one line each. A message of several sentences is shown in parts, each with a number. Dates let "until Friday" be
told as a day, and "next month" as a month; what was imported without one has none. Empty sections are left out,
`# Conversation` is always last. Numbers count from 1 within the call; database ids never appear.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from webapp.i18n.dates import is_dated
from webapp.memories.rules.state import KnownMemory, MemoryRef, SourceMessage
from webapp.text.provenance import Spans, spans_of_others
from webapp.text.sentences import sentences_of
from webapp.text.tokens import estimate_tokens, shorten

PROFILE, MEMORIES, POINTS, CONVERSATION = "# Profile", "# Known memories", "# Open points", "# Conversation"
SECTIONS = (PROFILE, MEMORIES, POINTS, CONVERSATION)
# What is known may take up this share of the room, so that a large memory cannot crowd out what the user just said.
KNOWN_SHARE = 0.4
_MIN_TEXT = 40


@dataclass(frozen=True)
class ConversationLine:
    """A message of the conversation, oldest first. Those up to the watermark are `is_new=False`: context only."""

    message_id: int
    role: str
    content: str
    said_at: datetime
    is_new: bool = True
    spans: tuple[tuple[int, int, str], ...] = ()
    """What of it is known not to be typed."""
    outside: tuple[str, ...] = ()
    """What tools answered from outside while a reply was written: not shown, and nobody's evidence."""
    redact: Callable[[str, Spans], str] = lambda text, _: text
    """Takes out of its words, and the spans in them, what was forgotten."""

    @cached_property
    def text(self) -> str:
        """Return the line's words as the model reads them."""
        return self.redact(self.content, self.spans)


@dataclass(frozen=True)
class OpenPoint:
    """A journey's point by `key`: open, or settled and to be added to or corrected."""

    title: str
    goals: str = ""
    known: tuple[str, ...] = ()
    description: str = ""
    criteria: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    is_settled: bool = False
    key: int = 0


@dataclass(frozen=True)
class ExtractionCall:
    """The messages to send, and what is needed to read the answer.

    `sources` are the numbered user messages (or parts) in full, `context` what others said, `foreign` what of it came
    from outside. `evidence_tokens` counts the numbered messages. `covers_through` is the message id for the watermark;
    `is_partial`: newer ones wait. Without evidence (`is_needed` is false) only the watermark moves.
    """

    messages: tuple[dict[str, str], ...]
    sources: tuple[SourceMessage, ...]
    context: tuple[str, ...]
    foreign: tuple[str, ...]
    numbered: Mapping[int, MemoryRef]
    points: int
    covers_through: int | None
    is_partial: bool
    evidence_tokens: int = 0

    @property
    def is_needed(self) -> bool:
        """Return whether there is anything that the user said."""
        return any(source.role == "user" for source in self.sources)


def build_extraction(
    lines: Sequence[ConversationLine],
    memories: Sequence[KnownMemory] = (),
    profile: Mapping[str, Any] | None = None,
    points: Sequence[OpenPoint] = (),
    *,
    instructions: str,
    budget: int = 6000,
    limit: int | None = None,
    zone: tzinfo = UTC,
) -> ExtractionCall:
    """Fit the call into `budget` tokens, with days of the user's time zone.

    First what is known, within `KNOWN_SHARE`: the profile, the points, `memories` in order. Then the oldest new user
    messages without a gap, at most `limit`; then the latest context. A first message too large by itself is shortened
    with a visible mark. Raises ValueError if not even the instructions and a few words fit.
    """
    room = budget - estimate_tokens(instructions) - sum(estimate_tokens(f"{name}\n") for name in SECTIONS)
    if room < 3 * _MIN_TEXT:
        raise ValueError(f"a budget of {budget} tokens has no room for a message beside the instructions")
    known = _fit_known(profile or {}, points, memories, int(room * KNOWN_SHARE), zone)
    room -= sum(_cost(row) for rows in known.values() for row in rows)

    spoken = [line for line in lines if line.is_new and line.role == "user"]
    evidence = _fit_evidence(spoken, room, limit, zone)
    room -= sum(_cost(row) for message in evidence.values() for row in message.rows)
    is_partial = len(evidence) < len(spoken)
    covers_through = max(evidence if is_partial else (line.message_id for line in lines), default=None)

    others = [
        line
        for line in reversed(lines)
        if line.message_id not in evidence and (not is_partial or line.message_id < (covers_through or 0))
    ]
    shown = _fit([_row({"context": line.role, "text": line.text}) for line in others], room)
    latest = zip(others, shown, strict=False)
    context = {line.message_id: [row] for line, row in latest}
    rows = {message_id: message.rows for message_id, message in evidence.items()} | context
    numbered = [line for line in spoken if line.message_id in evidence for _ in evidence[line.message_id].rows]
    sections = known | {CONVERSATION: [row for line in lines for row in rows.get(line.message_id, ())]}
    return ExtractionCall(
        messages=({"role": "system", "content": instructions}, {"role": "user", "content": _join(sections)}),
        sources=tuple(
            SourceMessage(number, line.message_id, "user", line.content, line.said_at, line.spans)
            for number, line in enumerate(numbered, 1)
        ),
        context=tuple(
            text
            for line in lines
            for text in ((line.content,) if line.message_id in context and line.role != "user" else ()) + line.outside
        ),
        foreign=tuple(text for line in lines for text in line.outside),
        numbered={n: memory.ref for n, memory in enumerate(memories[: len(known[MEMORIES])], 1)},
        points=len(known[POINTS]),
        covers_through=covers_through,
        is_partial=is_partial,
        evidence_tokens=sum(estimate_tokens(message.text) for message in evidence.values()),
    )


def _fit_known(
    profile: Mapping[str, Any], points: Sequence[OpenPoint], memories: Sequence[KnownMemory], room: int, zone: tzinfo
) -> dict[str, list[str]]:
    """Return the rows of what is known that fit, by heading."""
    values = {key: value for key, value in profile.items() if value not in (None, "")}
    sections = {
        PROFILE: [_row(values)] if values else [],
        POINTS: [_row({"point": n, **_point(point)}) for n, point in enumerate(points, 1)],
        MEMORIES: [_row(_memory(n, memory, zone)) for n, memory in enumerate(memories, 1)],
    }
    for heading, rows in sections.items():
        sections[heading] = _fit(rows, room)
        room -= sum(map(_cost, sections[heading]))
    return sections


class _Evidence(NamedTuple):
    """A user message of the call: its text, perhaps shortened, and a numbered row for each part."""

    text: str
    rows: list[str]


def _fit_evidence(
    lines: Sequence[ConversationLine], room: int, limit: int | None, zone: tzinfo
) -> dict[int, _Evidence]:
    """Return the first messages that fit, by id; the first of all is shortened if it is too large by itself."""
    fitting: dict[int, _Evidence] = {}
    number = 1
    for line in lines:
        day = _date_field(line.said_at, zone)
        rows = [_row(_message_row(day, number + n, part, n > 0)) for n, part in enumerate(parts_of(line.text))]
        price = sum(map(_cost, rows))
        if price > room and not fitting:
            text = _shorten(line.text, day, number, room)
            return {line.message_id: _Evidence(text, [_row(_message_row(day, number, text))])}
        if price > room or len(fitting) == limit:
            break
        fitting[line.message_id] = _Evidence(line.text, rows)
        room -= price
        number += len(rows)
    return fitting


def _join(sections: Mapping[str, list[str]]) -> str:
    return "\n".join("\n".join([name, *sections[name]]) for name in SECTIONS if sections[name] or name == CONVERSATION)


def _cost(row: str) -> int:
    return estimate_tokens(row) + 1


def _fit(rows: list[str], room: int) -> list[str]:
    """Return the longest beginning of `rows` that fits."""
    for count, row in enumerate(rows):
        room -= _cost(row)
        if room < 0:
            return rows[:count]
    return rows


def _shorten(text: str, day: Mapping[str, str], number: int, room: int) -> str:
    """Return a message with as much of its beginning and end as fits in a row."""
    limit = room
    while (excess := _cost(_row(_message_row(day, number, shorten(text, limit)))) - room) > 0:
        limit -= excess
    return shorten(text, limit)


def _message_row(day: Mapping[str, str], number: int, text: str, continued: bool = False) -> dict[str, Any]:
    fields = {"continued": True} if continued else {}
    return {"message": number, "role": "user", **day, **fields, "text": text}


def _memory(number: int, memory: KnownMemory, zone: tzinfo) -> dict[str, Any]:
    fields: dict[str, Any] = {"key": memory.slot, "value": memory.fact_value} if memory.slot else {}
    if memory.last_moment is not None:
        fields |= _date_field(memory.last_moment[0], zone)
    return {"memory": number, "type": memory.memory_type, "category": memory.category, **fields, "text": memory.content}


def _date_field(moment: datetime, zone: tzinfo) -> dict[str, str]:
    return {"date": f"{moment.astimezone(zone):%Y-%m-%d}"} if is_dated(moment) else {}


def _point(point: OpenPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"title": point.title, "goals": point.goals, "known": list(point.known)}
    fields = {"description": point.description, "complete_when": point.criteria, "keywords": point.keywords}
    return row | {name: value for name, value in (fields | {"settled": point.is_settled}).items() if value}


def _row(value: Mapping[str, Any]) -> str:
    # Line separators inside a JSON string are legal JSON but end a line for some readers.
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


PART = 80
"""Characters; a quarter of them is enough for a part if a sentence ends there."""
MAX_PARTS = 40


def parts_of(text: str) -> list[str]:
    """Split a message into verbatim parts in order, between sentences and never inside a pasted text."""
    least = max(PART, len(text) // MAX_PARTS)
    pasted = spans_of_others(text)
    parts: list[str] = []
    start = 0
    for before, after in pairwise(sentences_of(text)):
        is_inside = any(span.start < after.start and before.end < span.end for span in pasted)
        # The rest must be worth a number too: a final "Thanks!" stays with what comes before it.
        if is_inside or before.end - start < least // 4 or len(text) - after.start < least // 4:
            continue
        parts.append(text[start : after.start])
        start = after.start
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()] or [text]
