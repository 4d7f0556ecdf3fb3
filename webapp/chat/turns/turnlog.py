"""The Redis stream of a turn: its keys, its entries, and the short commands around it.

Entries have a kind and a JSON object. Text is sent in `delta` entries with the offset of their first character, so that
a reader can tell a gap or a repetition from progress; a `snapshot` holds all text so far and replaces it; `reasoning`
entries, with their own offsets, hold what the model thinks. The stream's keys share one hash slot, `{turn:<id>}`.
"""

import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from redis import Redis

TEXT_KINDS = ("delta", "snapshot")
REASONING = "reasoning"
"""What the model thinks before it answers; with an offset, like text."""
READING = "reading"
"""A slow model reads the prompt: its `tokens`, and about how many `seconds` that takes."""
PAUSE = "pause"
"""The model's server could not answer and is asked again in so many `seconds`."""
WAIT_KINDS = (READING, PAUSE)
_PLAIN_KINDS = (*TEXT_KINDS, REASONING)
FINAL_KINDS = ("done", "error")
JOB_KINDS = ("title", "extraction_start", "extraction_complete", "summary_complete")
SETTLED = "settled"
REPLY_DELETED = {"code": "gone", "detail": "The reply was deleted while it was written.", "retryable": False}
"""The data of the `error` that ends a reply which settles without another end."""

# How long the keys that jobs leave may outlive their use.
_PENDING_SECONDS = 3_600


def log_key(turn_id: int) -> str:
    """Return the stream."""
    return f"{{turn:{turn_id}}}"


def lease_key(turn_id: int) -> str:
    """Held by the process that runs the turn."""
    return f"{{turn:{turn_id}}}:lease"


def pending_jobs_key(turn_id: int) -> str:
    """Return the jobs of the turn that have not finished."""
    return f"{{turn:{turn_id}}}:owed"


def consent_key(turn_id: int, number: int) -> str:
    """Return what the person answered when asked about a call of the turn."""
    return f"{{turn:{turn_id}}}:allowed:{number}"


def suspect_key(turn_id: int) -> str:
    """Set by whichever process first sees the turn without a lease."""
    return f"{{turn:{turn_id}}}:suspect"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a turn's stream; `offset` is that of a delta's first character."""

    id: str
    kind: str
    data: dict[str, Any]
    offset: int = 0


_LAST_SEQUENCE = 10**16 - 1  # the most digits a cursor takes; far more entries than fit in a millisecond
_CURSOR = re.compile(r"(?P<id>[0-9]{1,16}-[0-9]{1,16})(:(?P<length>[0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A viewer's position: the last entry it saw, and the characters it has, in case the stream is lost."""

    id: str = ""
    length: int | None = None

    @classmethod
    def parse(cls, text: str | None) -> "Cursor":
        """Parse the cursor that a client sent; anything invalid is the beginning."""
        match = _CURSOR.fullmatch(text or "")
        if match is None:
            return cls()
        return cls(match["id"], int(match["length"]) if match["length"] else None)


STREAM_START = Cursor()


def order(entry_id: str) -> tuple[int, int]:
    """Return a stream id as two numbers that compare in stream order. Anything else comes before every id."""
    milliseconds, _, sequence = entry_id.partition("-")
    if not milliseconds.isdecimal() or not (sequence or "0").isdecimal():
        return (-1, 0)
    return (int(milliseconds), int(sequence or 0))


def preceding_id(entry_id: str) -> str:
    """Return an id just before another, for a cursor after which that one comes first."""
    milliseconds, sequence = order(entry_id)
    return f"{milliseconds}-{sequence - 1}" if sequence > 0 else f"{max(milliseconds - 1, 0)}-{_LAST_SEQUENCE}"


to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def fields(kind: str, data: dict[str, Any], offset: int = 0) -> dict[str, str | int]:
    """Return an entry as the fields of XADD; text goes as it is, everything else as JSON."""
    if kind in _PLAIN_KINDS:
        return {"k": kind, "t": data["text"], "o": offset}
    return {"k": kind, "d": to_json(data)}


Rows = list[tuple[bytes, dict[bytes, bytes]]]
"""What a client that decodes nothing reads from a stream."""


def entry(entry_id: bytes, raw: dict[bytes, bytes]) -> Entry:
    """Return an entry from what XREAD and XRANGE return."""
    kind = raw[b"k"].decode()
    if kind in _PLAIN_KINDS:
        return Entry(entry_id.decode(), kind, {"text": raw[b"t"].decode()}, int(raw[b"o"]))
    return Entry(entry_id.decode(), kind, json.loads(raw[b"d"]))


def read(client: Redis, turn_id: int, after: str = "", *, last_id: str = "") -> list[Entry]:
    """Return the entries after an id (all if none is given) and up to another if given, oldest first."""
    rows = client.xrange(log_key(turn_id), f"({after}" if after else "-", last_id or "+")
    return [entry(entry_id, raw) for entry_id, raw in cast(Rows, rows)]


def merge(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries with text that continues text joined to it, under the id of the last."""
    result: list[Entry] = []
    for item in entries:
        before = result[-1] if result else None
        if (
            before is not None
            and before.kind == item.kind
            and item.kind in ("delta", REASONING)
            and before.offset + len(before.data["text"]) == item.offset
        ):
            result[-1] = Entry(item.id, item.kind, {"text": before.data["text"] + item.data["text"]}, before.offset)
        else:
            result.append(item)
    return result


def text_of(entries: Iterable[Entry]) -> str:
    """Return the reply's text so far."""
    text = ""
    for item in entries:
        text = advance(text, item)
    return text


def advance(text: str, item: Entry) -> str:
    """Return the text after an entry, given the text before it; repeated and replaced text is handled."""
    if item.kind == "snapshot":
        return str(item.data["text"])
    if item.kind == "delta" and item.offset <= len(text):
        return text[: item.offset] + str(item.data["text"])
    return text


def thoughts_of(entries: Iterable[Entry]) -> str:
    """Return what the model has thought so far."""
    thoughts = ""
    for item in entries:
        if item.kind == REASONING and item.offset <= len(thoughts):
            thoughts = thoughts[: item.offset] + str(item.data["text"])
    return thoughts


def report(client: Redis, turn_id: int, kind: str, data: dict[str, Any]) -> None:
    """Append a job's report to a turn's stream, if somebody may still be reading it."""
    client.xadd(log_key(turn_id), cast(dict[Any, Any], fields(kind, data)), nomkstream=True)


def note_pending_jobs(client: Redis, turn_id: int, jobs: Sequence[str]) -> None:
    """Record the jobs whose end settles the turn, at once or, with a pipeline, along with what else is written."""
    if not jobs:
        report(client, turn_id, SETTLED, {})
        return
    client.sadd(pending_jobs_key(turn_id), *jobs)
    client.expire(pending_jobs_key(turn_id), _PENDING_SECONDS)


def settle(client: Redis, turn_id: int, job: str) -> None:
    """Record that a job of the turn has ended, well or not; the last one settles the turn."""
    with client.pipeline(transaction=True) as pipe:
        pipe.srem(pending_jobs_key(turn_id), job)
        pipe.scard(pending_jobs_key(turn_id))
        removed_count, rest = pipe.execute()
    if removed_count and not rest:
        report(client, turn_id, SETTLED, {})


def is_settling(client: Redis, turn_id: int) -> bool:
    """Return whether a reply is finished but its background work is not, as far as its stream tells."""
    newest = cast(Rows, client.xrevrange(log_key(turn_id), count=1))
    return bool(newest) and entry(*newest[0]).kind in ("done", *JOB_KINDS)


STOPS = "turns:stops"
"""The stream of the turns that somebody has asked to stop, which every process with turns reads."""
_KEPT_STOPS = 1_000


def request_stop(client: Redis, turn_id: int) -> None:
    """Ask whoever runs the turn to stop it."""
    client.xadd(STOPS, {"turn": turn_id}, maxlen=_KEPT_STOPS)


def has_lease(client: Redis, turn_id: int) -> bool:
    """Return whether a living process runs the turn."""
    return bool(client.exists(lease_key(turn_id)))


@dataclass(slots=True)
class OpenTurn:
    """The text and reasoning of a reply, how much of each has become entries, and those Redis has not confirmed."""

    text: str = ""
    written_count: int = 0
    thoughts: str = ""
    thought: int = 0
    waiting: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    unwritten: list[Entry] = field(default_factory=list)
    has_begun: bool = False
    created: bool = False
    header: dict[str, Any] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)

    @property
    def is_written(self) -> bool:
        """Return whether Redis has everything."""
        return (
            not (self.unwritten or self.waiting)
            and self.written_count == len(self.text)
            and self.thought == len(self.thoughts)
        )

    def collect(self) -> list[Entry]:
        """Make entries of what is new."""
        unsent = [(kind, data, 0) for kind, data in self.waiting]
        text = self.text[self.written_count :]
        if self.has_begun:
            if text:
                unsent.insert(0, ("delta", {"text": text}, self.written_count))
            if len(self.thoughts) > self.thought:
                unsent.insert(0, (REASONING, {"text": self.thoughts[self.thought :]}, self.thought))
        else:
            # A stream that was lost begins with all its text, to replace what its readers may have missed.
            fresh = bool(self.waiting) and self.waiting[0][0] == "turn"
            if not fresh:
                unsent.insert(0, ("turn", self.header, 0))
            if text:
                unsent.insert(1, ("delta" if fresh else "snapshot", {"text": text}, 0))
            if self.thoughts:
                unsent.insert(1, (REASONING, {"text": self.thoughts}, 0))
        self.has_begun, self.written_count, self.thought = True, len(self.text), len(self.thoughts)
        self.waiting.clear()
        entries = [Entry(self.next_id(), *item) for item in unsent]
        self.unwritten += entries
        return entries

    def rewrite_stream(self) -> None:
        """Write the stream anew from its entries."""
        self.has_begun = self.created = False
        self.written_count = 0
        entries = [(item.kind, item.data) for item in self.unwritten if item.kind not in (*TEXT_KINDS, REASONING)]
        self.waiting[:0] = entries
        self.unwritten.clear()

    def next_id(self) -> str:
        """Return an id for an entry: the time, and greater than all before."""
        milliseconds = max(int(time.time() * 1000), self.last[0])
        self.last = (milliseconds, self.last[1] + 1 if milliseconds == self.last[0] else 0)
        return f"{milliseconds}-{self.last[1]}"
