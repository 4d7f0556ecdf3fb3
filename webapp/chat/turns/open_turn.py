"""A turn on its way to its viewers: what has been said so far, and what of it has become entries of its stream."""

import time
from dataclasses import dataclass, field
from typing import Any

from webapp.chat.turns.turnlog import REASONING, TEXT_KINDS, Entry


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
        """Have the stream made anew, with all there is."""
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
